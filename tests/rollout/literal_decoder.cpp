#include "tests/rollout/literal_decoder.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/rng.h"
#include "tests/support/dense_attention.h"

namespace bicrl::testing {
namespace {

struct Draw {
  int64_t token = 0;
  double log_prob = 0, confidence = 0, entropy = 0, lot = 0;
};

std::vector<double> policy_probabilities(const float* logits, int64_t vocab, int64_t assigned,
                                         int64_t mask_token, double temperature) {
  std::vector<double> probs(vocab, 0.0);
  double highest = -1e300, total = 0;
  for (int64_t i = 0; i < assigned; ++i) {
    if (i != mask_token) highest = std::max(highest, logits[i] / temperature);
  }
  for (int64_t i = 0; i < assigned; ++i) {
    if (i != mask_token) total += probs[i] = std::exp(logits[i] / temperature - highest);
  }
  for (double& p : probs) p /= total;
  return probs;
}

std::vector<double> restricted(const std::vector<double>& probs, const SamplingSettings& settings) {
  std::vector<int64_t> order(probs.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return probs[a] > probs[b]; });
  size_t kept = order.size();
  if (settings.top_k > 0) kept = std::min(kept, static_cast<size_t>(settings.top_k));
  double total = 0, before = 0;
  for (size_t i = 0; i < kept; ++i) total += probs[order[i]];
  std::vector<double> out(probs.size(), 0.0);
  for (size_t i = 0; i < kept && (i == 0 || before < settings.top_p * total); ++i) {
    out[order[i]] = probs[order[i]];
    before += probs[order[i]];
  }
  return out;
}

Draw draw(const std::vector<double>& probs, double uniform, const SamplingSettings& settings) {
  Draw out;
  const std::vector<double> weights = restricted(probs, settings);
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (settings.temperature == 0) {
    out.token = std::max_element(probs.begin(), probs.end()) - probs.begin();
  } else {
    double sum = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      sum += weights[i];
      if (sum > uniform * total) {
        out.token = static_cast<int64_t>(i);
        break;
      }
    }
  }
  out.log_prob = std::log(probs[out.token]);
  for (double p : probs) out.entropy -= p > 0 ? p * std::log(p) : 0.0;
  out.confidence = settings.reference_confidence ? weights[out.token] / total : probs[out.token];
  return out;
}

std::vector<int64_t> choose(const std::vector<Draw>& draws, std::vector<int64_t> masked, int64_t quota,
                            const AcceptanceSettings& settings) {
  using Strategy = AcceptanceStrategy;
  if (settings.strategy == Strategy::kLowConfidenceDynamic) {
    std::vector<int64_t> sure;
    for (int64_t i : masked) {
      if (draws[i].confidence > settings.threshold) sure.push_back(i);
    }
    if (static_cast<int64_t>(sure.size()) >= quota) return sure;
  }
  std::stable_sort(masked.begin(), masked.end(), [&](int64_t a, int64_t b) {
    if (settings.strategy == Strategy::kSequential) return a < b;
    if (settings.strategy == Strategy::kEntropyBounded) return draws[a].entropy < draws[b].entropy;
    if (settings.strategy == Strategy::kRandom) return draws[a].lot > draws[b].lot;
    return draws[a].confidence > draws[b].confidence;
  });
  int64_t count = std::min(quota, static_cast<int64_t>(masked.size()));
  if (settings.strategy == Strategy::kEntropyBounded) {
    double sum = 0;
    for (int64_t i = 0; i < static_cast<int64_t>(masked.size()); ++i) {
      sum += draws[masked[i]].entropy;
      if (sum <= settings.entropy_bound) count = std::max(count, i + 1);
    }
  }
  masked.resize(count);
  return masked;
}

