#include <algorithm>

#include "common/error.h"
#include "rollout/prompt_tokens.h"
#include "trainer/update/packing/sft.h"

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

SftSample make_sft_sample(const Prompt& prompt, const std::string& program, const Tokenizer& tokenizer,
                          const PolicyConfig& config, uint64_t noise_key) {
  std::vector<int64_t> given = make_request(prompt, tokenizer, /*group=*/-1, /*key=*/0).prompt_tokens;
  std::vector<int64_t> trained = tokenizer.encode(expected_answer(prompt, program));
  if (prompt.clamp_delimiter.empty()) trained.push_back(end_of_answer(prompt, tokenizer, config));
  return make_sft_sample(std::move(given), trained, config, noise_key);
}

}  // namespace bicrl
