// Learning rate of each update: linear warm-up, then constant, or a decay to a minimum. Plain data;
// thread-safe.
#pragma once
#include <cstdint>

#include "common/config/config.h"

namespace bicrl {

enum class Decay { kConstant, kLinear, kCosine };

struct LearningRateSchedule {
  double peak = 1e-4;
  double minimum = 0;  // reached after `total_updates`, kept from there on
  int64_t warmup_updates = 0;
  int64_t total_updates = 0;  // of warm-up and decay; unused where constant
  Decay decay = Decay::kConstant;

  // Keys learning_rate, learning_rate_decay, min_learning_rate, warmup_updates. `total_updates` comes from
  // the length of the phase, which the caller knows.
  static LearningRateSchedule from_config(const ConfigSection& section, int64_t total_updates);
  double at(int64_t update) const;  // 0-based
};

}  // namespace bicrl
