#include "trainer/inputs/run_inputs.h"

namespace bicrl {

RunInputs RunInputs::load(const PolicySource& policy, const TaskSource& tasks, const PairSettings& pairs) {
  RunInputs inputs{.tokenizer = load_tokenizer(policy), .tasks = {}};
  policy_config(policy, inputs.tokenizer);
  inputs.tasks = TaskPool::load(tasks);
  inputs.pairs = load_pairs(pairs, tasks.prompt_style);
  return inputs;
}

}  // namespace bicrl
