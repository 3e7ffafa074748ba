#include "policy/files/checkpoint_io.h"

#include <ATen/ATen.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/files.h"
#include "policy/files/safetensors.h"
#include "tests/policy/tokenizer/tiny_tokenizer.h"
#include "tests/support/dense_attention.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

// Bytes, the end token and the mask.
fs::path make_tokenizer(const fs::path& folder) {
  nlohmann::json document = testing::tiny_tokenizer_json();
  document["version"] = "1.0";
  int64_t id = 256;
  for (const char* text : {"<|endoftext|>", "<MASK>"})
    document["added_tokens"].push_back({{"id", id++},
                                        {"content", text},
                                        {"single_word", false},
                                        {"lstrip", false},
                                        {"rstrip", false},
                                        {"normalized", false},
                                        {"special", true}});
  fs::create_directory(folder / "tokenizer");
  write_file_atomically(folder / "tokenizer/tokenizer.json", document.dump());
  return folder / "tokenizer";
}

PolicyConfig config_for(const Tokenizer& tokenizer, bool tied) {
  PolicyConfig config;
  config.vocab_size = tokenizer.size() + 3;
  config.hidden_size = 32;
  config.layers = 2;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_dim = 16;
  config.intermediate_size = 48;
  config.initializer_range = 0.2;
  config.tie_word_embeddings = tied;
  config.mask_token_id = tokenizer.id_of("<MASK>");
  config.end_token_ids = {tokenizer.id_of("<|endoftext|>")};
  return config;
}

// What the oracle compares with: parameters, tokens and logits under a fully visible mask.
void write_expected(const fs::path& path, const Transformer& transformer, const std::vector<int64_t>& ids) {
  const at::Tensor tokens = at::tensor(ids, at::kLong);
  const int64_t length = tokens.size(0);
  testing::DenseMaskAttention attention(at::ones({length, length}, at::kBool));
  NamedTensors expected = transformer.parameters();
  expected.emplace_back("tokens", tokens);
  expected.emplace_back(
      "logits", transformer.logits(transformer.hidden(tokens, at::arange(length, at::kLong), attention)));
  write_safetensors(path, expected);
}

