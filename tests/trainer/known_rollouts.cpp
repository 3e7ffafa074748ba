// Hidden: `BICRL_REPLAY=FOLDER BICRL_REPLAY_TASKS=FILE BICRL_REPLAY_TOKENIZER=FOLDER BICRL_REPLAY_SHAPE=FILE
// test_trainer "[.known_rollouts]"` writes rollouts as a policy would leave them that answers with known
// programs, every other one changed in one place, so that steps of reinforcement can be tried and timed
// without a policy that has learnt anything:
// `bicrl train CONFIG replay.only=training replay.rollouts=FOLDER`. Their log-probabilities are zero, so the
// objective must be one that computes its own (random_masking, coupled).
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>

#include "policy/policy_config.h"
#include "rollout/prompt_tokens.h"
#include "tasks/prompt.h"
#include "tasks/task_set.h"
#include "trainer/experience/rollout_store.h"
#include "trainer/update/packing/sft.h"

using namespace bicrl;

namespace {

constexpr int64_t kSteps = 3, kTasks = 8, kSamples = 8;

std::string required(const char* name) {
  const char* value = std::getenv(name);
  INFO(name);
  REQUIRE(value);
  return value;
}

// The `round`-th change that can be made to the text; the text itself if there is none.
std::string changed(const std::string& text, int64_t round) {
  static const std::pair<std::string, std::string> kChanges[] = {
      {" < ", " <= "}, {"__syncthreads();", ""}, {" + ", " - "},    {"0.0f", "1.0f"},
      {" * ", " + "},  {"blockIdx.x", "0"},      {"fmaxf", "fminf"}};
  for (size_t i = 0; i < std::size(kChanges); ++i) {
    const auto& [from, to] = kChanges[(i + static_cast<size_t>(round)) % std::size(kChanges)];
    const size_t at = text.find(from);
    if (at != std::string::npos) return std::string(text).replace(at, from.size(), to);
  }
  return text;
}

Rollout answered(const Task& task, Stage stage, int64_t sample, const Tokenizer& tokenizer,
                 const PolicyConfig& config) {
  const Prompt prompt = make_prompt(task, stage, PromptStyle::kDice, Scaffold::kClamp);
  std::string program = task.cuda_code;
  if (sample % 2 == 1)
    program = prompt.clamp_prefix +
              changed(program.substr(prompt.clamp_prefix.size(), program.size() - prompt.clamp_prefix.size() -
                                                                     prompt.clamp_suffix.size()),
                      sample / 2) +
              prompt.clamp_suffix;
  const SftSample known = make_sft_sample(prompt, program, tokenizer, config, 0);
  Rollout rollout;
  rollout.task_id = task.id;
  rollout.tokens = known.tokens;
  rollout.prompt_tokens = known.prompt_tokens;
  // One token a step, as a policy that is sure of nothing writes.
  for (int64_t i = 0; i < rollout.response_tokens(); ++i)
    rollout.step_map.push_back(static_cast<int32_t>(i < known.response_tokens ? i + 1 : -(i + 1)));
  rollout.log_probs.assign(rollout.step_map.size(), 0);
  rollout.finish = prompt.clamp_delimiter.empty() ? FinishReason::kEndToken : FinishReason::kDelimiter;
  rollout.denoise_steps = rollout.response_tokens();
  rollout.text = program;
  return rollout;
}

}  // namespace

TEST_CASE("rollouts of known programs", "[.known_rollouts]") {
  const Tokenizer tokenizer = Tokenizer::from_folder(required("BICRL_REPLAY_TOKENIZER"));
  const PolicyConfig config = PolicyConfig::from_file(required("BICRL_REPLAY_SHAPE"));
  const RolloutStore store(std::filesystem::path(required("BICRL_REPLAY")) / "rollouts");
  const std::vector<Task> tasks = load_tasks(required("BICRL_REPLAY_TASKS"));
  for (const Stage stage : {Stage::kInfilling, Stage::kEndToEnd}) {
    std::vector<Task> usable;
    for (const Task& task : tasks) try {
        const Prompt prompt = make_prompt(task, stage, PromptStyle::kDice, Scaffold::kClamp);
        if (expected_answer(prompt, task.cuda_code).size() < 4000) usable.push_back(task);
      } catch (const InputError&) {  // the task has no scaffold, or no known program
      }
    REQUIRE(usable.size() >= kSteps * kTasks);
    for (int64_t step = 1; step <= kSteps; ++step) {
      std::vector<Episode> episodes;
      for (int64_t group = 0; group < kTasks; ++group)
        for (int64_t sample = 0; sample < kSamples; ++sample) {
          // Spread over the list, as the kinds of tasks in it lie behind one another.
          const size_t at =
              static_cast<size_t>((step - 1) * kTasks + group) * usable.size() / (kSteps * kTasks);
          Episode& episode = episodes.emplace_back();
          episode.key = {.place = {to_string(stage), step}, .group = group, .sample = sample};
          episode.task_id = usable[at].id;
          episode.last().rollout = answered(usable[at], stage, sample, tokenizer, config);
        }
      store.write(to_string(stage), step, 0, 1, episodes);
    }
  }
}
