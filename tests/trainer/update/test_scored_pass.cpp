// The head over many chunks against references in double precision and against plain autograd.
#include "trainer/update/operator_pass.h"

#include "tests/trainer/fixtures.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "common/error.h"
#include "policy/attention/packed_attention.h"
#include "policy/distribution.h"

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
  auto batches = pack(sequences, scales, {.block_size = config.block_size, .tokens_per_pack = 1 << 20});
  REQUIRE(batches.size() == 1);
  REQUIRE(batches[0].scored() > 9 * 64);
  return batches[0];
}

at::Tensor loss_of(const at::Tensor& log_probs, const at::Tensor& advantages) {
  return (advantages * log_probs).sum();
}

PackedAttention attention_of(const Transformer& policy, const PackedBatch& batch) {
  return {batch.segments, batch.rows(), policy.config().block_size, at::kCPU};
}

at::Tensor hidden_of(const Transformer& policy, const PackedBatch& batch, PackedAttention& attention) {
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
  PackedAttention attention = attention_of(policy, batch);
  const at::Tensor hidden = hidden_of(policy, batch, attention).detach().to(at::kDouble);
  at::Tensor head = policy.parameters().back().second.detach().to(at::kDouble).requires_grad_(true);
  const at::Tensor log_probs = labelled(at::linear(hidden, head), allowed_of(policy.config()), batch.labels);
  loss_of(log_probs, batch.advantages).backward();
  return {log_probs.detach(), head.grad()};
}

void run_backward(const Transformer& policy, const PackedBatch& batch) {
  OperatorPass(policy, allowed_of(policy.config())).backward(batch, 1.0, [&](const ScoredChunk& chunk) {
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
      (OperatorPass(policy, allowed_of(config)).log_probs(batch, 1.0) - expected.log_probs)
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
      PackedAttention attention = attention_of(literal, batch);
      const at::Tensor hidden = hidden_of(literal, batch, attention);
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

TEST_CASE("a token that excludes ids scores the mass without them, with its gradient") {
  const PolicyConfig config = wide_config(/*tied=*/false);
  Transformer policy = tiny_policy(config, 3, at::kDouble);
  std::vector<LiveSequence> sequences;
  TraceShape shape;
  shape.response_blocks = 60;
  sequences.push_back(rollout_sequence(random_experience(config, shape, 1, 1.0), config, 1));
  at::Tensor excluded = at::zeros({sequences[0].scored_tokens(), config.vocab_size}, at::kBool);
  // Every third token excludes its label; of these, every other one two more ids.
  int64_t token = 0;
  for (NoisyBlock& noisy : sequences[0].noisy)
    for (ScoredToken& scored : noisy.scored) {
      if (token % 3 == 0) scored.excluded.push_back(scored.label);
      if (token % 6 == 0) scored.excluded.insert(scored.excluded.end(), {30 + token, 5000 + token});
      for (const int64_t id : scored.excluded) excluded[token][id] = true;
      ++token;
    }
  const PackedBatch batch =
      pack(sequences, {1.0}, {.block_size = config.block_size, .tokens_per_pack = 1 << 20})[0];
  REQUIRE(batch.scored() > 3 * 64);                         // chunks
  PackedAttention attention = attention_of(policy, batch);  // the graph refers to it
  const auto expected = [&] {
    const at::Tensor all = policy_log_softmax(at::linear(hidden_of(policy, batch, attention), policy.head()),
                                              allowed_of(config), 1.0);
    const at::Tensor left = all.masked_fill(excluded, -std::numeric_limits<double>::infinity()).logsumexp(1);
    return at::where(excluded.any(1), left, all.gather(1, batch.labels.unsqueeze(1)).squeeze(1));
  };
  const at::Tensor weights = at::arange(batch.scored(), at::kDouble).cos();
  const at::Tensor gradient = flat_gradient(policy, [&] { return (weights * expected()).sum(); });
  OperatorPass pass(policy, allowed_of(config));
  const at::Tensor log_likelihoods = pass.log_probs(batch, 1.0);
  {
    const at::NoGradGuard guard;
    CHECK((log_likelihoods - expected()).abs().max().item<double>() < 1e-5);
  }
  const GradientScope scope(policy.store());
  pass.backward(batch, 1.0,
                [&](const ScoredChunk& chunk) { return (chunk.part(weights) * chunk.log_probs).sum(); });
  std::vector<at::Tensor> mine;
  for (const auto& [name, parameter] : policy.parameters())
    mine.push_back((parameter.grad().defined() ? parameter.grad() : at::zeros_like(parameter)).flatten());
  CHECK(relative_difference(at::cat(mine), gradient) < 1e-4);
}

TEST_CASE("a pass names the first layer and row that are not finite") {
  const PolicyConfig config = [] {
    PolicyConfig c = tiny_config(4);
    c.layers = 3;
    return c;
  }();
  Transformer policy = tiny_policy(config, 3, at::kFloat);
  const at::Tensor allowed = tiny_allowed(config);
  const Experience experience = random_experience(config, TraceShape{}, 4, 1.0);
  const PackedBatch batch = pack({rollout_sequence(experience, config, 1)}, {1.0}, {})[0];
  const auto report = [&] {
    const GradientScope scope(policy.store());
    OperatorPass pass(policy, allowed);
    pass.backward(batch, 1.0, [&](const ScoredChunk& chunk) { return chunk.log_probs.sum(); });
    return pass.take_fault_report()();
  };
  CHECK(report() == "the gradient (the log-probabilities are finite)");
  // A token that the pack has from some row on, and none before.
  const int64_t row = 5, token = batch.host_tokens[row];
  const auto first = std::find(batch.host_tokens.begin(), batch.host_tokens.end(), token);
  at::Tensor embedding = policy.parameters().front().second;
  const at::Tensor good = embedding[token].clone();
  embedding[token][0] = NAN;
  CHECK(report() == concat("pack 0, row ", first - batch.host_tokens.begin(), ", the input of layer 0"));
  embedding[token].copy_(good);
  policy.layers()[1].down.weight[2][3] = INFINITY;
  CHECK(report() == "pack 0, row 0, the input of layer 2");
}
