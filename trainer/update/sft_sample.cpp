#include <algorithm>

#include "common/error.h"
#include "rollout/prompt_tokens.h"
#include "trainer/update/sft.h"

namespace bicrl {
namespace {

// The token that the prompt's style ends answers with, if rollout ends a response at it; else the policy's
// own.
int64_t end_of_answer(const Prompt& prompt, const Tokenizer& tokenizer, const PolicyConfig& config) {
  const auto& ids = config.end_token_ids;
  const int64_t named = prompt.answer_end.empty() ? -1 : tokenizer.id_of(prompt.answer_end);
  return std::find(ids.begin(), ids.end(), named) != ids.end() ? named : config.first_end_token();
}

}  // namespace

SftSample make_sft_sample(const Prompt& prompt, const std::string& response, const Tokenizer& tokenizer,
                          const PolicyConfig& config, uint64_t noise_key) {
  std::vector<int64_t> given = make_request(prompt, tokenizer, /*group=*/-1, /*key=*/0).prompt_tokens;
  if (prompt.clamp_delimiter.empty()) {
    auto trained = tokenizer.encode(response);
    trained.push_back(end_of_answer(prompt, tokenizer, config));
    return make_sft_sample(std::move(given), trained, config, noise_key);
  }
  const std::string ending = prompt.clamp_delimiter + prompt.clamp_suffix;
  const bool fits = response.size() >= prompt.clamp_prefix.size() + ending.size() &&
                    response.starts_with(prompt.clamp_prefix) && response.ends_with(ending);
  if (!fits) {
    throw InputError(concat("task '", prompt.task_id,
                            "': the program does not consist of the clamped prefix, a middle, '",
                            prompt.clamp_delimiter, "' and the clamped suffix"));
  }
  const size_t middle = response.size() - prompt.clamp_prefix.size() - prompt.clamp_suffix.size();
  return make_sft_sample(std::move(given),
                         tokenizer.encode(response.substr(prompt.clamp_prefix.size(), middle)), config,
                         noise_key);
}

}  // namespace bicrl
