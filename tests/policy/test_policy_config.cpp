#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files.h"
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
    CHECK(config.eos_token_id == 151643);
    CHECK(PolicyConfig::from_json_text(config.to_json_text(), "copy") == config);
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
                                     {"eos_token_id", {1, 2}},
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
  for (const char* field : {"vocab_size", "hidden_size", "head_dim", "mask_token_id"}) {
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
