// The published tasks with the real SDAR tokenizer.
#include <ATen/Parallel.h>

#include <catch2/catch_test_macros.hpp>

#include "policy/transformer.h"
#include "rollout/decoder.h"
#include "rollout/prompt_tokens.h"
#include "rollout/response_end.h"
#include "tasks/task_set.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

constexpr int64_t kEndOfText = 151643;

const Tokenizer& sdar_tokenizer() {
  static const Tokenizer tokenizer =
      Tokenizer::from_folder(testing::published_file("sdar-8b/vocab.json").parent_path());
  return tokenizer;
}

}  // namespace

TEST_CASE("a clamped response with the known middle is the known program", "[published]") {
  const auto tasks = load_tasks(testing::published_file("infilling_tasks.json"));
  int glued = 0;
  for (const Task& task : tasks) {
    INFO("task " << task.id);
    const Prompt prompt = make_prompt(task, Stage::kInfilling, PromptStyle::kPublished, Scaffold::kClamp);
    const GenerationRequest request = make_request(prompt, sdar_tokenizer(), 0, 0);
    CHECK(sdar_tokenizer().decode(request.prompt_tokens) == prompt.text + prompt.clamp_prefix);
    // What a policy would write that goes on behind the middle.
    const std::string rest = task.cuda_code.substr(prompt.clamp_prefix.size());
    ResponseReader reader(sdar_tokenizer(), {kEndOfText}, request.delimiter);
    int64_t read = 0, last = -1;
    for (int64_t token : sdar_tokenizer().encode(rest)) {
      ++read;
      last = token;
      if (reader.read(token)) break;
    }
    const ResponseEnd end = reader.end();
    REQUIRE(end.reason == FinishReason::kDelimiter);
    CHECK(end.scored_tokens == read);
    glued += sdar_tokenizer().bytes(last) != "\"\"\"";
    CHECK(request.clamp_prefix + end.text + request.delimiter + request.clamp_suffix == task.cuda_code);
  }
  CHECK(tasks.size() == 50);
  CHECK(glued > 0);  // the closing quotes share a token with what follows them
}

TEST_CASE("published prompts of both stages run through a tiny policy", "[published]") {
  at::set_num_threads(1);
  PolicyConfig config;
  config.vocab_size = 151936;
  config.hidden_size = 16;
  config.layers = 1;
  config.heads = 2;
  config.kv_heads = 1;
  config.head_dim = 8;
  config.intermediate_size = 16;
  config.tie_word_embeddings = true;
  config.mask_token_id = 151669;
  config.end_token_ids = {kEndOfText};
  const Transformer policy = Transformer::random(config, 3, at::kCPU, at::kFloat);
  const auto infilling = load_tasks(testing::published_file("infilling_tasks.json"));
  const auto end_to_end = load_task_set(testing::published_file("end_to_end_tasks.json")).tasks;
  std::vector<GenerationRequest> requests;
  for (uint64_t i = 0; i < 8; ++i) {
    const bool first_stage = i < 4;
    const Task& task = first_stage ? infilling[i / 2] : end_to_end[i / 2];
    const Prompt prompt = make_prompt(task, first_stage ? Stage::kInfilling : Stage::kEndToEnd,
                                      PromptStyle::kPublished, Scaffold::kClamp);
    requests.push_back(make_request(prompt, sdar_tokenizer(), static_cast<int64_t>(i / 2), i));
  }
  DecodingSettings settings;
  settings.max_new_tokens = 6;
  settings.prefill_tokens = 512;
  int finished = 0;
  const DecodingStatistics statistics =
      Decoder(policy, sdar_tokenizer(), settings).generate(requests, 0, [&](size_t index, Rollout rollout) {
        ++finished;
        const GenerationRequest& request = requests[index];
        CHECK(rollout.tokens.size() % 4 == 0);
        CHECK(rollout.prompt_tokens == static_cast<int64_t>(request.prompt_tokens.size()));
        CHECK(rollout.text.starts_with(request.clamp_prefix));
        CHECK(rollout.text.ends_with(request.clamp_suffix));
        for (int64_t i = 0; i < rollout.response_tokens(); ++i) {
          CHECK(rollout.tokens[rollout.prompt_tokens + i] < sdar_tokenizer().size());
          CHECK(rollout.tokens[rollout.prompt_tokens + i] != config.mask_token_id);
        }
      });
  CHECK(finished == 8);
  int64_t whole_blocks = 0;  // of each group's prompt, once
  for (size_t i = 0; i < requests.size(); i += 2) {
    whole_blocks += static_cast<int64_t>(requests[i].prompt_tokens.size()) / 4 * 4;
  }
  CHECK(statistics.prefill_rows == whole_blocks);
}

}  // namespace bicrl
