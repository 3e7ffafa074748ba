#include "trainer/inputs/policy_source.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/files.h"
#include "policy/files/checkpoint_io.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

// A tiny policy's folder with two end tokens, one in each file; ids 264 and 265 are <|endoftext|> and MASK.
fs::path make_checkpoint(const fs::path& folder) {
  const fs::path tokenizer = testing::source_path("tests/rollout/tiny_tokenizer");
  PolicyConfig config;
  config.vocab_size = 272;
  config.hidden_size = 16;
  config.layers = 1;
  config.heads = config.kv_heads = 1;
  config.head_dim = 16;
  config.intermediate_size = 16;
  config.mask_token_id = 265;
  config.end_token_ids = {264};
  save_policy(folder, Transformer::random(config, 1, at::kCPU, at::kFloat),
              Tokenizer::from_folder(tokenizer));
  write_file_atomically(folder / "generation_config.json", R"({"eos_token_id": [7, 264], "top_k": 20})");
  return folder;
}

PolicySource source_from(const fs::path& checkpoint, const std::string& end_tokens) {
  const auto document = ConfigDocument::from_text(
      concat("checkpoint: ", checkpoint.string(), "\nend_tokens: ", end_tokens, "\n"), "test.yaml");
  PolicySource source = PolicySource::from_config(document.root(), ".");
  document.finish();
  return source;
}

}  // namespace

TEST_CASE("policy.end_tokens replaces the end tokens of the policy's files, in what is saved as well") {
  const testing::TemporaryFolder folder;
  const fs::path checkpoint = make_checkpoint(folder.path() / "policy");
  const auto end_tokens = [&](const std::string& key) {
    const PolicySource source = source_from(checkpoint, key);
    const Tokenizer tokenizer = load_tokenizer(source);
    const Transformer policy = make_policy(source, tokenizer, 1, 0);
    save_policy(folder.path() / "saved", policy, tokenizer);
    CHECK(load_policy(folder.path() / "saved", at::kCPU, at::kFloat).config() == policy.config());
    CHECK(policy.config().generation_settings == R"({"top_k":20})");
    return policy.config().end_token_ids;
  };
  using Ids = std::vector<int64_t>;
  CHECK(end_tokens("[]") == Ids{264, 7});
  CHECK(end_tokens("['<|endoftext|>']") == Ids{264});
  CHECK(end_tokens("[abc, 9, '<|endoftext|>']") ==
        Ids{load_tokenizer(source_from(checkpoint, "[]")).id_of("abc"), 9, 264});
  const auto refusal = [&](const std::string& key) {
    try {
      end_tokens(key);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK_THAT(refusal("['<|im_end|>']"),
             ContainsSubstring("policy.end_tokens") && ContainsSubstring("<|im_end|>"));
  CHECK_THAT(refusal("[266]"), ContainsSubstring("policy.end_tokens") && ContainsSubstring("265"));
  CHECK_THAT(refusal("['99999999999999999999']"), ContainsSubstring("no id of the tokenizer"));
  CHECK_THAT(refusal("['']"), ContainsSubstring("no token of the tokenizer"));
  CHECK_THAT(refusal("[265]"), ContainsSubstring("MASK"));
  CHECK_THAT(refusal("[264, '<|endoftext|>']"), ContainsSubstring("twice"));
}

TEST_CASE("a checkpoint is not read with a tokenizer whose ids are not its own") {
  const testing::TemporaryFolder folder;
  PolicySource source = source_from(make_checkpoint(folder.path() / "policy"), "[]");
  source.tokenizer = testing::source_path("tests/rollout/tiny_tokenizer");
  CHECK(load_tokenizer(source).size() == 266);
  source.tokenizer = testing::source_path("configs/quickstart");
  CHECK_THROWS_WITH(load_tokenizer(source), ContainsSubstring("policy.tokenizer: token ") &&
                                                ContainsSubstring("policy.tokenizer=~ takes"));
}

TEST_CASE("a fresh policy takes end tokens from the files beside its config") {
  const testing::TemporaryFolder folder;
  const fs::path checkpoint = make_checkpoint(folder.path() / "policy");
  PolicySource source;
  source.config_file = checkpoint / "config.json";
  source.tokenizer = checkpoint;
  const Tokenizer tokenizer = load_tokenizer(source);
  CHECK(make_policy(source, tokenizer, 1, 0).config().end_token_ids == std::vector<int64_t>{264, 7});
  source.end_tokens = {"5"};
  CHECK(make_policy(source, tokenizer, 1, 0).config().end_token_ids == std::vector<int64_t>{5});
}

TEST_CASE("a policy whose mask is no token of the tokenizer, or another one, is refused with the file") {
  const testing::TemporaryFolder folder;
  const fs::path checkpoint = make_checkpoint(folder.path() / "policy");
  const PolicySource source = source_from(checkpoint, "[]");
  const Tokenizer tokenizer = load_tokenizer(source);
  auto config = nlohmann::json::parse(read_file(checkpoint / "config.json"));
  for (const int64_t mask : {3, 270}) {
    config["mask_token_id"] = mask;
    write_file_atomically(checkpoint / "config.json", config.dump());
    CHECK_THROWS_WITH(policy_config(source, tokenizer),
                      ContainsSubstring((checkpoint / "config.json").string()) &&
                          ContainsSubstring(concat("mask_token_id ", mask == 270 ? "270" : "is 3")));
  }
}

TEST_CASE("a policy that several threads draw is the same, and their number is what it was afterwards") {
  const testing::TemporaryFolder folder;
  PolicySource source;
  source.config_file = make_checkpoint(folder.path() / "policy") / "config.json";
  source.tokenizer = folder.path() / "policy";
  auto shape = nlohmann::json::parse(read_file(source.config_file));
  shape["vocab_size"] = 20'000;  // several pieces
  write_file_atomically(source.config_file, shape.dump());
  const Tokenizer tokenizer = load_tokenizer(source);
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const Transformer alone = make_policy(source, tokenizer, 3, 0, /*ranks_on_host=*/1'000'000);
  const Transformer together = make_policy(source, tokenizer, 3, 0);
  CHECK(at::get_num_threads() == 1);
  at::set_num_threads(threads);
  for (size_t i = 0; i < alone.parameters().size(); ++i)
    CHECK(at::equal(alone.parameters()[i].second, together.parameters()[i].second));
}

}  // namespace bicrl
