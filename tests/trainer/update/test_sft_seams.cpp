// Supervised samples against rollout: what is trained for a known program is, token by token, what the
// decoder would have made of the same prompt had the policy written that program.
#include "tests/trainer/fixtures.h"

#include <catch2/catch_test_macros.hpp>

#include "episode/episode.h"
#include "rollout/decoding/sequence.h"
#include "rollout/prompt_tokens.h"
#include "tasks/task_set.h"
#include "tests/support/support.h"

using namespace bicrl;
using namespace bicrl::testing;

namespace {

constexpr int64_t kEndOfText = 151643, kTurnEnd = 151645;

const Tokenizer& sdar_tokenizer() {
  static const Tokenizer tokenizer =
      Tokenizer::from_folder(published_file("sdar-8b/vocab.json").parent_path());
  return tokenizer;
}

// The rollout of a policy that writes the sample's tokens.
Rollout write_out(const SftSample& sample, const GenerationRequest& request, const PolicyConfig& config) {
  Sequence sequence(request, 0, 0, config, sdar_tokenizer(), 1 << 20);
  do {
    for (int64_t offset = 0; offset < config.block_size; ++offset)
      if (sequence.masked(offset))
        sequence.accept(offset, sample.tokens.at(sequence.block_start() + offset), -1.0f);
    sequence.end_step();
  } while (!sequence.close_block());
  return sequence.take_rollout(0);
}

}  // namespace

TEST_CASE("in every style and stage a sample has the seams of rollout and reads back as its program") {
  PolicyConfig config = tiny_config(4);
  config.vocab_size = 151936;
  config.mask_token_id = 151669;
  config.end_token_ids = {kEndOfText, kTurnEnd};
  auto tasks = load_tasks(published_file("infilling_tasks.json"));
  tasks.resize(12);
  const FailedAttempt failed{.program = "import torch\n", .fault_class = "compile", .diagnostics = "line 1"};
  for (const Task& task : tasks)
    for (const std::string& style : prompt_style_names())
      for (const Stage stage : {Stage::kInfilling, Stage::kEndToEnd})
        for (const Scaffold scaffold : {Scaffold::kClamp, Scaffold::kPrompt})
          for (const bool repair : {false, true}) {
            INFO(task.id << ", " << style << ", " << to_string(stage) << ", "
                         << (scaffold == Scaffold::kClamp ? "clamp" : "prompt")
                         << (repair ? ", repair" : ""));
            const PromptStyle parsed = parse_prompt_style(style);
            const Prompt prompt = repair ? make_repair_prompt(task, stage, parsed, scaffold, failed)
                                         : make_prompt(task, stage, parsed, scaffold);
            const bool clamped = !prompt.clamp_delimiter.empty();
            const SftSample sample = make_sft_sample(prompt, task.cuda_code, sdar_tokenizer(), config, 0);
            const GenerationRequest request = make_request(prompt, sdar_tokenizer(), -1, 0);
            REQUIRE(sample.prompt_tokens == static_cast<int64_t>(request.prompt_tokens.size()));
            const Rollout rollout = write_out(sample, request, config);
            REQUIRE(rollout.tokens == sample.tokens);
            CHECK(rollout.finish == (clamped ? FinishReason::kDelimiter : FinishReason::kEndToken));
            const auto scored =
                std::count_if(rollout.step_map.begin(), rollout.step_map.end(), [](int s) { return s > 0; });
            CHECK(scored == sample.response_tokens);
            const int64_t last = sample.tokens.at(sample.prompt_tokens + sample.response_tokens - 1);
            if (!clamped) CHECK(last == (style == "compact" ? kEndOfText : kTurnEnd));
            // Published programs have no newline at their end; a code block ends with one.
            const bool fenced = !clamped && style != "compact";
            CHECK(program_of(rollout) == task.cuda_code + (fenced ? "\n" : ""));
            // A free answer opens with what a clamped one is given, in the same tokens.
            if (clamped) {
              Prompt free = make_prompt(task, stage, parsed, Scaffold::kPrompt);
              const auto opening = sdar_tokenizer().encode(free.answer_opening);
              const auto given = sdar_tokenizer().encode(prompt.text);
              REQUIRE(given.size() > opening.size());
              CHECK(std::equal(opening.begin(), opening.end(), given.end() - std::ssize(opening)));
            }
          }
}
