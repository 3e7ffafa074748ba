#include "trainer/inputs/run_inputs.h"

namespace bicrl {

RunInputs RunInputs::load(const PolicySource& policy, const TaskSource& tasks) {
  RunInputs inputs{.tokenizer = load_tokenizer(policy), .tasks = {}};
  policy_config(policy, inputs.tokenizer);
  inputs.tasks = TaskPool::load(tasks);
  return inputs;
}

}  // namespace bicrl
