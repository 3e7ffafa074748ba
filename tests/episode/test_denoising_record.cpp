// How a response was denoised: its pieces come back from the text that is kept anyway.
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <numeric>

#include "common/error.h"
#include "common/utf8.h"
#include "episode/denoising_record.h"

namespace bicrl {
namespace {

struct Generated {
  Rollout rollout;
  std::vector<std::string> pieces;
};

Generated generated(const std::vector<std::string>& pieces, int64_t scored, const std::string& text,
                    bool clamped, int64_t prompt_tokens = 3) {
  Generated g;
  g.pieces = pieces;
  g.rollout.prompt_tokens = prompt_tokens;
  g.rollout.tokens.assign(static_cast<size_t>(prompt_tokens) + pieces.size(), 1);
  for (int64_t i = 0; i < std::ssize(pieces); ++i) {
    const auto step = static_cast<int32_t>(1 + i / 2);
    g.rollout.step_map.push_back(i < scored ? step : -step);
    g.rollout.log_probs.push_back(i < scored ? -0.123f * static_cast<float>(i) : 0);
  }
  g.rollout.text = text;
  g.rollout.clamped = clamped;
  return g;
}

std::string joined(const std::vector<std::string>& pieces) {
  return std::accumulate(pieces.begin(), pieces.end(), std::string());
}

TEST_CASE("pieces of a free response come back from its text and its tail") {
  const Generated g = generated({"int", " a", ";\n", "<end>", "junk"}, 4, "int a;\n", false);
  const DenoisingRecord record = denoising_record(g.rollout, g.pieces, "prompt", 4);
  CHECK(record.text_begin == 0);
  CHECK(record.text_bytes == 7);
  CHECK(record.tail == "<end>junk");
  CHECK(record.offset_in_block == 3);
  CHECK(pieces_of(record, g.rollout.text) == g.pieces);
  CHECK(record.steps == std::vector<int32_t>{1, 1, 2, 2, -3});
  CHECK(record.log_probs[1] == -0.12f);
}

TEST_CASE("pieces of a clamped response are found behind the prefix that ends its prompt") {
  // "x;" stands in the prefix as well.
  const Generated g = generated({"x", ";", "\n}", " more"}, 3, "begin x;\nx;\n} end", true);
  const DenoisingRecord record = denoising_record(g.rollout, g.pieces, "asked: begin x;\n", 4);
  CHECK(record.text_begin == 9);
  CHECK(pieces_of(record, g.rollout.text) == g.pieces);
}

TEST_CASE("last token that only begins in the text goes to the tail") {
  const Generated g = generated({"a;", "\n}\nfurther"}, 2, "pre a;\n} post", true);
  const DenoisingRecord record = denoising_record(g.rollout, g.pieces, "pre ", 4);
  CHECK(record.text_begin == 4);
  CHECK(record.text_bytes == 2);
  CHECK(pieces_of(record, g.rollout.text) == g.pieces);
}

TEST_CASE("text that holds none of the tokens leaves all of them to the tail") {
  const Generated g = generated({"abc", "def"}, 2, "something else", false);
  const DenoisingRecord record = denoising_record(g.rollout, g.pieces, "", 4);
  CHECK(record.text_bytes == 0);
  CHECK(joined(pieces_of(record, g.rollout.text)) == "abcdef");
}

TEST_CASE("characters may straddle tokens, and bytes that are no text become text") {
  const Generated split = generated({"\xC3", "\xA4"}, 2, "\xC3\xA4", false);
  CHECK(joined(pieces_of(denoising_record(split.rollout, split.pieces, "", 4), split.rollout.text)) == "ä");
  const Generated broken = generated({"a\xFF", "b"}, 2, to_utf8("a\xFF") + "b", false);
  const DenoisingRecord record = denoising_record(broken.rollout, broken.pieces, "", 4);
  CHECK(pieces_of(record, broken.rollout.text) == std::vector<std::string>{"a\uFFFD", "b"});
}

TEST_CASE("denoising record comes back from JSON, and damaged ones are refused") {
  const Generated g = generated({"int", " a"}, 2, "int a", false);
  const DenoisingRecord record = denoising_record(g.rollout, g.pieces, "", 4);
  const nlohmann::json json = nlohmann::json::parse(to_json(record).dump());
  CHECK(denoising_record_from_json(json) == record);
  for (const char* field : {"bytes", "step_changes", "log_prob_hundredths"}) {
    nlohmann::json shorter = json;
    shorter[field].erase(0);
    CHECK_THROWS_AS(denoising_record_from_json(shorter), InputError);
    shorter.erase(field);
    CHECK_THROWS_AS(denoising_record_from_json(shorter), InputError);
  }
  CHECK_THROWS_AS(denoising_record_from_json(nlohmann::json::array()), InputError);
  for (const int64_t begin : {int64_t{-1}, int64_t{100}}) {
    DenoisingRecord damaged = record;
    damaged.text_begin = begin;
    CHECK(pieces_of(damaged, g.rollout.text).empty());
  }
  DenoisingRecord long_piece = record;
  long_piece.bytes[0] = 1'000'000;
  CHECK(pieces_of(long_piece, g.rollout.text).empty());
}

}  // namespace
}  // namespace bicrl
