// Inputs of a training run besides its configuration and weights. Loaded before anything starts that takes
// time, so that a broken file is reported at once.
#pragma once
#include "policy/tokenizer/tokenizer.h"
#include "trainer/inputs/pair_source.h"
#include "trainer/inputs/policy_source.h"
#include "trainer/inputs/task_pool.h"
#include "trainer/update/packing/pair_samples.h"

namespace bicrl {

struct RunInputs {
  Tokenizer tokenizer;
  TaskPool tasks;
  std::vector<PairSet> pairs{};
  PairSamples pair_samples{};  // of those that fit

  // Throws InputError if a file is wrong, or tokenizer and policy do not fit together.
  static RunInputs load(const PolicySource& policy, const TaskSource& tasks, const PairSettings& pairs = {});
};

}  // namespace bicrl
