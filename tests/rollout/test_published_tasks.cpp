// Tasks in the published forms with a tokenizer in SDAR's form: our own, and the published ones if they are
// there.
#include <ATen/Parallel.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "policy/transformer.h"
#include "rollout/decoding/decode_engine.h"
#include "rollout/decoding/response_end.h"
#include "rollout/prompt_tokens.h"
#include "tasks/task_set.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

// Our own tokenizer with our own tasks, the published one with the published tasks.
struct Source {
  Tokenizer tokenizer;
  std::vector<Task> infilling, end_to_end;
  int64_t end_of_text() const { return tokenizer.id_of("<|endoftext|>"); }
};

std::vector<Source> sources() {
  const auto folders = testing::sdar_tokenizers();
  const auto infilling = testing::task_files("infilling_tasks.json");
  const auto end_to_end = testing::task_files("end_to_end_tasks.json");
  std::vector<Source> all;
  for (size_t i = 0; i < std::min({folders.size(), infilling.size(), end_to_end.size()}); ++i)
    all.push_back({Tokenizer::from_folder(folders[i]), load_tasks(infilling[i]), load_tasks(end_to_end[i])});
  return all;
}

void expect_known_programs(const Source& source) {
  const Tokenizer& tokenizer = source.tokenizer;
  int glued = 0;
  for (const Task& task : source.infilling) {
    INFO("task " << task.id);
    const Prompt prompt = make_prompt(task, Stage::kInfilling, PromptStyle::kPublished, Scaffold::kClamp);
    const GenerationRequest request = make_request(prompt, tokenizer, 0, 0);
    CHECK(tokenizer.decode(request.prompt_tokens) == prompt.text + prompt.clamp_prefix);
    // What a policy would write that goes on behind the middle.
    const std::string rest = task.cuda_code.substr(prompt.clamp_prefix.size());
    ResponseReader reader(tokenizer, {source.end_of_text()}, request.delimiter);
    int64_t read = 0, last = -1;
    for (int64_t token : tokenizer.encode(rest)) {
      ++read;
      last = token;
      if (reader.read(token)) break;
    }
    const ResponseEnd end = reader.end();
    REQUIRE(end.reason == FinishReason::kDelimiter);
    CHECK(end.scored_tokens == read);
    glued += tokenizer.bytes(last) != "\"\"\"";
    CHECK(request.clamp_prefix + end.text + request.delimiter + request.clamp_suffix == task.cuda_code);
  }
  CHECK(source.infilling.size() >= 7);
  CHECK(glued > 0);  // the closing quotes share a token with what follows them
}

void expect_rollouts(const Source& source) {
  const Tokenizer& tokenizer = source.tokenizer;
  PolicyConfig config;
  config.vocab_size = (tokenizer.size() + 511) / 512 * 512;
  config.hidden_size = 16;
  config.layers = 1;
  config.heads = 2;
  config.kv_heads = 1;
  config.head_dim = 8;
  config.intermediate_size = 16;
  config.tie_word_embeddings = true;
  config.mask_token_id = tokenizer.id_of("<|MASK|>");
  config.end_token_ids = {source.end_of_text()};
  const Transformer policy = Transformer::random(config, 3, at::kCPU, at::kFloat);
  std::vector<GenerationRequest> requests;
  for (uint64_t i = 0; i < 8; ++i) {
    const bool first_stage = i < 4;
    const Task& task = first_stage ? source.infilling[i / 2] : source.end_to_end[i / 2];
    const Prompt prompt = make_prompt(task, first_stage ? Stage::kInfilling : Stage::kEndToEnd,
                                      PromptStyle::kPublished, Scaffold::kClamp);
    requests.push_back(make_request(prompt, tokenizer, static_cast<int64_t>(i / 2), i));
  }
  DecodingSettings settings;
  settings.max_new_tokens = 6;
  settings.prefill_tokens = 512;
  int finished = 0;
  const DecodingStatistics statistics =
      DecodeEngine(policy, tokenizer).generate(settings, requests, 0, [&](size_t index, Rollout rollout) {
        ++finished;
        const GenerationRequest& request = requests[index];
        CHECK(rollout.tokens.size() % 4 == 0);
        CHECK(rollout.prompt_tokens == static_cast<int64_t>(request.prompt_tokens.size()));
        CHECK(rollout.text.starts_with(request.clamp_prefix));
        CHECK(rollout.text.ends_with(request.clamp_suffix));
        for (int64_t i = 0; i < rollout.response_tokens(); ++i) {
          CHECK(rollout.tokens[rollout.prompt_tokens + i] < tokenizer.size());
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

}  // namespace

TEST_CASE("a clamped response with the known middle is the known program", "[published]") {
  for (const Source& source : sources()) {
    INFO("vocabulary of " << source.tokenizer.size());
    expect_known_programs(source);
  }
}

TEST_CASE("published prompts of both stages run through a tiny policy", "[published]") {
  at::set_num_threads(1);
  for (const Source& source : sources()) {
    INFO("vocabulary of " << source.tokenizer.size());
    expect_rollouts(source);
  }
}

}  // namespace bicrl
