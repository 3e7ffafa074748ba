// Text that streams is the text as a whole, and never broken.
#include "policy/tokenizer/tokenizer_stream.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "common/files/files.h"
#include "common/rng.h"
#include "policy/tokenizer/tokenizer_unicode.h"
#include "tests/policy/tokenizer/tiny_tokenizer.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

using Ids = std::vector<int64_t>;

// Ids 0 to 255 are the bytes.
Tokenizer byte_tokenizer() {
  return Tokenizer::from_files({{"tokenizer.json", testing::tiny_tokenizer_json().dump()}}, "bytes");
}

std::vector<std::string> parts_of(const Tokenizer& tokenizer, const Ids& ids) {
  TextStream stream(tokenizer);
  std::vector<std::string> parts;
  for (const int64_t id : ids) parts.push_back(stream.read(id));
  parts.push_back(stream.finish());
  return parts;
}

void check_stream(const Tokenizer& tokenizer, const Ids& ids) {
  std::string joined;
  for (const std::string& part : parts_of(tokenizer, ids)) {
    CHECK(unicode::is_valid_utf8(part));
    joined += part;
  }
  CHECK(joined == tokenizer.decode(ids));
}

TEST_CASE("a character is handed out with its last byte, and what becomes none with the first wrong one") {
  const Tokenizer tokenizer = byte_tokenizer();
  const std::string bad = "\xEF\xBF\xBD";
  using Parts = std::vector<std::string>;
  CHECK(parts_of(tokenizer, {'a', 0xC3, 0xA9, 'b'}) == Parts{"a", "", "\u00e9", "b", ""});
  CHECK(parts_of(tokenizer, {0xF0, 0x9F, 0x98, 0x80}) == Parts{"", "", "", "\U0001F600", ""});
  CHECK(parts_of(tokenizer, {0xE2, 0x82, 'x'}) == Parts{"", "", bad + "x", ""});
  CHECK(parts_of(tokenizer, {0xE2, 0x82}) == Parts{"", "", bad});
  CHECK(parts_of(tokenizer, {0xE2, 0xC3, 0xA9}) == Parts{"", bad, "\u00e9", ""});
  // These begin no character, whatever follows: overlong, surrogate, too high, a byte of the middle.
  CHECK(parts_of(tokenizer, {0xC0, 0xAF}) == Parts{bad, bad, ""});
  CHECK(parts_of(tokenizer, {0xED, 0xA0, 0x80}) == Parts{"", bad + bad, bad, ""});
  CHECK(parts_of(tokenizer, {0xF5, 0x80}) == Parts{bad, bad, ""});
  CHECK(parts_of(tokenizer, {}) == Parts{""});
}

TEST_CASE("streamed bytes of any kind are the decoded text") {
  const Tokenizer tokenizer = byte_tokenizer();
  RandomStream stream(3);
  // Bytes that begin, continue and break characters, far more often than by chance.
  const Ids likely = {'a',  0x80, 0xBF, 0xC3, 0xC1, 0xE0, 0xA0, 0xED,
                      0xE2, 0xF0, 0x90, 0xF4, 0x8F, 0xF5, 0xFF};
  for (int i = 0; i < 5000; ++i) {
    Ids ids(stream.below(9));
    for (int64_t& id : ids) id = likely[stream.below(likely.size())];
    check_stream(tokenizer, ids);
  }
}

TEST_CASE("streamed tokens of published vocabularies are the decoded text") {
  RandomStream stream(4);
  for (const auto& folder : testing::sdar_tokenizers()) {
    const Tokenizer tokenizer = Tokenizer::from_folder(folder);
    check_stream(tokenizer, tokenizer.encode("float4 v; // größer 日本 👩‍👧\r\n<think>x</think>"));
    for (int i = 0; i < 200; ++i) {
      Ids ids(stream.below(40));
      for (int64_t& id : ids)
        id = static_cast<int64_t>(stream.below(static_cast<uint64_t>(tokenizer.size())));
      check_stream(tokenizer, ids);
    }
  }
}

}  // namespace
}  // namespace bicrl
