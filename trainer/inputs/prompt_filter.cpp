#include "trainer/inputs/prompt_filter.h"

#include "common/error.h"
#include "rollout/decoding/scheduler.h"
#include "rollout/prompt_tokens.h"

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

// `prompt_of` makes the prompt of an item, `name_of` names it.
template <class Item, class PromptOf, class NameOf>
std::string keep_fitting_items(std::vector<Item>& items, const std::string& what, size_t least,
                               const PromptOf& prompt_of, const NameOf& name_of,
                               const DecodingSettings& decoding, const Tokenizer& tokenizer,
                               const PolicyConfig& policy) {
  const size_t all = items.size();
  std::string example;
  std::erase_if(items, [&](const Item& item) {
    const Prompt& prompt = prompt_of(item);
    if (fits(prompt, tokenizer, policy, decoding)) return false;
    if (example.empty()) example = concat(name_of(item), " has ", tokens_of(prompt, tokenizer), " tokens");
    return true;
  });
  if (example.empty()) return "";
  const std::string reason =
      concat(all - items.size(), " of ", all, " ", what, " are left out, because prompt and ",
             decoding.max_new_tokens, " new tokens need more than ", max_tokens(policy, decoding),
             " positions (", example, ")");
  if (items.size() < least)
    throw InputError(concat(reason, ": ", items.empty() ? "none" : std::to_string(items.size()), " is left"));
  return reason;
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
  const auto prompt_of = [&](const Task& task) {
    return make_prompt(task, use.stage, use.style, use.decoding.scaffold);
  };
  const auto name_of = [](const Task& task) { return concat("the prompt of task ", task.id); };
  return keep_fitting_items(tasks, what, /*least=*/1, prompt_of, name_of, use.decoding, tokenizer, policy);
}

std::string keep_fitting(std::vector<Prompt>& prompts, const std::string& what, size_t least,
                         const DecodingSettings& decoding, const Tokenizer& tokenizer,
                         const PolicyConfig& policy) {
  const auto itself = [](const Prompt& prompt) -> const Prompt& { return prompt; };
  const auto name_of = [](const Prompt& prompt) { return concat("that of ", prompt.task_id); };
  return keep_fitting_items(prompts, what, least, itself, name_of, decoding, tokenizer, policy);
}

}  // namespace bicrl
