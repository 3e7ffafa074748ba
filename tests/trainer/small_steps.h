// A tiny policy's steps: tasks, prompts and settings with which responses are generated in milliseconds. To
// be included before Catch2, as it brings torch.
#pragma once
#include <ATen/ATen.h>

#include <vector>

#include "common/error.h"
#include "policy/tokenizer/tokenizer.h"
#include "policy/transformer.h"
#include "reward/reward_rule.h"
#include "rollout/decoding_settings.h"
#include "tasks/task.h"
#include "tests/support/support.h"
#include "tests/support/tiny_policy_config.h"
#include "trainer/experience/experience_collector.h"

namespace bicrl::testing {

inline const Tokenizer& tokenizer() {
  static const Tokenizer tokenizer =
      Tokenizer::from_folder(bicrl::testing::source_path("tests/rollout/tiny_tokenizer"));
  return tokenizer;
}

inline const Transformer& policy() {
  static const Transformer policy =
      Transformer::random(tiny_policy_config({264}, 4), 11, at::kCPU, at::kFloat);
  return policy;
}

inline std::vector<Task> five_tasks() {
  std::vector<Task> tasks(5);
  for (size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].id = concat("task", i);
    tasks[i].pytorch_code = concat("class Model", i, ": pass");
  }
  return tasks;
}

inline const RewardFunction& binary() {
  static const RewardFunction reward = RewardFunction::from_text("rule: binary\ntruncated: score\n", "test");
  return reward;
}

inline DecodingSettings decoding() {
  DecodingSettings settings;
  settings.max_new_tokens = 8;
  return settings;
}

inline std::vector<PromptedTask> prompted(const std::vector<Task>& tasks) {
  std::vector<PromptedTask> all;
  for (const Task& task : tasks) all.push_back({.task = &task, .repair = std::nullopt});
  return all;
}

}  // namespace bicrl::testing
