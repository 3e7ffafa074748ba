#include "trainer/inputs/prompt_filter.h"

#include "common/error.h"
#include "rollout/prompt_tokens.h"
#include "rollout/scheduler.h"

namespace bicrl {
namespace {

// Positions of the largest request that fits.
int64_t max_tokens(const PolicyConfig& policy, const DecodingSettings& decoding) {
  if (decoding.cache_tokens == 0) return policy.max_position;
  return std::min(policy.max_position, decoding.cache_tokens);
}

int64_t tokens_of(const Prompt& prompt, const Tokenizer& tokenizer) {
  return static_cast<int64_t>(make_request(prompt, tokenizer, /*group=*/0, /*key=*/0).prompt_tokens.size());
}

bool fits_tokens(int64_t prompt_tokens, const PolicyConfig& policy, const DecodingSettings& decoding) {
  const RequestBudget budget = budget_of(prompt_tokens, policy.block_size, decoding.max_new_tokens);
  return budget.shared_tokens + budget.own_tokens <= policy.max_position &&
         (decoding.cache_tokens == 0 || budget.pages() <= decoding.cache_tokens / KvCache::kPageTokens);
}

}  // namespace

bool fits(const Prompt& prompt, const Tokenizer& tokenizer, const PolicyConfig& policy,
          const DecodingSettings& decoding) {
  // No token is shorter than a byte: most prompts need not be encoded to know.
  const auto bytes = static_cast<int64_t>(prompt.text.size() + prompt.clamp_prefix.size());
  return fits_tokens(bytes, policy, decoding) || fits_tokens(tokens_of(prompt, tokenizer), policy, decoding);
}

std::string keep_fitting(std::vector<Task>& tasks, const std::string& what, const PromptUse& use,
                         const Tokenizer& tokenizer, const PolicyConfig& policy) {
  const size_t all = tasks.size();
  std::string example;
  std::erase_if(tasks, [&](const Task& task) {
    const Prompt prompt = make_prompt(task, use.stage, use.style, use.decoding.scaffold);
    if (fits(prompt, tokenizer, policy, use.decoding)) return false;
    if (example.empty())
      example = concat("the prompt of task ", task.id, " has ", tokens_of(prompt, tokenizer), " tokens");
    return true;
  });
  if (example.empty()) return "";
  const std::string reason =
      concat(all - tasks.size(), " of ", all, " ", what, " are left out, because prompt and ",
             use.decoding.max_new_tokens, " new tokens need more than ", max_tokens(policy, use.decoding),
             " positions (", example, ")");
  if (tasks.empty()) throw InputError(reason + ": none is left");
  return reason;
}

}  // namespace bicrl