// Accepts anew with every other id drawn at the position, of `kept`, those that can be drawn.
void try_other_ids(LiteralRejection& rejection, int64_t position, const std::vector<double>& kept,
                   std::vector<Draw> draws, const std::vector<int64_t>& masked, int64_t quota,
                   const AcceptanceSettings& settings) {
  const double total = std::accumulate(kept.begin(), kept.end(), 0.0);
  for (size_t id = 0; id < kept.size(); ++id) {
    if (kept[id] == 0) continue;
    draws[position].confidence = kept[id];
    const std::vector<int64_t> chosen = choose(draws, masked, quota, settings);
    if (std::find(chosen.begin(), chosen.end(), position) == chosen.end()) continue;
    rejection.excluded.push_back(static_cast<int64_t>(id));
    rejection.excluded_mass += kept[id] / total;
  }
}

}  // namespace

LiteralResponse decode_literally(const Transformer& policy, int64_t assigned_ids,
                                 const std::vector<int64_t>& end_tokens, const GenerationRequest& request,
                                 const DecodingSettings& settings) {
  const at::NoGradGuard no_grad;
  const PolicyConfig& config = policy.config();
  const int64_t b = config.block_size, prompt = static_cast<int64_t>(request.prompt_tokens.size());
  const int64_t steps = settings.denoise_steps == 0 ? b : settings.denoise_steps;
  LiteralResponse out;
  out.tokens = request.prompt_tokens;
  for (int64_t start = prompt / b * b;; start += b) {
    const int64_t given = static_cast<int64_t>(out.tokens.size());
    std::vector<int64_t> masked;
    for (int64_t i = given; i < start + b; ++i) masked.push_back(i - start);
    out.tokens.resize(start + b, config.mask_token_id);
    out.steps.resize(start + b - prompt);
    out.log_probs.resize(start + b - prompt);
    for (int64_t k = 0; !masked.empty(); ++k) {
      ++out.denoise_steps;
      DenseMaskAttention attention(block_causal_mask(start + b, b, at::kCPU));
      const at::Tensor logits = policy.logits(
          policy.hidden(at::tensor(out.tokens, at::kLong), at::arange(start + b, at::kLong), attention));
      std::vector<Draw> draws(b);
      std::vector<std::vector<double>> distributions(b), kept(b);
      for (int64_t i : masked) {
        const double uniform = uniform_at(mix_key({request.key, static_cast<uint64_t>(start + i)}),
                                          static_cast<uint64_t>(out.denoise_steps));
        const double temperature = settings.sampling.temperature == 0 ? 1.0 : settings.sampling.temperature;
        distributions[i] = policy_probabilities(logits[start + i].const_data_ptr<float>(), config.vocab_size,
                                                assigned_ids, config.mask_token_id, temperature);
        draws[i] = draw(distributions[i], uniform, settings.sampling);
        kept[i] = restricted(distributions[i], settings.sampling);
        if (settings.recorded != CandidateTerms::kNone)
          draws[i].log_prob -= std::log(std::accumulate(kept[i].begin(), kept[i].end(), 0.0));
        draws[i].lot = uniform_at(mix_key({request.key, static_cast<uint64_t>(start + i)}),
                                  static_cast<uint64_t>(out.denoise_steps) | uint64_t{1} << 32);
      }
      const int64_t quota = b / steps + (k < b % steps ? 1 : 0);
      const std::vector<int64_t> chosen = choose(draws, masked, quota, settings.acceptance);
      for (int64_t i : masked) {
        if (std::find(chosen.begin(), chosen.end(), i) != chosen.end()) continue;
        LiteralRejection& rejection = out.rejections.emplace_back();
        rejection = {start + i - prompt, out.denoise_steps, draws[i].token, draws[i].log_prob, {}, 0};
        if (settings.recorded == CandidateTerms::kRejected)
          try_other_ids(rejection, i, kept[i], draws, masked, quota, settings.acceptance);
      }
      for (int64_t i : chosen) {
        out.tokens[start + i] = draws[i].token;
        out.steps[start + i - prompt] = out.denoise_steps;
        out.log_probs[start + i - prompt] = draws[i].log_prob;
        std::erase(masked, i);
      }
    }
    const auto first_new = out.tokens.begin() + std::max(prompt, start);
    if (std::find_first_of(first_new, out.tokens.end(), end_tokens.begin(), end_tokens.end()) !=
        out.tokens.end())
      return out;
    if (start + b - prompt >= settings.max_new_tokens) return out;
  }
}

}  // namespace bicrl::testing
