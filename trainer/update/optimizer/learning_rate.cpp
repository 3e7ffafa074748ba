#include "trainer/update/optimizer/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace bicrl {

LearningRateSchedule LearningRateSchedule::from_config(const ConfigSection& section, int64_t total_updates) {
  LearningRateSchedule s;
  s.peak = section.real("learning_rate", s.peak, 0);
  const auto decay = section.choice("learning_rate_decay", "constant", {"constant", "linear", "cosine"});
  s.decay = decay == "linear" ? Decay::kLinear : decay == "cosine" ? Decay::kCosine : Decay::kConstant;
  if (s.decay == Decay::kConstant)
    section.refuse_without_effect("min_learning_rate", "with 'learning_rate_decay: constant'");
  else
    s.minimum = section.real("min_learning_rate", s.minimum, 0, s.peak);
  s.warmup_updates = section.integer("warmup_updates", s.warmup_updates, 0);
  s.total_updates = total_updates;
  return s;
}

double LearningRateSchedule::at(int64_t update) const {
  if (update < warmup_updates)
    return peak * static_cast<double>(update + 1) / static_cast<double>(warmup_updates);
  if (decay == Decay::kConstant) return peak;
  const auto length = static_cast<double>(std::max<int64_t>(total_updates - warmup_updates, 1));
  const double progress = std::min(1.0, static_cast<double>(update - warmup_updates) / length);
  const double left =
      decay == Decay::kLinear ? 1 - progress : 0.5 * (1 + std::cos(std::numbers::pi * progress));
  return minimum + (peak - minimum) * left;
}

}  // namespace bicrl
