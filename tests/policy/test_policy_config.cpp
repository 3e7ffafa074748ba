#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/files.h"
#include "policy/policy_config.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

TEST_CASE("published configs have the published sizes") {
  for (const auto& [folder, bytes] :
       {std::pair{"sdar-4b", 8'822'848'512}, std::pair{"sdar-8b", 16'381'470'720}}) {
    const auto path = testing::published_file(std::string(folder) + "/config.json");
    const PolicyConfig config = PolicyConfig::from_file(path);
    CHECK(config.parameter_count() * 2 == bytes);
    CHECK(config.block_size == 4);
    CHECK(config.mask_token_id == 151669);
    // generation_config.json, which this copy of the smaller one lacks, names the end of a turn beside it.
    const bool both = std::string(folder) == "sdar-8b";
    CHECK(config.end_token_ids ==
          (both ? std::vector<int64_t>{151643, 151645} : std::vector<int64_t>{151643}));
    PolicyConfig copy = PolicyConfig::from_json_text(config.to_json_text(), "copy");
    if (both) copy.add_generation_config(config.generation_config_text(), "copy");
    CHECK(copy == config);
  }
}

nlohmann::json valid() {
  return {{"model_type", "qwen3"},  {"vocab_size", 100},        {"hidden_size", 32},
          {"num_hidden_layers", 2}, {"num_attention_heads", 4}, {"num_key_value_heads", 2},
          {"head_dim", 8},          {"intermediate_size", 64},  {"mask_token_id", 99},
          {"rope_theta", 5000},     {"hidden_act", "silu"}};
}

std::string answer(const nlohmann::json& json) {
  try {
    PolicyConfig::from_json_text(json.dump(), "some.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST_CASE("a config that this architecture cannot run is refused by field and value") {
  REQUIRE(answer(valid()) == "accepted");
  struct Fault {
    const char* field;
    nlohmann::json value;
  };
  const std::vector<Fault> faults = {{"model_type", "llama"},
                                     {"hidden_act", "gelu"},
                                     {"attention_bias", true},
                                     {"attention_dropout", 0.1},
                                     {"sliding_window", 4096},
                                     {"use_sliding_window", true},
                                     {"rope_scaling", {{"rope_type", "yarn"}, {"factor", 4}}},
                                     {"rope_parameters", {{"rope_type", "linear"}, {"rope_theta", 1e6}}},
                                     {"vocab_size", 0},
                                     {"vocab_size", "many"},
                                     {"hidden_size", 1e3},
                                     {"hidden_size", int64_t{1} << 40},
                                     {"head_dim", 7},
                                     {"num_attention_heads", 3},
                                     {"num_hidden_layers", -1},
                                     {"mask_token_id", 100},
                                     {"mask_token_id", nullptr},
                                     {"eos_token_id", 99},
                                     {"eos_token_id", {1, 99}},
                                     {"eos_token_id", {1, "2"}},
                                     {"eos_token_id", {1, -1}},
                                     {"eos_token_id", {1, nullptr}},
                                     {"eos_token_id", 100},
                                     {"eos_token_id", 1.5},
                                     {"eos_token_id", "1"},
                                     {"rms_norm_eps", 0},
                                     {"rope_theta", -1},
                                     {"tie_word_embeddings", 1}};
  for (const auto& fault : faults) {
    nlohmann::json json = valid();
    json[fault.field] = fault.value;
    const std::string message = answer(json);
    INFO(fault.field << " = " << fault.value.dump() << ": " << message);
    CHECK(message.starts_with("some.json: "));
    CHECK(message.find(fault.field) != std::string::npos);
  }
  for (const char* field : {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
                            "num_key_value_heads", "head_dim", "intermediate_size", "mask_token_id"}) {
    nlohmann::json json = valid();
    json.erase(field);
    CHECK(answer(json).find(std::string(field) + ": missing") != std::string::npos);
  }
  nlohmann::json huge = valid();
  for (const char* field : {"vocab_size", "hidden_size", "num_hidden_layers", "intermediate_size"})
    huge[field] = 1 << 24;
  CHECK(answer(huge).find("the number of parameters") != std::string::npos);
  CHECK_THROWS_AS(PolicyConfig::from_json_text("[1]", "x"), InputError);
  CHECK_THROWS_AS(PolicyConfig::from_json_text("{", "x"), InputError);
}

TEST_CASE("a response ends at the end tokens of both files, and what else they hold is kept") {
  const auto ids = [](const nlohmann::json& in_config, const nlohmann::json& in_generation) {
    nlohmann::json json = valid();
    json["eos_token_id"] = in_config;
    PolicyConfig config = PolicyConfig::from_json_text(json.dump(), "config.json");
    config.add_generation_config(nlohmann::json({{"eos_token_id", in_generation}, {"top_k", 20}}).dump(),
                                 "generation_config.json");
    const auto written = nlohmann::json::parse(config.generation_config_text());
    CHECK(written.at("top_k") == 20);
    CHECK_FALSE(written.contains("do_sample"));
    if (!config.end_token_ids.empty())
      CHECK(written.at("eos_token_id") == nlohmann::json::parse(config.to_json_text()).at("eos_token_id"));
    // What was written says the same again.
    PolicyConfig again = PolicyConfig::from_json_text(config.to_json_text(), "again");
    CHECK(again.end_token_ids == config.end_token_ids);
    again.add_generation_config(config.generation_config_text(), "again");
    CHECK(again.end_token_ids == config.end_token_ids);
    return config.end_token_ids;
  };
  using Ids = std::vector<int64_t>;
  CHECK(ids(3, 5) == Ids{3, 5});
  CHECK(ids(3, {5, 3}) == Ids{3, 5});
  CHECK(ids({7, 3, 7}, {5, 3}) == Ids{7, 3, 5});
  CHECK(ids(nullptr, {5, 3}) == Ids{5, 3});
  CHECK(ids({4, 2}, nullptr) == Ids{4, 2});
  CHECK(ids(nullptr, nlohmann::json::array()).empty());
  CHECK_THROWS_AS(PolicyConfig{}.first_end_token(), InputError);
  PolicyConfig config = PolicyConfig::from_json_text(valid().dump(), "x");
  for (const char* bad : {R"({"eos_token_id": 100})", R"({"eos_token_id": [1, 99]})",
                          R"({"eos_token_id": "1"})", R"([1])", "{"})
    CHECK_THROWS_WITH(config.add_generation_config(bad, "generation_config.json"),
                      Catch::Matchers::StartsWith("generation_config.json: "));
}

TEST_CASE("theta is found where newer files keep it, and a window that is switched off is no window") {
  nlohmann::json json = valid();
  json.erase("rope_theta");
  json["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 123.0}};
  json["sliding_window"] = 4096;
  json["use_sliding_window"] = false;
  CHECK(PolicyConfig::from_json_text(json.dump(), "x").rope_theta == 123.0);
}

}  // namespace
}  // namespace bicrl
