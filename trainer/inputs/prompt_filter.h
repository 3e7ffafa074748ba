// Leaves out and reports, when a run starts, the tasks whose prompts do not fit the policy.
#pragma once
#include <vector>

#include "policy/policy_config.h"
#include "policy/tokenizer/tokenizer.h"
#include "rollout/decoding_settings.h"
#include "tasks/prompt.h"
#include "tasks/task.h"

namespace bicrl {

// What prompts are made for.
struct PromptUse {
  Stage stage = Stage::kEndToEnd;
  PromptStyle style = PromptStyle::kCompact;
  const DecodingSettings& decoding;  // outlives this
};

// Whether a response to `prompt` can be generated: prompt and response have positions, and room in the cache.
bool fits(const Prompt& prompt, const Tokenizer& tokenizer, const PolicyConfig& policy,
          const DecodingSettings& decoding);

// Removes the tasks whose prompts do not fit; returns a sentence for a person that says how many, and names
// one, empty if all fit. `what` names the tasks. Throws InputError if none is left.
std::string keep_fitting(std::vector<Task>& tasks, const std::string& what, const PromptUse& use,
                         const Tokenizer& tokenizer, const PolicyConfig& policy);
// The same of prompts that are made already. Throws InputError if fewer than `least` are left.
std::string keep_fitting(std::vector<Prompt>& prompts, const std::string& what, size_t least,
                         const DecodingSettings& decoding, const Tokenizer& tokenizer,
                         const PolicyConfig& policy);

}  // namespace bicrl
