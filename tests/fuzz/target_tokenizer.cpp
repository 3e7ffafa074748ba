// Tokenizer files, then a text to encode. Parts: tokenizer.json, text; or with a first part "folder":
// vocab.json, merges.txt, added_tokens.json, tokenizer_config.json, special_tokens_map.json, text. The words
// "BYTES": 0 in a vocabulary stand for the tokens of the 256 bytes (id = byte), which every one needs.
#include "policy/tokenizer/tokenizer.h"
#include "policy/tokenizer/tokenizer_unicode.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/policy/tokenizer/tiny_tokenizer.h"

namespace bicrl::fuzz {
namespace {

// Short, so that what a pattern costs (quadratic at worst) stays small.
constexpr size_t kTextBytes = 400;

// The entries of an object, without its braces.
std::string byte_vocabulary() {
  const std::string object = testing::tiny_tokenizer_json().at("model").at("vocab").dump();
  return object.substr(1, object.size() - 2);
}

std::string with_bytes(std::string json) {
  static const std::string vocabulary = byte_vocabulary();
  constexpr std::string_view kMark = "\"BYTES\": 0";
  if (const size_t at = json.find(kMark); at != json.npos) json.replace(at, kMark.size(), vocabulary);
  return json;
}

std::map<std::string, std::string> files_of(const std::vector<std::string>& parts) {
  std::map<std::string, std::string> files;
  if (parts[0] != "folder") return {{"tokenizer.json", with_bytes(parts[0])}};
  const char* names[] = {"vocab.json", "merges.txt", "added_tokens.json", "tokenizer_config.json",
                         "special_tokens_map.json"};
  for (size_t i = 0; i < std::size(names) && i + 2 < parts.size(); ++i)
    if (!parts[i + 1].empty()) files[names[i]] = i == 0 ? with_bytes(parts[1]) : parts[i + 1];
  return files;
}

}  // namespace
}  // namespace bicrl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bicrl;
  const std::string_view input = fuzz::as_text(data, size);
  const auto parts = fuzz::split_parts(input, input.starts_with("folder") ? 7 : 2);
  const std::string text = parts.back().substr(0, fuzz::kTextBytes);
  fuzz::accepts([&] {
    const auto tokenizer = Tokenizer::from_files(fuzz::files_of(parts), "fuzz");
    const auto ids = tokenizer.encode(text);
    // Composition can lengthen a text threefold, and each byte is at most one token.
    BICRL_CHECK(ids.size() <= 3 * 3 * text.size(), ids.size());
    for (const int64_t id : ids) {
      BICRL_CHECK(id >= 0 && id < tokenizer.size(), id);
      BICRL_CHECK(!tokenizer.bytes(id).empty(), id);
    }
    BICRL_CHECK(unicode::is_valid_utf8(tokenizer.decode(ids)));
    tokenizer.decode(ids, /*skip_special=*/true);
  });
  return 0;
}
