#include "tests/trainer/fixtures.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>

#include "common/rng.h"
#include "policy/distribution.h"
#include "tests/support/dense_attention.h"

namespace bicrl::testing {
namespace {

at::Tensor integers(const std::vector<int64_t>& values) {
  return at::tensor(values, at::TensorOptions().dtype(at::kLong));
}

void assign_steps(Rollout& r, const PolicyConfig& config, int64_t accepted_per_step, RandomStream& random) {
  int32_t step = 0;
  const auto tokens = static_cast<int64_t>(r.tokens.size());
  for (int64_t begin = r.prompt_tokens / config.block_size * config.block_size; begin < tokens;
       begin += config.block_size) {
    std::vector<int64_t> open;
    for (int64_t p = std::max(begin, r.prompt_tokens); p < begin + config.block_size; ++p) open.push_back(p);
    random.shuffle(open);
    for (size_t next = 0; next < open.size();) {
      ++step;
      for (uint64_t n = 1 + random.below(accepted_per_step); n > 0 && next < open.size(); --n, ++next) {
        r.step_map[open[next] - r.prompt_tokens] = step;
      }
    }
  }
  r.denoise_steps = step;
}

// Replays the trace one denoise step at a time.
void decode_log_probs(Rollout& r, const Transformer& policy, double temperature) {
  const int64_t b = policy.config().block_size;
  for (int64_t begin = r.prompt_tokens / b * b; begin < static_cast<int64_t>(r.tokens.size()); begin += b) {
    std::map<int64_t, std::vector<int64_t>> accepted;  // step -> positions
    std::vector<int64_t> block(r.tokens.begin() + begin, r.tokens.begin() + begin + b);
    for (int64_t p = std::max(begin, r.prompt_tokens); p < begin + b; ++p) {
      accepted[std::abs(r.step_map[p - r.prompt_tokens])].push_back(p);
      block[p - begin] = policy.config().mask_token_id;
    }
    const std::vector<int64_t> context(r.tokens.begin(), r.tokens.begin() + begin);
    for (const auto& [step, positions] : accepted) {
      const auto log_probs = block_log_probs(policy, context, block, temperature);
      for (int64_t p : positions) {
        block[p - begin] = r.tokens[p];
        const float value = log_probs[p - begin][r.tokens[p]].item<float>();
        if (r.step_map[p - r.prompt_tokens] > 0) r.log_probs[p - r.prompt_tokens] = value;
      }
    }
  }
}

}  // namespace

PolicyConfig tiny_config(int64_t block_size) {
  PolicyConfig c;
  c.vocab_size = kVocab;
  c.hidden_size = 16;
  c.layers = 2;
  c.heads = 4;
  c.kv_heads = 2;
  c.head_dim = 8;
  c.intermediate_size = 24;
  c.initializer_range = 0.3;
  c.tie_word_embeddings = false;
  c.block_size = block_size;
  c.mask_token_id = 0;
  c.end_token_ids = {kEnd};
  return c;
}

Transformer tiny_policy(const PolicyConfig& config, uint64_t seed, at::ScalarType dtype) {
  return Transformer::random(config, seed, at::kCPU, dtype);
}

at::Tensor tiny_allowed(const PolicyConfig& config) { return allowed_ids(config, kAssigned, at::kCPU); }

LoraConfig tiny_lora() {
  LoraConfig lora;
  lora.rank = 3;
  lora.alpha = 5;
  return lora;
}

Experience random_experience(const PolicyConfig& config, const TraceShape& shape, uint64_t key,
                             double advantage, const Transformer* policy, double temperature) {
  RandomStream random(key);
  Experience e;
  e.advantage = advantage;
  Rollout& r = e.rollout;
  r.task_id = "random";
  r.prompt_tokens = shape.prompt_tokens;
  const int64_t length =
      (shape.prompt_tokens / config.block_size + shape.response_blocks) * config.block_size;
  for (int64_t i = 0; i < length; ++i)
    r.tokens.push_back(2 + static_cast<int64_t>(random.below(kAssigned - 2)));
  // Equal prompts for equal lengths: they form a group.
  RandomStream prompt(mix_key({99, static_cast<uint64_t>(shape.prompt_tokens)}));
  for (int64_t i = 0; i < shape.prompt_tokens; ++i)
    r.tokens[i] = 2 + static_cast<int64_t>(prompt.below(kAssigned - 2));
  r.step_map.assign(length - shape.prompt_tokens, 0);
  r.log_probs.assign(length - shape.prompt_tokens, 0.0f);
  assign_steps(r, config, shape.accepted_per_step, random);
  if (shape.end_offset >= 0) {
    const int64_t end = length - config.block_size + shape.end_offset;
    r.tokens[end] = kEnd;
    r.finish = FinishReason::kEndToken;
    for (int64_t p = end + 1; p < length; ++p) r.step_map[p - r.prompt_tokens] *= -1;
  }
  for (size_t i = 0; i < r.step_map.size(); ++i) {
    if (r.step_map[i] > 0) r.log_probs[i] = static_cast<float>(-3 + 0.3 * random.normal());
  }
  if (policy != nullptr) decode_log_probs(r, *policy, temperature);
  return e;
}

std::vector<Experience> random_experiences(const PolicyConfig& config, uint64_t key,
                                           const Transformer* policy, double temperature) {
  RandomStream random(key);
  std::vector<Experience> all;
  for (int64_t remainder = 0; remainder < config.block_size; ++remainder) {
    const int64_t prompt = config.block_size * static_cast<int64_t>(random.below(3)) + remainder;
    for (int64_t i = 0; i < 3; ++i) {
      TraceShape shape;
      shape.prompt_tokens = prompt;
      shape.response_blocks = 1 + static_cast<int64_t>(random.below(4));
      shape.accepted_per_step = 1 + static_cast<int64_t>(random.below(3));
      // The end token must not fall into the prompt's tail of a one-block response.
      if (i > 0)
        shape.end_offset =
            shape.response_blocks > 1 ? static_cast<int64_t>(random.below(config.block_size)) : remainder;
      all.push_back(random_experience(config, shape, random.next(), random.normal(), policy, temperature));
      all.back().group = remainder;
      all.back().sample = i;
    }
  }
  return all;
}

at::Tensor block_log_probs(const Transformer& policy, const std::vector<int64_t>& context,
                           const std::vector<int64_t>& block, double temperature) {
  const at::NoGradGuard guard;
  std::vector<int64_t> tokens = context;
  tokens.insert(tokens.end(), block.begin(), block.end());
  const auto count = static_cast<int64_t>(tokens.size());
  DenseMaskAttention attention(block_causal_mask(count, policy.config().block_size, at::kCPU));
  const auto hidden = policy.hidden(integers(tokens), at::arange(count, at::kLong), attention);
  const auto rows =
      hidden.narrow(0, static_cast<int64_t>(context.size()), static_cast<int64_t>(block.size()));
  return policy_log_softmax(policy.logits(rows), tiny_allowed(policy.config()), temperature);
}

UpdateStatistics reinforce(PolicyUpdater& updater, const std::vector<Experience>& mine,
                           ControlPlane& control) {
  const StepKeys shares = all_gather_lists(control, shares_of(mine));
  return over_ranks(updater.reinforce(mine, shares), control);
}

UpdateStatistics supervise(PolicyUpdater& updater, const std::vector<SftSample>& mine,
                           ControlPlane& control) {
  int64_t tokens = 0;
  for (const SftSample& sample : mine) tokens += sample.response_tokens;
  int64_t all_tokens = 0;
  for (int64_t part : all_gather_values(control, tokens)) all_tokens += part;
  return over_ranks(updater.supervise({mine, all_tokens}), control);
}

UpdateStatistics reinforce(PolicyUpdater& updater, const std::vector<Experience>& experiences) {
  SingleProcessControl alone;
  return reinforce(updater, experiences, alone);
}

UpdateStatistics supervise(PolicyUpdater& updater, const std::vector<SftSample>& samples) {
  SingleProcessControl alone;
  return supervise(updater, samples, alone);
}

UpdateStatistics over_ranks(const UpdateTotals& mine, ControlPlane& control) {
  return {mine.objective_figures(), all_gather_lists(control, mine.values())};
}

std::shared_ptr<const Objective> objective_of(const std::string& yaml) {
  const auto document = ConfigDocument::from_text(yaml, "test.yaml");
  auto objective = make_objective(document.root());
  document.finish();
  return objective;
}

UpdaterSettings still_settings() {
  UpdaterSettings s;
  s.learning_rate.peak = 0;
  s.max_grad_norm = 0;
  s.tokens_per_pack = 100000;
  return s;
}

Gradient gradient_of(Transformer& policy, const std::vector<Experience>& experiences,
                     const UpdaterSettings& settings, const Transformer* reference) {
  OneRank alone;
  PolicyUpdater updater(policy, tiny_allowed(policy.config()), settings, alone.control, alone.tensors);
  updater.begin_phase(settings, reference);
  Gradient result;
  updater.observe_gradients([&](const std::vector<at::Tensor>& gradients) { result.flat = flat(gradients); });
  result.statistics = reinforce(updater, experiences);
  return result;
}

namespace {

at::Tensor flat_of(const NamedTensors& values) {
  std::vector<at::Tensor> flat;
  for (const auto& [name, value] : values) flat.push_back(value.detach().flatten());
  return at::cat(flat);
}

}  // namespace

at::Tensor flat_values(const Transformer& policy) { return flat_of(policy.parameters()); }
at::Tensor flat_adapters(const Transformer& policy) { return flat_of(policy.trained().values()); }

at::Tensor flat_part(const ParameterStore& store, ParameterPart part) {
  std::vector<at::Tensor> flat;
  for (size_t i = 0; i < store.values().size(); ++i)
    flat.push_back(store.entry_part(part, static_cast<int64_t>(i)).flatten());
  return at::cat(flat);
}

at::Tensor flat(const std::vector<at::Tensor>& by_parameter) {
  std::vector<at::Tensor> flat;
  for (const at::Tensor& one : by_parameter) flat.push_back(one.flatten());
  return at::cat(flat);
}

void set_flat_gradient(ParameterStore& store, const at::Tensor& flat) {
  int64_t next = 0;
  for (size_t i = 0; i < store.values().size(); ++i) {
    const at::Tensor part = store.entry_part(ParameterPart::kGradient, static_cast<int64_t>(i));
    part.copy_(flat.narrow(0, next, part.numel()).view(part.sizes()));
    next += part.numel();
  }
}

void copy_parameters(const Transformer& from, Transformer& to) {
  for (size_t i = 0; i < from.parameters().size(); ++i)
    to.parameters()[i].second.copy_(from.parameters()[i].second);
}

at::Tensor flat_gradient(Transformer& policy, const std::function<at::Tensor()>& loss) {
  std::vector<at::Tensor> flat;
  const GradientScope scope(policy.store());
  loss().backward();
  for (const auto& [name, parameter] : policy.parameters())
    flat.push_back((parameter.grad().defined() ? parameter.grad() : at::zeros_like(parameter))
                       .detach()
                       .to(policy.store().wide_dtype())
                       .flatten());
  return at::cat(flat);
}

}  // namespace bicrl::testing
