// The head over many chunks against references in double precision and against plain autograd.
#include "trainer/update/scored_pass.h"

#include "tests/trainer/fixtures.h"

#include <ATen/core/grad_mode.h>

#include <catch2/catch_test_macros.hpp>

#include "policy/distribution.h"
#include "policy/packed_attention.h"

using namespace bicrl;
using namespace bicrl::testing;

namespace {

// So many rows of logits that a chunk holds 64 of them.
PolicyConfig wide_config(bool tied) {
  PolicyConfig config = tiny_config(4);
  config.vocab_size = int64_t{1} << 17;
  config.layers = 1;
  config.hidden_size = 32;
  config.initializer_range = 0.2;
  config.tie_word_embeddings = tied;
  return config;
}

at::Tensor allowed_of(const PolicyConfig& config) {
  return allowed_ids(config, config.vocab_size - 3, at::kCPU);
}

// Some 600 scored tokens.
PackedBatch some_batch(const PolicyConfig& config) {
  std::vector<LiveSequence> sequences;
  std::vector<double> scales;
  for (uint64_t i = 0; i < 3; ++i) {
    TraceShape shape;
    shape.response_blocks = 50;
    sequences.push_back(rollout_sequence(
        random_experience(config, shape, i, 0.5 - 0.75 * static_cast<double>(i)), config, 1));
    scales.push_back(1.0);
  }
  auto batches = pack(sequences, scales, config.block_size, 1 << 20, at::kCPU);
  REQUIRE(batches.size() == 1);
  REQUIRE(batches[0].scored() > 9 * 64);
  return batches[0];
}

at::Tensor loss_of(const at::Tensor& log_probs, const at::Tensor& advantages) {
  return (advantages * log_probs).sum();
}

at::Tensor hidden_of(const Transformer& policy, const PackedBatch& batch) {
  PackedAttention attention(batch.segments, batch.rows(), policy.config().block_size, at::kCPU);
  return policy.hidden(batch.tokens, batch.positions, attention).index_select(0, batch.selected);
}

at::Tensor labelled(const at::Tensor& logits, const at::Tensor& allowed, const at::Tensor& labels) {
  return policy_log_softmax(logits, allowed, 1.0).gather(1, labels.unsqueeze(1)).squeeze(1);
}

// What the head makes of the policy's own hidden states, in double precision.
struct Reference {
  at::Tensor log_probs, head_gradient;
};
Reference reference_of(const Transformer& policy, const PackedBatch& batch) {
  const at::Tensor hidden = hidden_of(policy, batch).detach().to(at::kDouble);
  at::Tensor head = policy.parameters().back().second.detach().to(at::kDouble).requires_grad_(true);
  const at::Tensor log_probs = labelled(at::linear(hidden, head), allowed_of(policy.config()), batch.labels);
  loss_of(log_probs, batch.advantages).backward();
  return {log_probs.detach(), head.grad()};
}

void run_backward(const Transformer& policy, const PackedBatch& batch) {
  ScoredPass(policy, allowed_of(policy.config()), 1.0).backward(batch, [&](const ScoredChunk& chunk) {
    return loss_of(chunk.log_probs, chunk.part(batch.advantages));
  });
}

at::Tensor gradient_of(const Transformer& policy, const std::string& name) {
  for (const auto& [known, parameter] : policy.parameters())
    if (known == name) return parameter.grad();
  FAIL("no parameter is " << name);
  return {};
}

}  // namespace

TEST_CASE("the head of a bf16 policy works in fp32, over all chunks") {
  const PolicyConfig config = wide_config(/*tied=*/false);
  Transformer policy = tiny_policy(config, 3, at::kBFloat16);
  const PackedBatch batch = some_batch(config);
  const Reference expected = reference_of(policy, batch);
  const double log_prob_error =
      (ScoredPass(policy, allowed_of(config), 1.0).log_probs(batch) - expected.log_probs)
          .abs()
          .max()
          .item<double>();
  const GradientScope scope(policy.store());
  run_backward(policy, batch);
  const double gradient_error =
      relative_difference(gradient_of(policy, "lm_head.weight").to(at::kDouble), expected.head_gradient);
  INFO("largest error of a log-probability " << log_prob_error << ", of the head's gradient "
                                             << gradient_error);
  CHECK(log_prob_error < 2e-5);
  CHECK(gradient_error < 1e-5);
}

TEST_CASE("a tied bf16 head's gradient and the embedding's are one sum") {
  const PolicyConfig config = wide_config(/*tied=*/true);
  Transformer tied = tiny_policy(config, 3, at::kBFloat16);
  std::map<std::string, at::Tensor> tensors(tied.parameters().begin(), tied.parameters().end());
  tensors["lm_head.weight"] = tensors.at("model.embed_tokens.weight").clone();
  Transformer untied =
      Transformer::from_tensors(wide_config(/*tied=*/false), tensors, at::kCPU, at::kBFloat16);
  const PackedBatch batch = some_batch(config);
  untied.parameters().front().second.set_grad_dtype(at::kFloat);  // as a tied one's is
  for (Transformer* policy : {&tied, &untied}) {
    for (const auto& [name, parameter] : policy->parameters()) parameter.requires_grad_(true);
    run_backward(*policy, batch);
  }
  const at::Tensor head = gradient_of(untied, "lm_head.weight").to(at::kDouble);
  const at::Tensor embedding = gradient_of(untied, "model.embed_tokens.weight").to(at::kDouble);
  CHECK(embedding.norm().item<double>() > 1e-3 * head.norm().item<double>());
  CHECK(relative_difference(gradient_of(tied, "model.embed_tokens.weight").to(at::kDouble),
                            head + embedding) < 1e-6);
}

TEST_CASE("the head of a full-precision policy is plain autograd, bit for bit") {
  for (const bool tied : {false, true})
    for (const auto dtype : {at::kFloat, at::kDouble}) {
      const PolicyConfig config = wide_config(tied);
      Transformer policy = tiny_policy(config, 3, dtype), literal = tiny_policy(config, 3, dtype);
      const PackedBatch batch = some_batch(config);
      const GradientScope scope(policy.store()), literal_scope(literal.store());
      run_backward(policy, batch);
      const at::Tensor& head = literal.parameters()[tied ? 0 : literal.parameters().size() - 1].second;
      const at::Tensor hidden = hidden_of(literal, batch);
      at::Tensor gradient = at::empty_like(hidden);
      for (int64_t begin = 0; begin < batch.scored(); begin += 64) {
        const int64_t rows = std::min<int64_t>(64, batch.scored() - begin);
        at::Tensor leaf = hidden.detach().narrow(0, begin, rows).requires_grad_(true);
        loss_of(labelled(at::linear(leaf, head).to(at::kFloat), allowed_of(config),
                         batch.labels.narrow(0, begin, rows)),
                batch.advantages.narrow(0, begin, rows).to(at::kFloat))
            .backward();
        gradient.narrow(0, begin, rows).copy_(leaf.grad());
      }
      hidden.backward(gradient);
      for (const auto& [name, parameter] : literal.parameters()) {
        INFO(name);
        CHECK(at::equal(gradient_of(policy, name), parameter.grad()));
      }
    }
}
