#include "trainer/update/packing/sft.h"

#include <algorithm>
#include <cmath>

#include "common/error.h"
#include "common/rng.h"

namespace bicrl {
namespace {

// For each of `count` tokens whether it is masked: independent draws with probability p, given that there is
// one.
std::vector<bool> draw_masks(int64_t count, double p, RandomStream& random) {
  std::vector<bool> masks;
  bool any = false;
  for (int64_t left = count; left > 0; --left) {
    const double probability = any ? p : p / -std::expm1(static_cast<double>(left) * std::log1p(-p));
    masks.push_back(random.uniform() < probability || (!any && left == 1));
    any = any || masks.back();
  }
  return masks;
}

}  // namespace

SftSettings SftSettings::from_config(const ConfigSection& section) {
  SftSettings s;
  s.smallest_noise = section.real("smallest_noise", s.smallest_noise, 1e-6, 0.999);
  return s;
}

SftSample make_sft_sample(std::vector<int64_t> prompt, const std::vector<int64_t>& response,
                          const PolicyConfig& config, uint64_t noise_key) {
  // Nothing can be as likely as that: it is forbidden where text is generated.
  if (std::ranges::find(response, config.mask_token_id) != response.end())
    throw InputError("the response holds the policy's mask token");
  SftSample sample;
  sample.prompt_tokens = static_cast<int64_t>(prompt.size());
  sample.response_tokens = static_cast<int64_t>(response.size());
  sample.tokens = std::move(prompt);
  sample.tokens.insert(sample.tokens.end(), response.begin(), response.end());
  const int64_t fill = config.first_end_token();
  while (static_cast<int64_t>(sample.tokens.size()) % config.block_size != 0) sample.tokens.push_back(fill);
  sample.noise_key = noise_key;
  return sample;
}

LiveSequence sft_sequence(const SftSample& sample, const SftSettings& settings, const PolicyConfig& config) {
  const int64_t b = config.block_size;
  const auto length = static_cast<int64_t>(sample.tokens.size());
  BICRL_CHECK(length % b == 0 && sample.prompt_tokens + sample.response_tokens <= length);
  LiveSequence sequence;
  const int64_t trained = sample.response_tokens;
  const int64_t first_block = sample.prompt_tokens / b;
  sequence.shared.assign(sample.tokens.begin(), sample.tokens.begin() + first_block * b);
  if (trained == 0) return sequence;

  RandomStream random(sample.noise_key);
  const double p = (1 - settings.smallest_noise) * random.uniform() + settings.smallest_noise;
  std::vector<bool> masked = draw_masks(trained, p, random);
  while (sample.prompt_tokens + static_cast<int64_t>(masked.size()) < length)
    masked.push_back(random.uniform() < p);
  const double weight = -std::expm1(static_cast<double>(trained) * std::log1p(-p)) / p;

  for (int64_t block = first_block; block * b < length; ++block) {
    NoisyBlock noisy;
    noisy.block = block;
    for (int64_t position = block * b; position < (block + 1) * b; ++position) {
      const int64_t index = position - sample.prompt_tokens;
      const bool hidden = index >= 0 && masked[static_cast<size_t>(index)];
      noisy.inputs.push_back(hidden ? config.mask_token_id : sample.tokens[position]);
      if (hidden && index < trained)
        noisy.scored.push_back({position - block * b, sample.tokens[position], weight, 0.0});
    }
    if (!noisy.scored.empty()) sequence.noisy.push_back(std::move(noisy));
  }
  sequence.clean.assign(sample.tokens.begin() + first_block * b,
                        sample.tokens.begin() + sequence.noisy.back().block * b);
  return sequence;
}

}  // namespace bicrl
