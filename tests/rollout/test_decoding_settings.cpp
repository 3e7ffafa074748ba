#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "rollout/decoding_settings.h"
#include "rollout/prompt_tokens.h"
#include "tests/support/support.h"

namespace bicrl {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("decoding settings are read from the configuration", "[decoding_settings]") {
  const auto document = ConfigDocument::from_text(
      "max_new_tokens: 60\ntemperature: 0.5\ntop_k: 7\ntop_p: 0.9\ndenoise_steps: 2\n"
      "strategy: low_confidence_dynamic\nthreshold: 0.8\nreference_confidence: true\nscaffold: prompt\n"
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
  CHECK(s.acceptance.strategy == AcceptanceStrategy::kLowConfidenceDynamic);
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

TEST_CASE("settings that would do nothing are refused, with the reason", "[decoding_settings]") {
  const auto read = [](const std::string& yaml) -> std::string {
    try {
      DecodingSettings::from_config(ConfigDocument::from_text(yaml, "test.yaml").root());
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  for (const std::string& strategy : acceptance_strategy_names()) {
    const std::string head = "strategy: " + strategy + "\n";
    const bool dynamic = strategy == "low_confidence_dynamic";
    const bool by_confidence = dynamic || strategy == "low_confidence_static";
    const std::string reason = ": has no effect with 'strategy: " + strategy + "'";
    CHECK(read(head + "threshold: 0.8") == (dynamic ? "accepted" : "test.yaml:2: threshold" + reason));
    CHECK(read(head + "entropy_bound: 0.5") ==
          (strategy == "entropy_bounded" ? "accepted" : "test.yaml:2: entropy_bound" + reason));
    CHECK(read(head + "top_k: 5\nreference_confidence: true") ==
          (by_confidence
               ? "accepted"
               : "test.yaml:3: reference_confidence: has no effect with a strategy that does not go "
                 "by confidence"));
    // Every strategy takes its quota from the number of steps.
    CHECK(read(head + "denoise_steps: 2") == "accepted");
    // What is printed can be read again.
    const auto document = ConfigDocument::from_text(head, "test.yaml");
    DecodingSettings::from_config(document.root());
    CHECK(read(document.resolved_yaml()) == "accepted");
  }
  CHECK(read("entropy_bound: 0.5") ==
        "test.yaml:1: entropy_bound: has no effect with 'strategy: low_confidence_dynamic'");
  CHECK_THAT(
      read("reference_confidence: true"),
      ContainsSubstring("test.yaml:1: reference_confidence: has no effect without 'top_k' or 'top_p'"));
  CHECK(read("temperature: 0\ntop_k: 5") == "test.yaml:2: top_k: has no effect at temperature 0");
  CHECK(read("temperature: 0\ntop_p: 0.9") == "test.yaml:2: top_p: has no effect at temperature 0");
  CHECK(read("temperature: 0\ntop_k: 0\ntop_p: 1") == "accepted");
  CHECK(read("temperature: 0\ntop_p: 0.9\nreference_confidence: true") == "accepted");
}

TEST_CASE("a clamped prefix is encoded behind the prompt, with the seam between them",
          "[decoding_settings]") {
  const Tokenizer tokenizer = Tokenizer::from_folder(testing::source_path("tests/rollout/tiny_tokenizer"));
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