TEST_CASE("what we save opens in safetensors and transformers, and in ours again") {
  const testing::TemporaryFolder folder;
  const Tokenizer tokenizer = Tokenizer::from_folder(make_tokenizer(folder.path()));
  const auto ids = tokenizer.encode("for i in x<MASK>");
  for (const bool tied : {false, true}) {
    const fs::path where = folder.path() / (tied ? "tied" : "untied");
    const Transformer transformer = Transformer::random(config_for(tokenizer, tied), 9, at::kCPU, at::kFloat);
    save_policy(where, transformer, tokenizer);
    // The tied policy also goes through shards.
    if (tied) write_safetensors_folder(where, transformer.parameters(), 20'000);
    write_expected(folder.path() / concat("expected_", where.filename().string(), ".safetensors"),
                   transformer, ids);
    const Transformer again = load_policy(where, at::kCPU, at::kFloat);
    CHECK(again.config() == transformer.config());
    REQUIRE(again.parameters().size() == transformer.parameters().size());
    for (size_t i = 0; i < again.parameters().size(); ++i) {
      CHECK(again.parameters()[i].first == transformer.parameters()[i].first);
      CHECK(at::equal(again.parameters()[i].second, transformer.parameters()[i].second));
    }
    CHECK(Tokenizer::from_folder(where).encode("for i in x<MASK>") == ids);
  }
  testing::run_python(testing::source_path("tests/policy/oracle_reopen.py"),
                      {folder.path().string(), "tied", "untied"});
}

// What a published folder has beside its config.json, as far as transformers asks for it.
void write_code(const fs::path& folder) {
  write_file_atomically(folder / "configuration_sdar.py",
                        "from transformers import Qwen3Config\n\n\nclass SDARConfig(Qwen3Config):\n"
                        "    model_type = \"sdar\"\n");
  write_file_atomically(folder / "modeling_sdar.py",
                        "from transformers import Qwen3ForCausalLM, Qwen3Model\n\n"
                        "from .configuration_sdar import SDARConfig\n\n\n"
                        "class SDARModel(Qwen3Model):\n    config_class = SDARConfig\n\n\n"
                        "class SDARForCausalLM(Qwen3ForCausalLM):\n    config_class = SDARConfig\n");
}

TEST_CASE("a policy's Python files are kept, so that transformers opens what we save by them") {
  const testing::TemporaryFolder folder;
  const Tokenizer tokenizer = Tokenizer::from_folder(make_tokenizer(folder.path()));
  const fs::path source = folder.path() / "source", saved = folder.path() / "saved";
  save_policy(source, Transformer::random(config_for(tokenizer, false), 9, at::kCPU, at::kFloat), tokenizer);
  // Without the files nothing names them.
  CHECK_FALSE(nlohmann::json::parse(read_file(source / "config.json")).contains("auto_map"));
  write_code(source);
  write_file_atomically(source / "helpers.py", "\n");
  auto config = nlohmann::json::parse(read_file(source / "config.json"));
  config["auto_map"] = {{"AutoConfig", "configuration_sdar.SDARConfig"},
                        {"AutoModelForCausalLM", "modeling_sdar.SDARForCausalLM"},
                        {"AutoTokenizer", {"tokenization_sdar.SDARTokenizer", nullptr}}};
  for (const bool named : {true, false}) {  // SDAR's own files need not be named
    if (!named) config.erase("auto_map");
    write_file_atomically(source / "config.json", config.dump());
    const Transformer policy = load_policy(source, at::kCPU, at::kFloat);
    save_policy(saved, policy, tokenizer);
    for (const char* file : {"configuration_sdar.py", "modeling_sdar.py", "helpers.py"})
      CHECK(read_file(saved / file) == read_file(source / file));
    const auto map = nlohmann::json::parse(read_file(saved / "config.json")).at("auto_map");
    CHECK(map.at("AutoModelForCausalLM") == "modeling_sdar.SDARForCausalLM");
    CHECK_FALSE(map.contains("AutoTokenizer"));  // whose file is not there
    CHECK(load_policy(saved, at::kCPU, at::kFloat).config() == policy.config());
    write_expected(folder.path() / "expected_saved.safetensors", policy,
                   tokenizer.encode("for i in x<MASK>"));
    testing::run_python(testing::source_path("tests/policy/oracle_reopen.py"),
                        {folder.path().string(), "saved"});
  }
}

TEST_CASE("every end token and every key of generation_config.json survives saving") {
  const testing::TemporaryFolder folder;
  const Tokenizer tokenizer = Tokenizer::from_folder(make_tokenizer(folder.path()));
  const fs::path first = folder.path() / "first", second = folder.path() / "several";
  save_policy(first, Transformer::random(config_for(tokenizer, false), 9, at::kCPU, at::kFloat), tokenizer);
  const int64_t own = tokenizer.id_of("<|endoftext|>");
  const nlohmann::json written = {{"do_sample", true},         {"eos_token_id", {17, own}},
                                  {"pad_token_id", 3},         {"temperature", 0.6},
                                  {"suppress_tokens", {1, 2}}, {"note", {{"a", nullptr}}}};
  write_file_atomically(first / "generation_config.json", written.dump());
  const Transformer policy = load_policy(first, at::kCPU, at::kFloat);
  CHECK(policy.config().end_token_ids == std::vector<int64_t>{own, 17});
  save_policy(second, policy, tokenizer);
  nlohmann::json expected = written;
  expected["eos_token_id"] = {own, 17};
  CHECK(nlohmann::json::parse(read_file(second / "generation_config.json")) == expected);
  CHECK(nlohmann::json::parse(read_file(second / "config.json")).at("eos_token_id") ==
        expected["eos_token_id"]);
  CHECK(load_policy(second, at::kCPU, at::kFloat).config() == policy.config());
  write_expected(folder.path() / "expected_several.safetensors", policy,
                 tokenizer.encode("for i in x<MASK>"));
  testing::run_python(testing::source_path("tests/policy/oracle_reopen.py"),
                      {folder.path().string(), "several"});
}

TEST_CASE("weights beside those that are read are reported") {
  const testing::TemporaryFolder folder;
  const Tokenizer tokenizer = Tokenizer::from_folder(make_tokenizer(folder.path()));
  const fs::path where = folder.path() / "policy", sharded = folder.path() / "sharded";
  const Transformer policy = Transformer::random(config_for(tokenizer, false), 9, at::kCPU, at::kFloat);
  for (const fs::path& one : {where, sharded}) save_policy(one, policy, tokenizer);
  CHECK(note_on_weight_files(where).empty());
  write_safetensors_folder(sharded, policy.parameters(), 20'000);
  CHECK(note_on_weight_files(sharded).empty());
  fs::copy_file(where / "model.safetensors", sharded / "model.safetensors");
  CHECK_THAT(note_on_weight_files(sharded), ContainsSubstring("read from model.safetensors, not from") &&
                                                ContainsSubstring("model-00001-of-0") &&
                                                ContainsSubstring("model.safetensors.index.json"));
  fs::remove(sharded / "model.safetensors");
  fs::copy_file(where / "model.safetensors", sharded / "old.safetensors");
  CHECK_THAT(note_on_weight_files(sharded), ContainsSubstring("not from old.safetensors"));
}

TEST_CASE("a folder whose parts disagree is refused by name") {
  const testing::TemporaryFolder folder;
  const Tokenizer tokenizer = Tokenizer::from_folder(make_tokenizer(folder.path()));
  const fs::path where = folder.path() / "policy";
  save_policy(where, Transformer::random(config_for(tokenizer, false), 9, at::kCPU, at::kBFloat16),
              tokenizer);
  CHECK(nlohmann::json::parse(read_file(where / "config.json")).at("torch_dtype") == "bfloat16");
  CHECK(load_policy(where, at::kCPU, at::kFloat).dtype() == at::kFloat);
  write_file_atomically(where / "config.json", config_for(tokenizer, true).to_json_text());
  const auto message = [&] {
    try {
      load_policy(where, at::kCPU, at::kFloat);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(message().find("lm_head.weight differs") != std::string::npos);
  fs::remove(where / "config.json");
  CHECK(message().find("config.json") != std::string::npos);
}

}  // namespace
}  // namespace bicrl
