#include "rollout/prompt_tokens.h"

namespace bicrl {

GenerationRequest make_request(const Prompt& prompt, const Tokenizer& tokenizer, int64_t group,
                               uint64_t key) {
  GenerationRequest request;
  request.task_id = prompt.task_id;
  request.group = group;
  request.key = key;
  request.prompt_tokens = tokenizer.encode(prompt.text);
  const std::vector<int64_t> given = tokenizer.encode(prompt.clamp_prefix);
  request.prompt_tokens.insert(request.prompt_tokens.end(), given.begin(), given.end());
  request.clamp_prefix = prompt.clamp_prefix;
  request.delimiter = prompt.clamp_delimiter;
  request.clamp_suffix = prompt.clamp_suffix;
  return request;
}

}  // namespace bicrl
