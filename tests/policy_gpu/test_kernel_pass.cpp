// A pass by kernels, and an update by kernels, against torch's operators in bf16 and in fp64, on a GPU.
#include "tests/trainer/fixtures.h"

#include <ATen/core/grad_mode.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstdio>
#include <map>

#include "policy/distribution.h"
#include "tests/policy_gpu/gpu_tensors.h"
#include "trainer/update/gpu/gpu_optimizer.h"
#include "trainer/update/gpu/kernel_pass.h"
#include "trainer/update/operator_pass.h"

namespace bicrl {
namespace {

using namespace testing;
const at::Device kGpu(at::kCUDA, 0);

PolicyConfig some_config(int64_t head_dim, bool tied) {
  PolicyConfig c = tiny_config(4);
  c.vocab_size = 13000;  // two tiles of the head
  c.mask_token_id = 12999;
  c.hidden_size = 512;
  c.layers = 4;
  c.heads = 8;
  c.kv_heads = 4;
  c.head_dim = head_dim;
  c.intermediate_size = 1024;
  c.initializer_range = 0.05;
  c.tie_word_embeddings = tied;
  return c;
}

Transformer some_policy(const PolicyConfig& config, at::ScalarType dtype,
                        const std::optional<LoraConfig>& lora) {
  Transformer policy = Transformer::random(config, 8, at::kCPU, at::kBFloat16);
  for (const auto& [name, value] : policy.parameters())
    if (value.dim() == 1) value.mul_(at::linspace(0.5, 1.5, value.numel()));
  Transformer on_device = Transformer::from_tensors(
      config, {policy.parameters().begin(), policy.parameters().end()}, kGpu, dtype);
  if (!lora) return on_device;
  policy.add_adapters(*lora, 5);
  on_device.add_adapters(*lora, 5);
  at::manual_seed(1);
  for (size_t i = 0; i < policy.trained().values().size(); ++i) {
    const at::Tensor& value = policy.trained().values()[i].second;
    if (i % 2 == 1) value.copy_(at::randn(value.sizes()) * 0.05);
    on_device.trained().values()[i].second.copy_(value);
  }
  return on_device;
}

// Every third token excludes its label, every sixth two ids more, and some so many that their mass is a
// share.
void exclude_some(std::vector<LiveSequence>& sequences) {
  int64_t number = 0;
  for (LiveSequence& sequence : sequences)
    for (NoisyBlock& noisy : sequence.noisy)
      for (ScoredToken& token : noisy.scored) {
        const int64_t i = number++;
        if (i % 3 == 0) token.excluded.push_back(token.label);
        if (i % 6 == 0) token.excluded.insert(token.excluded.end(), {token.label + 1, token.label + 6000});
        if (i % 48 == 0)
          for (int64_t id = 1; id <= 4000; ++id) token.excluded.push_back(token.label + 1 + id);
      }
}

std::vector<LiveSequence> some_sequences(const PolicyConfig& config, bool excludes = false) {
  std::vector<LiveSequence> sequences;
  for (uint64_t i = 0; i < 9; ++i) {
    TraceShape shape;
    shape.prompt_tokens = 37 + 11 * static_cast<int64_t>(i / 3);
    shape.response_blocks = 40 + static_cast<int64_t>(i);
    sequences.push_back(
        rollout_sequence(random_experience(config, shape, i / 3, i % 2 == 0 ? 0.7 : -0.9), config, 1));
    for (NoisyBlock& noisy : sequences.back().noisy)
      for (ScoredToken& token : noisy.scored)
        token.label = static_cast<int64_t>(17 * (i + 1) + 1301 * token.offset);
  }
  if (excludes) exclude_some(sequences);
  return sequences;
}

class Sums : public GradientSink {
 public:
  explicit Sums(const ParameterStore& store) : store_(store) {
    for (const ParameterGroup& group : store.layout().groups())
      sums_.push_back(at::zeros({group.size}, at::TensorOptions(kGpu).dtype(at::kFloat)));
  }
  at::Tensor sum(int64_t group) override { return sums_.at(static_cast<size_t>(group)); }
  void complete(int64_t) override {}
  std::map<std::string, at::Tensor> gradients() const {
    std::map<std::string, at::Tensor> all;
    for (const ParameterEntry& e : store_.layout().entries())
      all[e.name] =
          sums_[static_cast<size_t>(e.group)].narrow(0, e.offset, e.size).view(e.shape).to(at::kDouble);
    return all;
  }

