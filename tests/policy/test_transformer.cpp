#include "policy/transformer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <ctime>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "common/error.h"
#include "policy/distribution.h"
#include "policy/files/checkpoint_io.h"
#include "policy/files/safetensors.h"
#include "tests/support/dense_attention.h"
#include "tests/support/differences.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

namespace fs = std::filesystem;

PolicyConfig two_layer_config() {
  PolicyConfig config;
  config.vocab_size = 64;
  config.hidden_size = 32;
  config.layers = 2;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_dim = 8;
  config.intermediate_size = 48;
  config.mask_token_id = 63;
  config.end_token_ids = {0};
  return config;
}

at::Tensor forward(const Transformer& transformer, const at::Tensor& tokens) {
  testing::DenseMaskAttention attention(
      testing::block_causal_mask(tokens.size(0), transformer.config().block_size, transformer.device()));
  const at::Tensor positions = at::arange(tokens.size(0), tokens.options());
  return transformer.logits(transformer.hidden(tokens, positions, attention));
}

constexpr const char* kVariants[] = {"tied",        "untied",      "wide_block",  "block_of_16",
                                     "block_of_32", "block_of_64", "head_dim_64", "head_dim_128"};
constexpr int kLengths[] = {1, 4, 7, 37, 150, 192};

struct Difference {
  double largest = 0, mean = 0;
};

Difference difference_of(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor distance = (a.to(at::kDouble) - b.to(at::kDouble)).abs();
  return {distance.max().item<double>(), distance.mean().item<double>()};
}

// In bf16, too, the policy is as far from what it is in fp32 as transformers is. Says how far.
std::string check_bf16(const fs::path& variant, at::Device device) {
  const at::NoGradGuard guard;
  const Transformer transformer = load_policy(variant, device, at::kBFloat16);
  std::vector<at::Tensor> exact, ours, theirs;
  for (const int length : kLengths) {
    const SafetensorsFile expected(variant / concat("case_", length, ".safetensors"));
    exact.push_back(expected.load("logits"));
    theirs.push_back(expected.load("logits_bf16"));
    ours.push_back(forward(transformer, expected.load("tokens").to(device)).cpu());
  }
  const at::Tensor reference = at::cat(exact);
  const Difference of_ours = difference_of(at::cat(ours), reference);
  const Difference of_theirs = difference_of(at::cat(theirs), reference);
  const std::string report =
      concat("\n", variant.filename().string(), " in bf16: largest difference ", of_ours.largest, ", mean ",
             of_ours.mean, "; of transformers ", of_theirs.largest, ", ", of_theirs.mean, "; logits up to ",
             reference.abs().max().item<double>());
  INFO(report);
  CHECK(of_ours.mean < 1.5 * of_theirs.mean);
  CHECK(of_ours.largest < 2 * of_theirs.largest);
  return report;
}

TEST_CASE("logits and gradients equal transformers' Qwen3 under a block-causal mask") {
  const testing::TemporaryFolder folder;
  testing::run_python(testing::source_path("tests/policy/oracle_model.py"), {folder.path().string()});
  double worst_logit = 0, worst_gradient = 0;
  std::string rounded;
  for (const char* variant : kVariants) {
    const Transformer transformer = load_policy(folder.path() / variant, at::kCPU, at::kFloat);
    for (const auto& [name, parameter] : transformer.parameters()) parameter.requires_grad_(true);
    for (const int length : kLengths) {
      INFO(variant << ", " << length << " tokens");
      const SafetensorsFile expected(folder.path() / variant / concat("case_", length, ".safetensors"));
      const at::Tensor logits = forward(transformer, expected.load("tokens"));
      worst_logit =
          std::max(worst_logit, testing::largest_difference(logits.detach(), expected.load("logits")));
      at::log_softmax(logits, -1).gather(1, expected.load("targets").unsqueeze(1)).mean().neg().backward();
      for (const auto& [name, parameter] : transformer.parameters()) {
        INFO(name);
        REQUIRE(parameter.grad().defined());
        const double difference =
            testing::largest_difference(parameter.grad(), expected.load("grad." + name));
        CHECK(difference < 1e-5);
        worst_gradient = std::max(worst_gradient, difference);
        parameter.mutable_grad().reset();
      }
      CHECK(worst_logit < 1e-4);
    }
    rounded += check_bf16(folder.path() / variant, at::kCPU);
  }
  SUCCEED("largest difference of logits " << worst_logit << ", of gradients " << worst_gradient << rounded);
}

