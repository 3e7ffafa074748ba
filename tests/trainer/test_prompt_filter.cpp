// Prompts that are too long for the policy are found before a run needs them.
#include "tests/trainer/small_steps.h"
#include "trainer/inputs/prompt_filter.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/error.h"
#include "tests/support/support.h"

using namespace bicrl;
using Catch::Matchers::ContainsSubstring;

namespace {

PolicyConfig positions(int64_t max_position) {
  PolicyConfig config;
  config.max_position = max_position;
  config.block_size = 4;
  return config;
}

DecodingSettings new_tokens(int64_t count) {
  DecodingSettings settings;
  settings.max_new_tokens = count;
  return settings;
}

Task task_of_length(const std::string& id, size_t bytes) {
  Task task;
  task.id = id;
  task.pytorch_code = std::string(bytes, 'q');  // no merge of the tiny tokenizer
  return task;
}

int64_t prompt_tokens(const Task& task) {
  return static_cast<int64_t>(
      tokenizer()
          .encode(make_prompt(task, Stage::kEndToEnd, PromptStyle::kCompact, Scaffold::kClamp).text)
          .size());
}

}  // namespace

TEST_CASE("a prompt fits if it and its response have positions, to the token") {
  const Task task = task_of_length("a", 50);
  const Prompt prompt = make_prompt(task, Stage::kEndToEnd, PromptStyle::kCompact, Scaffold::kClamp);
  const int64_t whole_blocks = (prompt_tokens(task) + 16 + 3) / 4 * 4;
  CHECK(fits(prompt, tokenizer(), positions(whole_blocks), new_tokens(16)));
  CHECK(!fits(prompt, tokenizer(), positions(whole_blocks - 1), new_tokens(16)));
  DecodingSettings small_cache = new_tokens(16);
  small_cache.cache_tokens = 16;
  CHECK(!fits(prompt, tokenizer(), positions(1000), small_cache));
}

TEST_CASE("tasks that do not fit are left out and reported; none left is an error") {
  const PolicyConfig policy = positions(128);
  const DecodingSettings decoding = new_tokens(16);
  const PromptUse use{Stage::kEndToEnd, PromptStyle::kCompact, decoding};
  std::vector<Task> tasks = {task_of_length("short", 20), task_of_length("long", 500),
                             task_of_length("also short", 30), task_of_length("longer", 900)};
  std::vector<Task> fitting = {tasks[0], tasks[2]};
  CHECK(keep_fitting(fitting, "tasks", use, tokenizer(), policy).empty());
  CHECK(fitting.size() == 2);
  CHECK_THAT(keep_fitting(tasks, "tasks", use, tokenizer(), policy),
             ContainsSubstring("2 of 4 tasks are left out") && ContainsSubstring("128 positions") &&
                 ContainsSubstring("the prompt of task long has"));
  REQUIRE(tasks.size() == 2);
  CHECK(tasks[0].id == "short");
  CHECK(tasks[1].id == "also short");
  std::vector<Task> hopeless = {task_of_length("long", 500)};
  CHECK_THROWS_AS(keep_fitting(hopeless, "tasks", use, tokenizer(), policy), InputError);
}

TEST_CASE("prompts without tasks that do not fit are left out and reported") {
  std::vector<Prompt> prompts(3);
  for (size_t i = 0; i < prompts.size(); ++i) {
    prompts[i].task_id = std::to_string(i + 1);
    prompts[i].text = std::string(i == 1 ? 500 : 20, 'q');
  }
  CHECK_THAT(
      keep_fitting(prompts, "prompts", /*least=*/2, new_tokens(16), tokenizer(), positions(128)),
      ContainsSubstring("1 of 3 prompts are left out") && ContainsSubstring("(that of 2 has 500 tokens)"));
  REQUIRE(prompts.size() == 2);
  CHECK(prompts[1].task_id == "3");
  CHECK_THROWS_AS(keep_fitting(prompts, "prompts", /*least=*/3, new_tokens(600), tokenizer(), positions(128)),
                  InputError);
}
