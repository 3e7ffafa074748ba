#include "rollout/record/rejected_mass.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "common/error.h"

namespace bicrl {
namespace {

// Ids whose log-probability is at most this far below the cut's are candidates; exp() in fp32, as the sampler
// computes it, then decides which of these few are ahead of the cut.
constexpr float kMargin = 1e-4f;
constexpr float kLowest = -100;             // whose confidence is about the smallest of fp32
constexpr double kMostTaken = 1 - 0x1p-20;  // which fp32 holds exactly, and keeps apart from 1

}  // namespace

double log_complement(double mass) { return std::log1p(-std::min(mass, kMostTaken)); }
at::Tensor log_complement(const at::Tensor& mass) { return mass.clamp_max(kMostTaken).neg().log1p(); }

at::Tensor kept_mass(const at::Tensor& log_probs, const at::Tensor& kept) {
  return log_probs.exp().to(at::kDouble).masked_fill(kept.logical_not(), 0).sum(1);
}

bool accepts_by_confidence(AcceptanceStrategy strategy) {
  return strategy == AcceptanceStrategy::kLowConfidenceStatic ||
         strategy == AcceptanceStrategy::kLowConfidenceDynamic;
}

AcceptanceCut acceptance_cut(const AcceptanceSettings& settings, std::span<const float> confidence,
                             std::span<const char> accepted) {
  std::optional<AcceptanceCut> last;
  for (size_t i = 0; i < confidence.size(); ++i) {
    const AcceptanceCut candidate{confidence[i], static_cast<int64_t>(i)};
    if (accepted[i] && (!last || candidate.is_ahead(last->confidence, last->offset))) last = candidate;
  }
  BICRL_CHECK(last, "no candidate was accepted");
  // Where candidates were left over, at least the quota was taken: if all of those are above the threshold,
  // the threshold decided.
  const auto threshold = static_cast<float>(settings.threshold);
  if (settings.strategy == AcceptanceStrategy::kLowConfidenceDynamic && last->confidence > threshold)
    return {threshold, 0};
  return *last;
}

RejectedMass rejected_mass(const at::Tensor& log_probs, const std::vector<AcceptanceCut>& cuts,
                           const std::vector<int64_t>& offsets, const at::Tensor& kept) {
  const auto positions = static_cast<int64_t>(cuts.size());
  BICRL_CHECK(log_probs.dim() == 2 && log_probs.size(0) == positions && std::ssize(offsets) == positions &&
                  log_probs.scalar_type() == at::kFloat,
              "log-probabilities ", log_probs.sizes(), ", ", positions, " cuts");
  RejectedMass out;
  out.ids.resize(cuts.size());
  if (positions == 0) return out;
  std::vector<float> lowest;
  for (const AcceptanceCut& cut : cuts)
    lowest.push_back(std::max(std::log(cut.confidence) - kMargin, kLowest));
  const at::Tensor bounds = at::tensor(lowest, at::kFloat).to(log_probs.device()).unsqueeze(1);
  at::Tensor is_near = log_probs.ge(bounds);
  if (kept.defined()) is_near = is_near.logical_and(kept);
  const at::Tensor near = is_near.nonzero();  // [near, 2], row by row
  const at::Tensor confidences = log_probs.index({near.select(1, 0), near.select(1, 1)}).exp().cpu();
  const at::Tensor places = near.cpu();
  const auto place = places.accessor<int64_t, 2>();
  const auto confidence = confidences.accessor<float, 1>();
  std::vector<double> ahead(cuts.size(), 0.0);
  for (int64_t i = 0; i < places.size(0); ++i) {
    const auto row = static_cast<size_t>(place[i][0]);
    if (!cuts[row].is_ahead(confidence[i], offsets[row])) continue;
    out.ids[row].push_back(place[i][1]);
    ahead[row] += static_cast<double>(confidence[i]);
  }
  std::vector<double> drawn_among(cuts.size(), 1.0);
  if (kept.defined()) {
    const at::Tensor masses = kept_mass(log_probs, kept).cpu();
    for (size_t row = 0; row < cuts.size(); ++row)
      drawn_among[row] = masses[static_cast<int64_t>(row)].item<double>();
  }
  for (size_t row = 0; row < cuts.size(); ++row)
    out.log_masses.push_back(static_cast<float>(log_complement(ahead[row] / drawn_among[row])));
  return out;
}

}  // namespace bicrl
