// Tokenizer files that are meant to hang, to fill the memory or to be believed although they are cut off.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/error.h"
#include "common/rng.h"
#include "policy/tokenizer/tokenizer.h"
#include "tests/policy/tokenizer/tiny_tokenizer.h"

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

Tokenizer from_json(const json& document) {
  return Tokenizer::from_files({{"tokenizer.json", document.dump()}}, "folder");
}

json with_patterns(const std::vector<std::string>& patterns) {
  json document = testing::tiny_tokenizer_json();
  json steps = json::array();
  for (const auto& pattern : patterns)
    steps.push_back({{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}});
  steps.push_back({{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}});
  document["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", steps}};
  return document;
}

template <class Action>
std::string refusal(const Action& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST_CASE("one wild id does not size the tables") {
  for (const int64_t id : {int64_t{70'000}, int64_t{1} << 24}) {
    json document = testing::tiny_tokenizer_json();
    document["model"]["vocab"]["aa"] = id;
    CHECK_THAT(refusal([&] { from_json(document); }), ContainsSubstring("far beyond the 257 tokens"));
    document = testing::tiny_tokenizer_json();
    document["added_tokens"] = {{{"id", id}, {"content", "<x>"}}};
    CHECK_THAT(refusal([&] { from_json(document); }), ContainsSubstring("far beyond the 257 tokens"));
  }
  json padded = testing::tiny_tokenizer_json();
  padded["added_tokens"] = {{{"id", 60'000}, {"content", "<x>"}}};
  CHECK(from_json(padded).size() == 60'001);
}

TEST_CASE("a split pattern that backtracks without end is refused, at the text where it does") {
  const std::string text = std::string(60, 'a') + "!";
  for (const char* pattern : {"(a+)+$", "(?:a|aa)+$", R"(\w*\w*\w*\w*\w*\w*\d)"}) {
    const Tokenizer tokenizer = from_json(with_patterns({pattern}));
    CHECK(tokenizer.encode("b").size() == 1);
    CHECK_THAT(refusal([&] { tokenizer.encode(text); }),
               ContainsSubstring(concat("limit exceeded: ", pattern)) && ContainsSubstring("tokenizer.json"));
  }
}

TEST_CASE("split patterns that would recurse, split characters or match backwards are refused") {
  CHECK_THAT(refusal([&] { from_json(with_patterns(std::vector<std::string>(50'000, "a"))); }),
             ContainsSubstring("50000 split patterns"));
  CHECK_THAT(refusal([&] { from_json(with_patterns({std::string(20'000, 'a')})); }),
             ContainsSubstring("has 20000 bytes"));
  CHECK_THAT(refusal([&] { from_json(with_patterns({R"(\C)"})); }), ContainsSubstring("split pattern"));
  const Tokenizer keeps_out = from_json(with_patterns({R"(ab\K)"}));
  CHECK_THAT(refusal([&] { keeps_out.encode("xaby"); }), ContainsSubstring("an empty or backward match"));
}

TEST_CASE("long runs within a group still split as one piece") {
  const Tokenizer tokenizer = from_json(with_patterns({R"((?:\p{L}\p{M}*)+|\s+(?!\S)|\s+)"}));
  const std::string text = std::string(300'000, 'a') + std::string(300'000, ' ') + "b";
  CHECK(tokenizer.encode(text).size() == text.size());
}

TEST_CASE("of many added tokens with a common beginning the longest is found") {
  json document = testing::tiny_tokenizer_json();
  // 20,000 texts of one first letter, among them every beginning of a long one.
  std::vector<std::string> texts;
  for (int i = 0; i < 19'900; ++i) texts.push_back(concat("<", i, ">"));
  for (size_t n = 1; n <= 100; ++n) texts.push_back("<" + std::string(n, 'y'));
  for (size_t i = 0; i < texts.size(); ++i)
    document["added_tokens"].push_back({{"id", 256 + i}, {"content", texts[i]}, {"special", true}});
  const Tokenizer tokenizer = from_json(document);
  CHECK(tokenizer.encode("<123>") == std::vector<int64_t>{256 + 123});
  CHECK(tokenizer.encode("<" + std::string(250, 'y')).size() == 1 + 150);
  CHECK(tokenizer.encode("<yyyy").front() == tokenizer.id_of("<yyyy"));
  // Against trying every one at every place.
  RandomStream random(7);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    while (text.size() < 40) text += "<y1>"[random.below(4)];
    std::vector<int64_t> expected;
    for (size_t at = 0; at < text.size();) {
      size_t longest = 0;
      int64_t id = static_cast<unsigned char>(text[at]);
      for (size_t i = 0; i < texts.size(); ++i)
        if (texts[i].size() > longest && text.compare(at, texts[i].size(), texts[i]) == 0) {
          longest = texts[i].size();
          id = static_cast<int64_t>(256 + i);
        }
      expected.push_back(id);
      at += std::max<size_t>(longest, 1);
    }
    REQUIRE(tokenizer.encode(text) == expected);
  }
}

TEST_CASE("files nested without end are refused") {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  CHECK_THAT(refusal([&] {
               Tokenizer::from_files({{"tokenizer.json", "{\"model\":" + deep + "}"}}, "f");
             }),
             ContainsSubstring("nested more than"));
}

TEST_CASE("a list of merges that was cut off does not load") {
  json vocabulary = testing::tiny_tokenizer_json().at("model").at("vocab");
  std::string merges = "#version: 0.2\n";
  for (const char* merge : {"a b", "ab c", "abc d", "x y"}) {
    merges += concat(merge, "\n");
    std::string made = merge;
    made.erase(made.find(' '), 1);
    vocabulary[made] = vocabulary.size();
  }
  const auto load = [&](const std::string& kept) {
    return Tokenizer::from_files(
        {{"vocab.json", vocabulary.dump()}, {"merges.txt", kept}, {"added_tokens.json", R"({"<x>": 260})"}},
        "folder");
  };
  REQUIRE(load(merges).encode("abcd<x>").size() == 2);
  // Without the last line's end the content is the same.
  REQUIRE(load(merges.substr(0, merges.size() - 1)).encode("xy").size() == 1);
  for (size_t length = 0; length + 1 < merges.size(); ++length) {
    INFO(length);
    CHECK_THAT(refusal([&] { load(merges.substr(0, length)); }), ContainsSubstring("merges.txt"));
  }
}

}  // namespace
}  // namespace bicrl