 private:
  const ParameterStore& store_;
  std::vector<at::Tensor> sums_;
};

struct PassResults {
  at::Tensor log_probs, entropy;
  std::map<std::string, at::Tensor> gradients;
};

PassResults run(ScoredPass& pass, Transformer& policy, const PackedBatch& batch, double temperature) {
  std::vector<at::Tensor> log_probs, entropy;
  Sums sums(policy.trained());
  std::optional<GradientScope> scope;
  if (pass.walks_graph()) scope.emplace(policy.trained());
  pass.backward(
      batch, temperature,
      [&](const ScoredChunk& chunk) {
        log_probs.push_back(chunk.log_probs.detach().to(at::kDouble).clone());
        entropy.push_back(chunk.entropy.to(at::kDouble).clone());
        return (chunk.part(batch.advantages) * chunk.part(batch.weights) * chunk.log_probs).sum();
      },
      sums);
  PassResults r{at::cat(log_probs), at::cat(entropy), {}};
  if (!pass.walks_graph()) {
    r.gradients = sums.gradients();
    return r;
  }
  for (const auto& [name, value] : policy.trained().values())
    r.gradients[name] = value.grad().to(at::kDouble).clone();
  return r;
}

struct Gap {
  double mean = 0, most = 0;
};
Gap error_of(const at::Tensor& mine, const at::Tensor& exact) {
  const at::Tensor gap = (mine - exact).abs();
  return {gap.mean().item<double>(), gap.max().item<double>()};
}

}  // namespace

TEST_CASE("a pass by kernels is as near to fp64 as the operators' in bf16", "[kernel_pass][gpu]") {
  require_gpu();
  const int64_t head_dim = GENERATE(64, 128);
  const int kind = GENERATE(0, 1, 2);  // whole, tied, adapters
  const bool excludes = GENERATE(false, true);
  const double temperature = kind == 1 ? 0.8 : 1.0;
  const PolicyConfig config = some_config(head_dim, kind == 1);
  std::optional<LoraConfig> lora;
  if (kind == 2) {
    lora.emplace();
    lora->rank = 16;
  }
  const at::Tensor allowed = allowed_ids(config, config.vocab_size - 5, kGpu);
  const auto sequences = some_sequences(config, excludes);
  const std::vector<double> scales(sequences.size(), 1e-3);
  const PackedBatch batch = pack(sequences, scales, {.tokens_per_pack = 1 << 20, .device = kGpu})[0];
  const auto exact = [&] {
    Transformer policy = some_policy(config, at::kDouble, lora);
    OperatorPass pass(policy, allowed);
    return run(pass, policy, batch, temperature);
  }();
  Transformer policy = some_policy(config, at::kBFloat16, lora);
  const auto theirs = [&] {
    OperatorPass pass(policy, allowed);
    return run(pass, policy, batch, temperature);
  }();
  KernelPass pass(policy, allowed, Recompute::kNone);
  const PassResults ours = run(pass, policy, batch, temperature);
  INFO("heads of " << head_dim << ", kind " << kind << ", excludes ids " << excludes);
  const auto compare = [&](const std::string& name, const at::Tensor& mine, const at::Tensor& other,
                           const at::Tensor& expected, double scale) {
    const Gap a = error_of(mine, expected), b = error_of(other, expected);
    printf("%-46s error over scale: ours mean %.2e most %.2e, operators in bf16 mean %.2e most %.2e\n",
           name.c_str(), a.mean / scale, a.most / scale, b.mean / scale, b.most / scale);
    INFO(name);
    CHECK(std::isfinite(a.most));
    // Errors of a row's values go together, so that few rows say little about the mean.
    CHECK(a.mean <= (expected.dim() == 1 ? 1.3 : 1.15) * b.mean + 1e-7 * scale);
    CHECK(a.most <= 2 * b.most + 1e-6 * scale);
  };
  compare("log-probabilities", ours.log_probs, theirs.log_probs, exact.log_probs, 1);
  compare("entropies", ours.entropy, theirs.entropy, exact.entropy, 1);
  for (const auto& [name, expected] : exact.gradients) {
    const double scale = expected.pow(2).mean().sqrt().item<double>();
    REQUIRE(scale > 0);
    compare(name, ours.gradients.at(name), theirs.gradients.at(name), expected, scale);
  }
}

TEST_CASE("a pass by kernels is the same whatever is computed again, and run twice", "[kernel_pass][gpu]") {
  require_gpu();
  const bool adapts = GENERATE(false, true);
  const PolicyConfig config = some_config(128, false);
  std::optional<LoraConfig> lora;
  if (adapts) lora.emplace();
  const at::Tensor allowed = allowed_ids(config, config.vocab_size - 5, kGpu);
  const auto sequences = some_sequences(config, /*excludes=*/true);
  const std::vector<double> scales(sequences.size(), 1e-3);
  const PackedBatch batch = pack(sequences, scales, {.tokens_per_pack = 1 << 20, .device = kGpu})[0];
  Transformer policy = some_policy(config, at::kBFloat16, lora);
  const auto results = [&](Recompute recompute) {
    KernelPass pass(policy, allowed, recompute);
    return run(pass, policy, batch, 1.0);
  };
  const PassResults once = results(Recompute::kNone);
  for (const Recompute recompute : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
    INFO("recompute " << static_cast<int>(recompute));
    const PassResults again = results(recompute);
    CHECK(at::equal(again.log_probs, once.log_probs));
    for (const auto& [name, gradient] : once.gradients) {
      INFO(name);
      CHECK(at::equal(again.gradients.at(name), gradient));
    }
  }
  KernelPass pass(policy, allowed, Recompute::kNone);
  CHECK(at::equal(pass.log_probs(batch, 1.0), once.log_probs));
}

TEST_CASE("a pass by kernels names the first layer and row that are not finite", "[kernel_pass][gpu]") {
  require_gpu();
  const PolicyConfig config = some_config(64, false);
  Transformer policy = some_policy(config, at::kBFloat16, {});
  const at::Tensor allowed = allowed_ids(config, config.vocab_size - 5, kGpu);
  const auto sequences = some_sequences(config);
  const std::vector<double> scales(sequences.size(), 1e-3);
  const Packs packs(sequences, scales, {.tokens_per_pack = 1200, .device = kGpu});
  REQUIRE(packs.count() > 1);
  KernelPass pass(policy, allowed, Recompute::kNone);
  const auto report = [&] {
    Sums sums(policy.trained());
    for (size_t i = 0; i < packs.count(); ++i)
      pass.backward(
          packs.make(i), 1.0, [](const ScoredChunk& chunk) { return chunk.log_probs.sum(); }, sums);
    return pass.take_fault_report()();
  };
  CHECK(report() == "the products of the gradient");
  policy.layers()[2].gate.weight[5][7] = NAN;
  CHECK(report() == "pack 0, row 0, the input of layer 3's attention");
}

TEST_CASE("updates by kernels follow updates by operators", "[kernel_pass][gpu]") {
  require_gpu();
  const PolicyConfig config = some_config(64, false);
  const auto trained = [&](bool by_kernels, double max_norm, double decay) {
    Transformer policy = some_policy(config, at::kBFloat16, {});
    AdamWSettings settings;
    settings.weight_decay = decay;
    settings.beta2 = 0.99;
    std::unique_ptr<FusedOptimizer> fused;
    if (by_kernels) fused = make_fused_optimizer(policy.store());
    AdamW adamw(policy.store(), settings, PartExtent::kWhole, fused.get());
    policy.store().allocate(ParameterPart::kGradient, PartExtent::kWhole);
    OneRank rank;
    std::vector<double> norms;
    for (int64_t step = 0; step < 4; ++step) {
      at::manual_seed(step);
      for (const ParameterEntry& e : policy.store().layout().entries())
        policy.store()
            .entry_part(ParameterPart::kGradient, policy.store().layout().index_of(e.name))
            .normal_(0, 1e-3);
      if (step == 2) policy.store().entry_part(ParameterPart::kGradient, 3)[4][5] = NAN;
      if (fused) {
        fused->measure(max_norm, PartExtent::kWhole, rank.control);
        adamw.step(1e-2);
        fused->finish();
        const FusedOptimizer::Outcome outcome = fused->outcome();
        norms.push_back(outcome.norm);
        if (!outcome.is_finite) adamw.forget_step();
        for (int64_t g = 0; g < policy.store().layout().group_count(); ++g)
          CHECK(policy.store().group_part(ParameterPart::kGradient, g).abs().max().item<float>() == 0);
      } else {
        norms.push_back(clip_global_norm(policy.store(), max_norm, PartExtent::kWhole, rank.control));
        if (std::isfinite(norms.back())) adamw.step(1e-2);
      }
    }
    std::vector<at::Tensor> values;
    for (int64_t g = 0; g < policy.store().layout().group_count(); ++g)
      for (const ParameterPart part :
           {ParameterPart::kMaster, ParameterPart::kFirstMoment, ParameterPart::kSecondMoment})
        values.push_back(policy.store().group_part(part, g).clone());
    CHECK(adamw.steps() == 3);
    return std::pair(norms, values);
  };
  const double decay = GENERATE(0.0, 0.1), max_norm = GENERATE(0.0, 0.5);
  const auto [norms, values] = trained(true, max_norm, decay);
  const auto [expected_norms, expected] = trained(false, max_norm, decay);
  for (size_t i = 0; i < norms.size(); ++i)
    CHECK((std::abs(norms[i] - expected_norms[i]) < 1e-6 * expected_norms[i] ||
           (std::isnan(norms[i]) && std::isnan(expected_norms[i]))));
  for (size_t i = 0; i < values.size(); ++i)
    CHECK((values[i] - expected[i]).abs().max().item<float>() <=
          2e-6 * expected[i].abs().max().item<float>());
}

}  // namespace bicrl
