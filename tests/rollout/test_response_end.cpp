// Where a response ends, with tokens that glue quotes and newlines together.
#include "common/error.h"
#include "episode/episode.h"
#include "rollout/decoding/response_end.h"
#include "rollout/decoding/sequence.h"
#include "tests/rollout/tiny_decoding.h"

// Behind torch, whose headers define CHECK as well.
#include <catch2/catch_test_macros.hpp>

namespace bicrl {
namespace {

using testing::tiny_tokenizer;

constexpr int64_t kEnd = 264, kMask = 265;

// The id whose bytes are `text`.
int64_t id(const std::string& text) {
  for (int64_t i = 0; i < kEnd; ++i) {
    if (tiny_tokenizer().bytes(i) == text) return i;
  }
  FAIL("no token is " << text);
  return -1;
}

ResponseEnd read_all(const std::vector<std::string>& texts, const std::string& delimiter) {
  ResponseReader reader(tiny_tokenizer(), {id("c"), kEnd}, delimiter);
  for (size_t i = 0; i < texts.size(); ++i) {
    if (reader.read(texts[i] == "<end>" ? kEnd : id(texts[i]))) {
      CHECK(reader.end().scored_tokens == static_cast<int64_t>(i) + 1);
      return reader.end();
    }
  }
  return reader.end();
}

const std::string kQuotes = "\"\"\"";

PolicyConfig blocks_of_four() {
  PolicyConfig config;
  config.block_size = 4;
  config.mask_token_id = kMask;
  config.end_token_ids = {kEnd};
  return config;
}

}  // namespace

TEST_CASE("a delimiter is found where tokens glue or split it", "[response_end]") {
  for (const auto& closing : std::vector<std::vector<std::string>>{{kQuotes},
                                                                   {"\"", "\"", "\""},
                                                                   {"\"\"", "\""},
                                                                   {"\"", "\"\""},
                                                                   {kQuotes + "\n\n"},
                                                                   {kQuotes + "\n"},
                                                                   {"\"\"", kQuotes + "\n"}}) {
    std::vector<std::string> texts = {"abc", " x", "\n\n"};
    texts.insert(texts.end(), closing.begin(), closing.end());
    const size_t completing = texts.size();
    texts.push_back("abc");
    texts.push_back(kQuotes);
    const ResponseEnd end = read_all(texts, kQuotes);
    CHECK(end.reason == FinishReason::kDelimiter);
    CHECK(end.scored_tokens == static_cast<int64_t>(completing));
    CHECK(end.text == "abc x\n\n");
  }
}

TEST_CASE("two quotes are no delimiter, and a response may begin with one", "[response_end]") {
  ResponseEnd end = read_all({"\"\"", "a", "\"", "b", "\"\""}, kQuotes);
  CHECK(end.reason == FinishReason::kTokenLimit);
  CHECK(end.text == "\"\"a\"b\"\"");
  end = read_all({kQuotes + "\n\n"}, kQuotes);
  CHECK(end.reason == FinishReason::kDelimiter);
  CHECK(end.text.empty());
}

TEST_CASE("whichever comes first ends the response: end token or delimiter", "[response_end]") {
  ResponseEnd end = read_all({"a", "\"\"", "<end>", "\""}, kQuotes);
  CHECK(end.reason == FinishReason::kEndToken);
  CHECK(end.scored_tokens == 3);
  CHECK(end.text == "a\"\"");
  end = read_all({"a", kQuotes, "<end>"}, kQuotes);
  CHECK(end.reason == FinishReason::kDelimiter);
  end = read_all({"a", kQuotes, "b", "<end>"}, "");
  CHECK(end.reason == FinishReason::kEndToken);
  CHECK(end.text == "a" + kQuotes + "b");
}

TEST_CASE("a response ends at any of the end tokens, which is no part of its text", "[response_end]") {
  ResponseEnd end = read_all({"a", "b", "c", "<end>"}, "");
  CHECK(end.reason == FinishReason::kEndToken);
  CHECK(end.scored_tokens == 3);
  CHECK(end.text == "ab");
  end = read_all({"a", "<end>", "c"}, "");
  CHECK(end.scored_tokens == 2);
  CHECK(end.text == "a");
  end = read_all({"abc", "ab"}, "");  // the token, not its text
  CHECK(end.reason == FinishReason::kTokenLimit);
  ResponseReader endless(tiny_tokenizer(), {}, "");
  CHECK_FALSE(endless.read(kEnd));
}

TEST_CASE("a clamped response is scored up to the token that completes the delimiter", "[response_end]") {
  const PolicyConfig config = blocks_of_four();
  GenerationRequest request;
  request.task_id = "relu";
  request.prompt_tokens = {1, 2, 3, 4, 5};
  request.clamp_prefix = "source = " + kQuotes;
  request.delimiter = kQuotes;
  request.clamp_suffix = "\n\nload()\n";
  Sequence sequence(request, 0, 0, config, tiny_tokenizer(), 100);
  CHECK(sequence.block_start() == 4);
  CHECK_FALSE(sequence.masked(0));

  // First block: the prompt's tail, then three tokens, accepted from the right.
  for (int64_t offset : {3, 2, 1}) {
    sequence.accept(offset, id("abc"), -0.5f);
    sequence.end_step();
  }
  CHECK_THROWS_AS(sequence.accept(1, id("a"), 0), Error);
  CHECK_FALSE(sequence.close_block());
  CHECK(sequence.tokens()[8] == kMask);
  // Second block: the delimiter straddles the first two tokens; what follows stays as context.
  sequence.accept(0, id("\"\""), -1.0f);
  sequence.accept(3, kEnd, -1.0f);
  sequence.end_step();
  sequence.accept(1, id(kQuotes + "\n"), -2.0f);
  sequence.accept(2, id("b"), -2.0f);
  sequence.end_step();
  REQUIRE(sequence.close_block());

  const Rollout rollout = sequence.take_rollout(3);
  CHECK(rollout.finish == FinishReason::kDelimiter);
  CHECK(rollout.text == "source = " + kQuotes + "abcabcabc" + kQuotes + "\n\nload()\n");
  CHECK(rollout.prompt_tokens == 5);
  CHECK(rollout.step_map == std::vector<int32_t>{3, 2, 1, 4, 5, -5, -4});
  CHECK(rollout.log_probs == std::vector<float>{-.5f, -.5f, -.5f, -1, -2, 0, 0});
  CHECK(rollout.tokens.size() == 12);
  CHECK(rollout.denoise_steps == 5);
}

TEST_CASE("the scaffold holds even if the response does not close itself", "[response_end]") {
  const PolicyConfig config = blocks_of_four();
  GenerationRequest request;
  request.clamp_prefix = "<";
  request.delimiter = kQuotes;
  request.clamp_suffix = ">";
  Sequence sequence(request, 0, 0, config, tiny_tokenizer(), 3);
  for (int64_t offset = 0; offset < 4; ++offset) sequence.accept(offset, id("a"), -1.0f);
  sequence.end_step();
  REQUIRE(sequence.close_block());
  const Rollout rollout = sequence.take_rollout(0);
  CHECK(rollout.truncated());
  CHECK(rollout.text == "<aaaa" + kQuotes + ">");
}

TEST_CASE("clamped response that ends its turn instead of its scaffold is not finished", "[response_end]") {
  const PolicyConfig config = blocks_of_four();
  GenerationRequest request;
  request.delimiter = kQuotes;
  Sequence sequence(request, 0, 0, config, tiny_tokenizer(), 8);
  sequence.accept(0, id("a"), -1.0f);
  for (int64_t offset = 1; offset < 4; ++offset) sequence.accept(offset, config.end_token_ids.front(), -1.0f);
  sequence.end_step();
  REQUIRE(sequence.close_block());
  const Rollout rollout = sequence.take_rollout(0);
  CHECK(rollout.finish == FinishReason::kEndToken);
  CHECK(rollout.truncated());
  Rollout free = rollout;
  free.clamped = false;
  CHECK_FALSE(free.truncated());
}

// A policy that writes a block of code into the gap would else answer with a program of its own.
TEST_CASE("the scaffold holds even if what is generated has a block of code", "[response_end]") {
  const PolicyConfig config = blocks_of_four();
  GenerationRequest request;
  request.clamp_prefix = "<";
  request.clamp_suffix = ">";
  const auto written = [&] {
    Sequence sequence(request, 0, 0, config, tiny_tokenizer(), 7);
    for (const std::string block : {"```a", "```b"}) {
      for (int64_t offset = 0; offset < 4; ++offset)
        sequence.accept(offset, id(block.substr(static_cast<size_t>(offset), 1)), -1.0f);
      sequence.end_step();
      sequence.close_block();
    }
    return sequence.take_rollout(0);
  };
  CHECK(program_of(written()) == "a");
  request.delimiter = kQuotes;
  CHECK(program_of(written()) == "<```a```b" + kQuotes + ">");
}

}  // namespace bicrl
