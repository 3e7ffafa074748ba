// A policy's config.json, and the same bytes as its generation_config.json.
#include "policy/policy_config.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bicrl;
  const std::string json(fuzz::as_text(data, size));
  PolicyConfig config;
  if (!fuzz::accepts([&] { config = PolicyConfig::from_json_text(json, "fuzz.json"); })) return 0;
  BICRL_CHECK(PolicyConfig::from_json_text(config.to_json_text(), "again.json") == config, json);
  config.parameter_count();
  if (!fuzz::accepts([&] { config.add_generation_config(json, "generation.json"); })) return 0;
  PolicyConfig again = PolicyConfig::from_json_text(config.to_json_text(), "again.json");
  again.add_generation_config(config.generation_config_text(), "again.json");
  BICRL_CHECK(again.end_token_ids == config.end_token_ids, json);
  return 0;
}
