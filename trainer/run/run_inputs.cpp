#include "trainer/run/run_inputs.h"

namespace bicrl {

RunInputs RunInputs::load(const PolicySource& policy, const TaskSource& tasks, const PairSettings& pairs) {
  RunInputs inputs{.tokenizer = load_tokenizer(policy), .tasks = {}};
  const PolicyConfig config = policy_config(policy, inputs.tokenizer);
  inputs.tasks = TaskPool::load(tasks);
  inputs.pairs = load_pairs(pairs, tasks.prompt_style);
  inputs.pair_samples = PairSamples(inputs.pairs, pairs, inputs.tokenizer, config);
  return inputs;
}

}  // namespace bicrl
