// Division of passes over pairs into steps: an epoch ends with a step, and its steps' numbers of samples
// differ by at most one. So the samples of a step do not depend on the number of epochs. Plain values;
// thread-safe.
#pragma once
#include <cstdint>

namespace bicrl {

struct PairEpochs {
  int64_t pairs = 0;             // of an epoch: all that are trained on
  int64_t samples_per_step = 1;  // at most

  struct Samples {
    int64_t first = 0;  // number in the phase, from 0 on
    int64_t count = 0;
  };

  int64_t steps_per_epoch() const { return (pairs + samples_per_step - 1) / samples_per_step; }
  // Of a step, counted from 1 on.
  Samples samples_of(int64_t step) const {
    const int64_t steps = steps_per_epoch(), epoch = (step - 1) / steps, within = (step - 1) % steps;
    const int64_t first = pairs * within / steps, end = pairs * (within + 1) / steps;
    return {epoch * pairs + first, end - first};
  }
};

}  // namespace bicrl