TEST_CASE("logits on a GPU equal transformers' Qwen3 under a block-causal mask", "[gpu]") {
  if (!at::hasCUDA()) SKIP("no GPU in this build or machine");
  const at::NoGradGuard guard;
  const testing::TemporaryFolder folder;
  testing::run_python(testing::source_path("tests/policy/oracle_model.py"), {folder.path().string()});
  double worst = 0;
  std::string rounded;
  for (const char* variant : kVariants) {
    const Transformer transformer = load_policy(folder.path() / variant, at::kCUDA, at::kFloat);
    for (const int length : kLengths) {
      INFO(variant << ", " << length << " tokens");
      const SafetensorsFile expected(folder.path() / variant / concat("case_", length, ".safetensors"));
      const at::Tensor logits = forward(transformer, expected.load("tokens").to(at::kCUDA)).cpu();
      worst = std::max(worst, testing::largest_difference(logits, expected.load("logits")));
      CHECK(worst < 1e-4);
    }
    rounded += check_bf16(folder.path() / variant, at::kCUDA);
  }
  WARN("largest difference of logits " << worst << rounded);
}

TEST_CASE("logits of a bf16 policy are sums in fp32") {
  PolicyConfig config = two_layer_config();
  config.vocab_size = 40'000;  // several slices of the head
  config.hidden_size = 512;
  config.tie_word_embeddings = GENERATE(false, true);
  const Transformer transformer = Transformer::random(config, 4, at::kCPU, at::kBFloat16);
  at::Tensor hidden = Transformer::random(config, 5, at::kCPU, at::kFloat)
                          .parameters()[0]
                          .second.narrow(0, 0, 9)
                          .div(config.initializer_range)
                          .to(at::kBFloat16);
  const at::Tensor& head =
      transformer.parameters()[config.tie_word_embeddings ? 0 : transformer.parameters().size() - 1].second;
  const at::Tensor expected = at::linear(hidden.to(at::kDouble), head.to(at::kDouble));
  const at::Tensor logits = transformer.logits(hidden);
  CHECK(logits.scalar_type() == at::kFloat);
  const double error = testing::largest_difference(logits, expected);
  INFO("largest error " << error << " of logits up to " << expected.abs().max().item<double>());
  CHECK(error < 1e-5);
}

TEST_CASE("random parameters are a function of config and seed") {
  const PolicyConfig config = two_layer_config();
  const Transformer a = Transformer::random(config, 11, at::kCPU, at::kFloat);
  const Transformer b = Transformer::random(config, 11, at::kCPU, at::kFloat);
  const Transformer c = Transformer::random(config, 12, at::kCPU, at::kFloat);
  int64_t count = 0;
  for (size_t i = 0; i < a.parameters().size(); ++i) {
    const auto& [name, tensor] = a.parameters()[i];
    INFO(name);
    CHECK(at::equal(tensor, b.parameters()[i].second));
    const bool is_norm = tensor.dim() == 1;
    CHECK(at::equal(tensor, c.parameters()[i].second) == is_norm);
    if (!is_norm) CHECK(std::abs(tensor.std().item<double>() - config.initializer_range) < 0.002);
    count += tensor.numel();
  }
  CHECK(count == config.parameter_count());
  const Transformer half = Transformer::random(config, 11, at::kCPU, at::kBFloat16);
  CHECK(at::equal(half.parameters()[0].second, a.parameters()[0].second.to(at::kBFloat16)));
}

TEST_CASE("a large random parameter does not depend on how threads share it") {
  PolicyConfig config = two_layer_config();
  config.vocab_size = 4096;  // above the grain of parallel drawing
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const Transformer alone = Transformer::random(config, 3, at::kCPU, at::kFloat);
  at::set_num_threads(4);
  const Transformer shared = Transformer::random(config, 3, at::kCPU, at::kFloat);
  at::set_num_threads(threads);
  CHECK(at::equal(alone.parameters()[0].second, shared.parameters()[0].second));
}

