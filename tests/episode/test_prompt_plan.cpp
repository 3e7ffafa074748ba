// Repairs and the curriculum's tasks in one step.
#include "episode/prompt_plan.h"

#include <catch2/catch_test_macros.hpp>

#include "common/error.h"

using namespace bicrl;

namespace {

std::vector<Task> six_tasks() {
  std::vector<Task> tasks(6);
  for (size_t i = 0; i < tasks.size(); ++i) tasks[i].id = std::string(1, static_cast<char>('a' + i));
  return tasks;
}

std::string ids(const std::vector<PromptedTask>& plan) {
  std::string text;
  for (const PromptedTask& prompted : plan) text += prompted.task->id + (prompted.repair ? "! " : " ");
  return text;
}

RepairEntry failure_of(const std::string& task_id) {
  return {.task_id = task_id,
          .stage = Stage::kEndToEnd,
          .attempt = {.program = "old", .fault_class = "compile", .diagnostics = ""}};
}

const LeftOut none = [](const Task&) { return false; };

}  // namespace

TEST_CASE("a repair takes no task's turn in the curriculum") {
  const std::vector<Task> tasks = six_tasks();
  const auto curriculum = make_sequential_curriculum(tasks);
  const auto always = [](const Task&, const FailedAttempt&) { return true; };
  CHECK(ids(plan_prompts({std::nullopt, failure_of("f"), std::nullopt, failure_of("a")}, tasks, always, none,
                         *curriculum)) == "a f! b a! ");
  CHECK(ids(plan_prompts({failure_of("b"), failure_of("b")}, tasks, always, none, *curriculum)) == "b! b! ");
  CHECK(ids(plan_prompts({std::nullopt, std::nullopt, std::nullopt}, tasks, always, none, *curriculum)) ==
        "c d e ");
}

TEST_CASE("a repair that cannot be shown gives way to the next task") {
  const std::vector<Task> tasks = six_tasks();
  const auto curriculum = make_sequential_curriculum(tasks);
  const auto short_ones = [](const Task& task, const FailedAttempt&) { return task.id != "f"; };
  CHECK(ids(plan_prompts({failure_of("f"), failure_of("gone"), failure_of("c")}, tasks, short_ones, none,
                         *curriculum)) == "a b c! ");
}

TEST_CASE("tasks that are left out lose their turn, and their repairs") {
  const std::vector<Task> tasks = six_tasks();
  const auto curriculum = make_sequential_curriculum(tasks);
  const auto always = [](const Task&, const FailedAttempt&) { return true; };
  const auto b_and_c = [](const Task& task) { return task.id == "b" || task.id == "c"; };
  CHECK(ids(plan_prompts({std::nullopt, failure_of("b"), failure_of("a"), std::nullopt}, tasks, always,
                         b_and_c, *curriculum)) == "a d a! e ");
  CHECK(ids(plan_prompts({std::nullopt, std::nullopt, std::nullopt}, tasks, always, b_and_c, *curriculum)) ==
        "f a d ");
  CHECK_THROWS_AS(plan_prompts(
                      {std::nullopt}, tasks, always, [](const Task&) { return true; }, *curriculum),
                  InputError);
}
