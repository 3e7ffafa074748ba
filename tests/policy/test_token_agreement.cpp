// Configs and tokenizers that name other tokens for one purpose.
#include "policy/token_agreement.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "tests/policy/tokenizer/tiny_tokenizer.h"
#include "tests/support/support.h"
#include "tests/support/tiny_policy_config.h"

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

// Ids 256 to 259.
Tokenizer tokenizer(const json& tokenizer_config) {
  json document = testing::tiny_tokenizer_json();
  int64_t id = 256;
  for (const char* text : {"<|MASK|>", "<|end|>", "<|begin|>", "<|pad|>"})
    document["added_tokens"].push_back({{"id", id++}, {"content", text}, {"special", true}});
  return Tokenizer::from_files(
      {{"tokenizer.json", document.dump()}, {"tokenizer_config.json", tokenizer_config.dump()}}, "tiny");
}

PolicyConfig config() {
  PolicyConfig c = testing::tiny_policy_config({257}, 4);
  c.mask_token_id = 256;
  return c;
}

const json kNamesAll = {{"mask_token", {{"content", "<|MASK|>"}, {"lstrip", false}}},
                        {"eos_token", "<|end|>"},
                        {"bos_token", nullptr},
                        {"pad_token", "<|pad|>"}};

TEST_CASE("a config and a tokenizer that name the same tokens agree") {
  for (const json& names : {kNamesAll, json::object(), json{{"eos_token", "<|end|>"}}}) {
    const Tokenizer t = tokenizer(names);
    PolicyConfig c = config();
    CHECK(token_disagreement(c, t, true).empty());
    c.end_token_ids = {65, 257};  // one of several
    c.bos_token_id = 258;
    c.generation_settings = R"({"pad_token_id": 259, "bos_token_id": 258})";
    CHECK(token_disagreement(c, t, true).empty());
  }
}

TEST_CASE("an id on which config and tokenizer disagree is named with both") {
  const Tokenizer t = tokenizer(kNamesAll);
  const auto problem = [&](const auto& change, const Tokenizer& of, bool own_end_tokens = true) {
    PolicyConfig c = config();
    change(c);
    return token_disagreement(c, of, own_end_tokens);
  };
  CHECK_THAT(
      problem([](PolicyConfig& c) { c.mask_token_id = 258; }, t),
      ContainsSubstring("mask_token_id is 258 ('<|begin|>')") && ContainsSubstring("'<|MASK|>', id 256"));
  // Whose name says it, though no file does.
  CHECK_THAT(problem([](PolicyConfig& c) { c.mask_token_id = 258; }, tokenizer({})),
             ContainsSubstring("mask_token_id is 258"));
  CHECK_THAT(problem([](PolicyConfig& c) { c.mask_token_id = 261; }, t),
             ContainsSubstring("mask_token_id 261 is no token"));
  CHECK_THAT(problem(
                 [](PolicyConfig& c) {
                   c.end_token_ids = {258, 65};
                 },
                 t),
             ContainsSubstring("eos_token_id is 258") && ContainsSubstring("'<|end|>', id 257"));
  CHECK(problem([](PolicyConfig& c) { c.end_token_ids = {258, 65}; }, t, /*own_end_tokens=*/false).empty());
  CHECK_THAT(problem(
                 [](PolicyConfig& c) {
                   c.end_token_ids = {257, 265};
                 },
                 t),
             ContainsSubstring("eos_token_id 265 is no token"));
  CHECK_THAT(problem([](PolicyConfig& c) { c.generation_settings = R"({"pad_token_id": 257})"; }, t),
             ContainsSubstring("pad_token_id is 257") && ContainsSubstring("'<|pad|>', id 259"));
  CHECK_THAT(problem([](PolicyConfig& c) { c.bos_token_id = 257; }, tokenizer({{"bos_token", "<|begin|>"}})),
             ContainsSubstring("bos_token_id is 257"));
  CHECK_THAT(problem([](PolicyConfig&) {}, tokenizer({{"mask_token", "<|nowhere|>"}})),
             ContainsSubstring("'<|nowhere|>', which has no id"));
}

TEST_CASE("the published configs and tokenizer of SDAR agree", "[published]") {
  const Tokenizer t = Tokenizer::from_folder(testing::published_file("sdar-8b/vocab.json").parent_path());
  const PolicyConfig c = PolicyConfig::from_file(testing::published_file("sdar-8b/config.json"));
  CHECK(token_disagreement(c, t, true).empty());
  CHECK(t.named_token("mask_token") == "<|MASK|>");
}

}  // namespace
}  // namespace bicrl
