#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "rollout/decoding_settings.h"
#include "rollout/prompt_tokens.h"

namespace bicrl {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("decoding settings are read from the configuration", "[decoding_settings]") {
  const auto document = ConfigDocument::from_text(
      "max_new_tokens: 60\ntemperature: 0.5\ntop_k: 7\ntop_p: 0.9\ndenoise_steps: 2\n"
      "strategy: low_confidence_static\nthreshold: 0.8\nreference_confidence: true\nscaffold: prompt\n"
      "max_active: 3\ncache_tokens: 4096\nprefill_tokens: 128\n",
      "test.yaml");
  const DecodingSettings s = DecodingSettings::from_config(document.root());
  document.finish();
  CHECK(s.max_new_tokens == 60);
  CHECK(s.sampling.temperature == 0.5);
  CHECK(s.sampling.top_k == 7);
  CHECK(s.sampling.top_p == 0.9);
  CHECK(s.sampling.reference_confidence);
  CHECK(s.denoise_steps == 2);
  CHECK(s.acceptance.strategy == AcceptanceStrategy::kLowConfidenceStatic);
  CHECK(s.acceptance.threshold == 0.8);
  CHECK(s.scaffold == Scaffold::kPrompt);
  CHECK(s.max_active == 3);
  CHECK(s.cache_tokens == 4096);
  CHECK(s.prefill_tokens == 128);
}

TEST_CASE("settings out of range are refused by key", "[decoding_settings]") {
  const auto read = [](const std::string& yaml) {
    return DecodingSettings::from_config(ConfigDocument::from_text(yaml, "test.yaml").root());
  };
  CHECK_THROWS_WITH(read("temperature: -1"), ContainsSubstring("temperature"));
  CHECK_THROWS_WITH(read("top_p: 1.5"), ContainsSubstring("top_p"));
  CHECK_THROWS_WITH(read("strategy: best"), ContainsSubstring("strategy"));
  CHECK_THROWS_WITH(read("max_active: 0"), ContainsSubstring("max_active"));
}

TEST_CASE("a clamped prefix is encoded behind the prompt, with the seam between them",
          "[decoding_settings]") {
  const Tokenizer tokenizer = Tokenizer::from_folder(BICRL_SOURCE_DIR "/tests/rollout/tiny_tokenizer");
  Prompt prompt;
  prompt.task_id = "t";
  prompt.text = "x\"";
  prompt.clamp_prefix = "\"\"\n";
  prompt.clamp_delimiter = "\"\"\"";
  prompt.clamp_suffix = "\nend";
  const GenerationRequest request = make_request(prompt, tokenizer, 4, 5);
  auto expected = tokenizer.encode(prompt.text);
  for (int64_t id : tokenizer.encode(prompt.clamp_prefix)) expected.push_back(id);
  CHECK(request.prompt_tokens == expected);
  CHECK(request.prompt_tokens != tokenizer.encode(prompt.text + prompt.clamp_prefix));
  CHECK(tokenizer.decode(request.prompt_tokens) == prompt.text + prompt.clamp_prefix);
  CHECK(request.clamp_prefix == prompt.clamp_prefix);
  CHECK(request.delimiter == prompt.clamp_delimiter);
  CHECK(request.clamp_suffix == prompt.clamp_suffix);
  CHECK(request.group == 4);
  CHECK(request.key == 5);
}

}  // namespace bicrl