TEST_CASE("threads share the drawing of parameters") {
  const auto seconds = [](clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  PolicyConfig config = two_layer_config();
  config.vocab_size = 1 << 17;
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  const double process = seconds(CLOCK_PROCESS_CPUTIME_ID), mine = seconds(CLOCK_THREAD_CPUTIME_ID);
  Transformer::random(config, 1, at::kCPU, at::kFloat);
  const double of_all = seconds(CLOCK_PROCESS_CPUTIME_ID) - process;
  const double of_others = of_all - (seconds(CLOCK_THREAD_CPUTIME_ID) - mine);
  at::set_num_threads(before);
  CHECK(of_others > 0.2 * of_all);
}

TEST_CASE("the listed parameters are the ones the forward uses") {
  const Transformer transformer = Transformer::random(two_layer_config(), 1, at::kCPU, at::kFloat);
  const at::Tensor tokens = at::arange(10, at::kLong);
  for (const auto& [name, parameter] : transformer.parameters()) {
    INFO(name);
    const at::Tensor before = forward(transformer, tokens);
    parameter.mul_(1.5);
    CHECK(testing::largest_difference(before, forward(transformer, tokens)) > 0);
  }
}

TEST_CASE("bf16 follows fp32 within its precision") {
  const Transformer exact = Transformer::random(two_layer_config(), 5, at::kCPU, at::kFloat);
  const Transformer rounded = Transformer::random(two_layer_config(), 5, at::kCPU, at::kBFloat16);
  const at::Tensor tokens = at::arange(21, at::kLong);
  const at::Tensor logits = forward(rounded, tokens);
  CHECK(logits.scalar_type() == at::kFloat);
  const at::Tensor reference = forward(exact, tokens);
  CHECK(testing::largest_difference(reference, logits) < 0.05 * reference.abs().max().item<double>());
}

TEST_CASE("tokens of a later block do not change an earlier one, those of the same block do") {
  const Transformer transformer = Transformer::random(two_layer_config(), 2, at::kCPU, at::kFloat);
  const at::Tensor tokens = at::arange(12, at::kLong);
  at::Tensor changed = tokens.clone();
  changed[7] = 40;
  const at::Tensor before = forward(transformer, tokens), after = forward(transformer, changed);
  CHECK(at::equal(before.narrow(0, 0, 4), after.narrow(0, 0, 4)));
  CHECK(testing::largest_difference(before[4], after[4]) > 0);
}

std::string refusal(const PolicyConfig& config, std::map<std::string, at::Tensor> tensors) {
  try {
    Transformer::from_tensors(config, std::move(tensors), at::kCPU, at::kFloat);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST_CASE("a missing, extra or misshapen tensor is named") {
  PolicyConfig config = two_layer_config();
  const Transformer source = Transformer::random(config, 1, at::kCPU, at::kFloat);
  const std::map<std::string, at::Tensor> whole(source.parameters().begin(), source.parameters().end());
  CHECK(refusal(config, whole) == "accepted");
  auto tensors = whole;
  tensors.erase("model.layers.1.self_attn.k_norm.weight");
  CHECK(refusal(config, tensors).find("model.layers.1.self_attn.k_norm.weight is missing") !=
        std::string::npos);
  tensors = whole;
  tensors["model.layers.2.mlp.up_proj.weight"] = at::zeros({1});
  CHECK(refusal(config, tensors).find("model.layers.2.mlp.up_proj.weight does not belong") !=
        std::string::npos);
  tensors = whole;
  tensors["model.norm.weight"] = at::ones({33});
  CHECK(refusal(config, tensors).find("model.norm.weight has shape [33]") != std::string::npos);
  // A tied head may be stored as well, but only if it is the same.
  config.tie_word_embeddings = true;
  CHECK(refusal(config, whole).find("lm_head.weight differs") != std::string::npos);
  tensors = whole;
  tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"].clone();
  CHECK(refusal(config, tensors) == "accepted");
}

TEST_CASE("dense attention equals a loop over single scores") {
  const int64_t tokens = 6, heads = 4, kv_heads = 2, dim = 3;
  const at::Tensor q = at::randn({tokens, heads, dim}, at::kDouble),
                   k = at::randn({tokens, kv_heads, dim}, at::kDouble),
                   v = at::randn({tokens, kv_heads, dim}, at::kDouble);
  const at::Tensor mask = testing::block_causal_mask(tokens, 4, at::kCPU);
  const at::Tensor out = testing::DenseMaskAttention(mask).attend(0, q, k, v);
  for (int64_t i = 0; i < tokens; ++i)
    for (int64_t h = 0; h < heads; ++h) {
      at::Tensor sum = at::zeros({dim}, at::kDouble);
      double total = 0;
      for (int64_t j = 0; j < (i / 4 + 1) * 4 && j < tokens; ++j) {
        const double weight = std::exp(q[i][h].dot(k[j][h / 2]).item<double>() / std::sqrt(3.0));
        sum += weight * v[j][h / 2];
        total += weight;
      }
      CHECK(testing::largest_difference(out[i][h], sum / total) < 1e-12);
    }
  CHECK_THROWS_AS(testing::DenseMaskAttention(at::zeros({3, 3}, at::kBool)), Error);
}

TEST_CASE("the policy's distribution covers exactly the allowed ids") {
  const PolicyConfig config = two_layer_config();
  const at::Tensor allowed = allowed_ids(config, 60, at::kCPU);
  CHECK(allowed.sum().item<int64_t>() == 60);
  CHECK_FALSE(allowed_ids(config, 64, at::kCPU)[63].item<bool>());
  CHECK_THROWS_AS(allowed_ids(config, 65, at::kCPU), InputError);
  at::Tensor logits = at::randn({5, 64});
  logits.requires_grad_(true);
  for (const double temperature : {1.0, 0.5}) {
    const at::Tensor log_probs = policy_log_softmax(logits, allowed, temperature);
    const at::Tensor p = at::softmax(logits.detach().narrow(1, 0, 60) / temperature, -1);
    CHECK(testing::largest_difference(log_probs.narrow(1, 0, 60).exp(), p) < 1e-6);
    CHECK(at::isinf(log_probs.narrow(1, 60, 4)).all().item<bool>());
    log_probs.select(1, 7).sum().backward();
    CHECK(at::isfinite(logits.grad()).all().item<bool>());
    CHECK(logits.grad().narrow(1, 60, 4).abs().max().item<double>() == 0);
  }
  CHECK_THROWS_AS(policy_log_softmax(logits, allowed, 0.0), Error);
}

}  // namespace
}  // namespace bicrl
