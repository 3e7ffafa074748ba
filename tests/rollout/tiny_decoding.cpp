#include "tests/rollout/tiny_decoding.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "common/rng.h"
#include "tests/support/support.h"
#include "tests/support/tiny_policy_config.h"

namespace bicrl::testing {

const Tokenizer& tiny_tokenizer() {
  static const Tokenizer tokenizer =
      Tokenizer::from_folder(bicrl::testing::source_path("tests/rollout/tiny_tokenizer"));
  return tokenizer;
}

PolicyConfig tiny_config(std::vector<int64_t> end_tokens, int64_t block_size) {
  return tiny_policy_config(std::move(end_tokens), block_size);
}

Transformer tiny_policy(const PolicyConfig& config, at::Device device) {
  at::set_num_threads(1);  // threads that spin for such small operators slow each other down
  return Transformer::random(config, 11, device, at::kFloat);
}

std::vector<GenerationRequest> make_requests(int64_t prompts, int64_t samples, int64_t first_length) {
  std::vector<GenerationRequest> requests;
  for (int64_t p = 0; p < prompts; ++p) {
    RandomStream stream(mix_key({31, static_cast<uint64_t>(p)}));
    std::vector<int64_t> prompt;
    for (int64_t i = 0; i < first_length + 3 * p; ++i)
      prompt.push_back(static_cast<int64_t>(stream.below(264)));
    for (int64_t s = 0; s < samples; ++s) {
      GenerationRequest request;
      request.task_id = "task" + std::to_string(p);
      request.group = p;
      request.key = mix_key({77, static_cast<uint64_t>(p), static_cast<uint64_t>(s)});
      request.prompt_tokens = prompt;
      requests.push_back(request);
    }
  }
  return requests;
}

std::vector<Rollout> generate(const Transformer& policy, const DecodingSettings& settings,
                              const std::vector<GenerationRequest>& requests,
                              DecodingStatistics* statistics) {
  std::vector<Rollout> rollouts(requests.size());
  std::vector<int> finished(requests.size(), 0);
  const DecodingStatistics counted = DecodeEngine(policy, tiny_tokenizer())
                                         .generate(settings, requests, 9, [&](size_t index, Rollout rollout) {
                                           ++finished.at(index);
                                           rollouts[index] = std::move(rollout);
                                         });
  CHECK(std::all_of(finished.begin(), finished.end(), [](int n) { return n == 1; }));
  if (statistics) *statistics = counted;
  return rollouts;
}

std::vector<Rollout> rollouts_of(DecodeEngine& engine, const DecodingSettings& settings,
                                 const std::vector<GenerationRequest>& requests) {
  std::vector<Rollout> rollouts(requests.size());
  engine.generate(settings, requests, 9,
                  [&](size_t index, Rollout rollout) { rollouts[index] = std::move(rollout); });
  return rollouts;
}

bool identical(const Rollout& a, const Rollout& b) {
  if (a.log_probs.size() != b.log_probs.size()) return false;
  for (size_t i = 0; i < a.log_probs.size(); ++i) {
    if (std::abs(a.log_probs[i] - b.log_probs[i]) > 1e-5) return false;
  }
  return a.tokens == b.tokens && a.step_map == b.step_map && a.finish == b.finish && a.text == b.text;
}

}  // namespace bicrl::testing
