// Low-rank adapters against literal formulas and plain autograd, and what they leave alone.
#include "policy/lora_config.h"

#include "tests/support/adapters.h"
#include "tests/support/differences.h"

#include <ATen/core/grad_mode.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/files.h"
#include "policy/attention/packed_attention.h"
#include "policy/files/adapter_io.h"
#include "policy/files/checkpoint_io.h"
#include "policy/files/safetensors.h"
#include "tests/support/dense_attention.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;
using testing::add_drawn_adapters;
using testing::merged_copy;

PolicyConfig small_config(bool tied = false) {
  PolicyConfig c;
  c.vocab_size = 272;
  c.hidden_size = 32;
  c.layers = 3;
  c.heads = 4;
  c.kv_heads = 2;
  c.head_dim = 10;
  c.intermediate_size = 48;
  c.initializer_range = 0.2;
  c.tie_word_embeddings = tied;
  c.mask_token_id = 265;
  c.end_token_ids = {264};
  return c;
}

LoraConfig some_lora(std::vector<std::string> targets = LoraConfig::projections()) {
  LoraConfig lora;
  lora.rank = 5;
  lora.alpha = 7;
  lora.targets = std::move(targets);
  return lora;
}

at::Tensor forward(const Transformer& policy) {
  const at::Tensor tokens = at::arange(21, at::kLong);
  testing::DenseMaskAttention attention(testing::block_causal_mask(21, policy.config().block_size, at::kCPU));
  return policy.logits(policy.hidden(tokens, tokens, attention));
}

// Gradients of what lies in `store` for a loss of the final hidden states.
std::map<std::string, at::Tensor> gradients(Transformer& policy, ParameterStore& store,
                                            Recompute recompute = Recompute::kNone) {
  const int64_t rows = 24;
  policy.set_recompute(recompute);
  for (const auto& [name, value] : store.values()) value.set_requires_grad(true);
  PackedSegment all;
  all.clean_rows = rows;
  PackedAttention attention({all}, rows, 4, at::kCPU);
  const at::Tensor tokens = at::arange(rows, at::kLong);
  const at::Tensor hidden = policy.hidden(tokens, tokens, attention);
  (hidden.to(at::kDouble) * at::linspace(-1, 1, hidden.numel(), at::kDouble).view(hidden.sizes()))
      .sum()
      .backward();
  std::map<std::string, at::Tensor> found;
  for (const auto& [name, value] : store.values()) {
    if (value.grad().defined()) found[name] = value.grad().clone();
    value.mutable_grad().reset();
    value.set_requires_grad(false);
  }
  return found;
}

at::Tensor value_of(const ParameterStore& store, const std::string& name) {
  return store.values().at(static_cast<size_t>(store.layout().index_of(name))).second;
}

std::string refusal(const LoraConfig& lora) {
  try {
    lora.validate(small_config());
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("an adapted projection is its formula, with autograd's gradients") {
  for (const auto dtype : {at::kDouble, at::kFloat, at::kBFloat16}) {
    const double tolerance = dtype == at::kDouble ? 1e-13 : dtype == at::kFloat ? 1e-5 : 2e-2;
    const auto draw = [&](at::IntArrayRef shape) { return at::randn(shape, at::kDouble).to(dtype); };
    const at::Tensor w = draw({9, 12}), a = draw({3, 12}).requires_grad_(true);
    const at::Tensor b = draw({9, 3}).requires_grad_(true), x = draw({7, 12}).requires_grad_(true);
    const at::Tensor g = draw({7, 9});
    const Projection projection{w, a, b, 1.75};
    const at::Tensor y = projection(x);
    y.backward(g);
    const auto wide = [](const at::Tensor& t) { return t.detach().to(at::kDouble).requires_grad_(true); };
    const at::Tensor wa = wide(a), wb = wide(b), wx = wide(x);
    const at::Tensor literal = wx.mm(w.to(at::kDouble).t()) + 1.75 * wx.mm(wa.t()).mm(wb.t());
    literal.backward(g.to(at::kDouble));
    CHECK(testing::relative_difference(y.detach(), literal.detach()) < tolerance);
    CHECK(testing::relative_difference(a.grad(), wa.grad()) < tolerance);
    CHECK(testing::relative_difference(b.grad(), wb.grad()) < tolerance);
    CHECK(testing::relative_difference(x.grad(), wx.grad()) < tolerance);
    CHECK_FALSE(w.grad().defined());
    const at::Tensor merged = projection.merged();
    CHECK(merged.scalar_type() == dtype);
    CHECK_FALSE(merged.requires_grad());
    CHECK(testing::relative_difference(at::linear(x, merged).detach(), literal.detach()) < tolerance);
  }
}

TEST_CASE("a policy with new adapters is the policy that it was, bit for bit") {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    const Transformer before = Transformer::random(small_config(), 4, at::kCPU, dtype);
    Transformer policy = before.clone();
    policy.add_adapters(some_lora(), 9);
    CHECK(at::equal(forward(policy), forward(before)));
    add_drawn_adapters(policy = before.clone(), some_lora(), 9);
    CHECK_FALSE(at::equal(forward(policy), forward(before)));
    CHECK(policy.store().checksum() == before.store().checksum());
  }
}

TEST_CASE("A is drawn by name within Kaiming's bound, B is zero") {
  const auto adapted = [](uint64_t seed) {
    Transformer policy = Transformer::random(small_config(), 4, at::kCPU, at::kFloat);
    policy.add_adapters(some_lora(), seed);
    return policy;
  };
  const Transformer policy = adapted(9), again = adapted(9), other = adapted(10);
  std::vector<at::Tensor> drawn;
  for (size_t i = 0; i < policy.trained().values().size(); ++i) {
    const auto& [name, value] = policy.trained().values()[i];
    INFO(name);
    CHECK(at::equal(value, again.trained().values()[i].second));
    if (name.ends_with("lora_B.weight")) {
      CHECK(value.eq(0).all().item<bool>());
      continue;
    }
    const double bound = 1 / std::sqrt(static_cast<double>(value.size(1)));
    CHECK(value.abs().max().item<double>() <= bound);
    CHECK(value.abs().max().item<double>() > 0.9 * bound);
    CHECK(std::abs(value.mean().item<double>()) < 0.2 * bound);
    CHECK_FALSE(at::equal(value, other.trained().values()[i].second));
    for (const at::Tensor& before : drawn)
      CHECK_FALSE((before.sizes() == value.sizes() && at::equal(before, value)));
    drawn.push_back(value);
  }
  CHECK(drawn.size() == 3 * 7);
}

TEST_CASE("adapters have a group for each layer, and the factors that PEFT has") {
  const PolicyConfig config = small_config();
  const ParameterLayout layout = ParameterLayout::of_adapters(ParameterLayout(config), some_lora());
  CHECK(layout.group_count() == config.layers);
  CHECK(layout.head_entry() == -1);
  CHECK(layout.group(layout.layer_group(2)).name == "adapters of layer 2");
  CHECK(layout.group(1).entries == 2 * 7);
  // rank (in + out) of q, k and v, o, gate and up, down: q has 40 rows, k and v 20.
  const int64_t of_a_layer = 5 * ((32 + 40) + 2 * (32 + 20) + (40 + 32) + 2 * (32 + 48) + (48 + 32));
  CHECK(layout.parameter_count() == config.layers * of_a_layer);
  CHECK(some_lora().parameter_count(config) == config.layers * of_a_layer);
  const std::string module = "model.layers.1.mlp.down_proj";
  CHECK(layout.entry(layout.index_of(module + ".lora_A.weight")).shape == std::vector<int64_t>{5, 48});
  CHECK(layout.entry(layout.index_of(module + ".lora_B.weight")).shape == std::vector<int64_t>{32, 5});
  CHECK(ParameterLayout::of_adapters(ParameterLayout(config), some_lora({"v_proj"})).entries().size() == 6);
}

TEST_CASE("gradients of adapters are those of the merged weights, through their factors") {
  const std::vector<std::vector<std::string>> choices = {
      LoraConfig::projections(), {"q_proj"}, {"k_proj", "v_proj"}, {"o_proj", "gate_proj"}, {"down_proj"}};
  for (const auto& targets : choices) {
    const LoraConfig lora = some_lora(targets);
    Transformer policy = Transformer::random(small_config(), 8, at::kCPU, at::kDouble);
    add_drawn_adapters(policy, lora, 3);
    Transformer merged = merged_copy(policy);
    const auto whole = gradients(merged, merged.store());
    const auto found = gradients(policy, policy.trained());
    CHECK(found.size() == policy.trained().values().size());
    for (const auto& [name, gradient] : found) {
      INFO(name);
      const std::string module = name.substr(0, name.find(".lora_"));
      const at::Tensor& of_weight = whole.at(module + ".weight");
      const at::Tensor a = value_of(policy.trained(), module + ".lora_A.weight");
      const at::Tensor b = value_of(policy.trained(), module + ".lora_B.weight");
      const at::Tensor expected =
          lora.scaling() * (name.ends_with("lora_A.weight") ? b.t().mm(of_weight) : of_weight.mm(a.t()));
      // Rotations are of fp32.
      CHECK(testing::relative_difference(gradient, expected) < 1e-5);
    }
    for (const auto& [name, value] : policy.parameters()) CHECK_FALSE(value.grad().defined());
  }
}

TEST_CASE("what adapted layers compute again changes no bit of their gradients") {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    Transformer policy = Transformer::random(small_config(), 8, at::kCPU, dtype);
    add_drawn_adapters(policy, some_lora(), 3);
    const auto kept = gradients(policy, policy.trained());
    for (const auto recompute : {Recompute::kSelective, Recompute::kFull}) {
      const auto again = gradients(policy, policy.trained(), recompute);
      REQUIRE(again.size() == kept.size());
      for (const auto& [name, gradient] : kept) {
        INFO(name);
        CHECK(at::equal(again.at(name), gradient));
      }
    }
  }
}

TEST_CASE("the first adapted layer is computed again, too") {
  struct Counting : AttentionContext {
    explicit Counting(AttentionContext& of) : of(of) {}
    at::Tensor attend(int64_t layer, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) override {
      ++times;
      return of.attend(layer, q, k, v);
    }
    AttentionContext& of;
    int64_t times = 0;
  };
  Transformer policy = Transformer::random(small_config(), 8, at::kCPU, at::kFloat);
  add_drawn_adapters(policy, some_lora(), 3);
  policy.set_recompute(Recompute::kFull);
  for (const auto& [name, value] : policy.trained().values()) value.set_requires_grad(true);
  PackedSegment all;
  all.clean_rows = 24;
  PackedAttention packed({all}, 24, 4, at::kCPU);
  Counting attention(packed);
  const at::Tensor tokens = at::arange(24, at::kLong);
  const at::Tensor hidden = policy.hidden(tokens, tokens, attention);
  CHECK(attention.times == 3);
  hidden.sum().backward();
  CHECK(attention.times == 6);
}

TEST_CASE("the base of an adapted policy is the policy before, in the same memory") {
  const Transformer before = Transformer::random(small_config(), 4, at::kCPU, at::kFloat);
  Transformer policy = before.clone();
  add_drawn_adapters(policy, some_lora(), 9);
  const Transformer base = policy.base(), copy = policy.frozen_copy(), apart = policy.clone();
  const at::Tensor adapted = forward(policy);
  for (const auto& [name, value] : policy.trained().values()) value.add_(0.1);
  CHECK_FALSE(base.has_adapters());
  CHECK(at::equal(forward(base), forward(before)));
  CHECK(at::equal(forward(copy), adapted));
  CHECK(at::equal(forward(apart), adapted));
  CHECK_FALSE(at::equal(forward(policy), adapted));
  for (size_t i = 0; i < policy.parameters().size(); ++i) {
    const void* memory = policy.parameters()[i].second.data_ptr();
    CHECK(base.parameters()[i].second.data_ptr() == memory);
    CHECK(copy.parameters()[i].second.data_ptr() == memory);
    CHECK(apart.parameters()[i].second.data_ptr() != memory);
  }
  CHECK_THROWS_AS(before.base(), Error);  // its parameters are trained
}

TEST_CASE("adapters that do not fit are refused with the reason") {
  CHECK(refusal(some_lora()) == "accepted");
  LoraConfig lora = some_lora();
  lora.rank = 0;
  CHECK_THAT(refusal(lora), ContainsSubstring("lora.rank is 0"));
  lora.rank = 21;
  CHECK_THAT(refusal(lora), ContainsSubstring("k_proj of [20, 32]"));
  lora.targets = {"q_proj"};
  CHECK(refusal(lora) == "accepted");
  lora.rank = 33;
  CHECK_THAT(refusal(lora), ContainsSubstring("q_proj of [40, 32]"));
  for (const double alpha : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    lora = some_lora();
    lora.alpha = alpha;
    CHECK_THAT(refusal(lora), ContainsSubstring("lora.alpha"));
  }
  CHECK_THAT(refusal(some_lora({"lm_head"})),
             ContainsSubstring("'lm_head' is no projection") && ContainsSubstring("gate_proj"));
  CHECK_THAT(refusal(some_lora({})), ContainsSubstring("lora.targets is empty"));
  CHECK_THAT(refusal(some_lora({"q_proj", "q_proj"})), ContainsSubstring("twice"));
}

TEST_CASE("a saved policy has its adapters merged, and transformers reads it") {
  const testing::TemporaryFolder folder;
  const Tokenizer tokenizer = Tokenizer::from_folder(testing::source_path("tests/rollout/tiny_tokenizer"));
  for (const auto dtype : {at::kFloat, at::kBFloat16})
    for (const bool tied : {false, true}) {
      const fs::path where = folder.path() / concat(dtype, tied ? "-tied" : "");
      Transformer policy = Transformer::random(small_config(tied), 4, at::kCPU, dtype);
      write_safetensors(folder.path() / "base.safetensors", policy.parameters());
      add_drawn_adapters(policy, some_lora({"q_proj", "v_proj", "down_proj"}), 9);
      save_policy(where, policy, tokenizer);
      save_adapters(where / "adapter", adapter_files(policy, "some/base", policy.store().checksum()));
      const Transformer again = load_policy(where, at::kCPU, dtype);
      CHECK(testing::relative_difference(forward(again), forward(policy)) <
            (dtype == at::kFloat ? 1e-5 : 3e-2));
      for (const auto& [name, value] : policy.parameters()) {
        INFO(name);
        const bool adapted = name.find("q_proj") != name.npos || name.find("v_proj") != name.npos ||
                             name.find("down_proj") != name.npos;
        CHECK(at::equal(value_of(again.store(), name), value) != adapted);
      }
      write_safetensors(folder.path() / "expected.safetensors", {{"logits", forward(policy)}});
      testing::run_python(testing::source_path("tests/policy/oracle_lora.py"),
                          {where.string(), (folder.path() / "base.safetensors").string(),
                           (folder.path() / "expected.safetensors").string()});
    }
}

TEST_CASE("saved adapters come back bit for bit, beside their base and their config only") {
  const testing::TemporaryFolder folder;
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    Transformer policy = Transformer::random(small_config(), 4, at::kCPU, dtype), again = policy.clone(),
                other_base = Transformer::random(small_config(), 5, at::kCPU, dtype);
    Transformer other_config = policy.clone(), other_targets = policy.clone();
    add_drawn_adapters(policy, some_lora(), 9);
    save_adapters(folder.path(), adapter_files(policy, "", policy.store().checksum()));
    again.add_adapters(some_lora(), 1);
    load_adapters(folder.path(), again);
    CHECK(again.trained().checksum() == policy.trained().checksum());
    CHECK(at::equal(forward(again), forward(policy)));
    const auto loading = [&](Transformer& into) {
      try {
        load_adapters(folder.path(), into);
      } catch (const InputError& error) {
        return std::string(error.what());
      }
      return std::string("accepted");
    };
    other_base.add_adapters(some_lora(), 9);
    CHECK_THAT(loading(other_base),
               ContainsSubstring("adapter_model.safetensors") && ContainsSubstring("other frozen weights"));
    LoraConfig lora = some_lora();
    lora.rank = 4;
    other_config.add_adapters(lora, 9);
    CHECK_THAT(loading(other_config), ContainsSubstring("adapter_config.json") &&
                                          ContainsSubstring("rank 5") && ContainsSubstring("rank 4"));
    other_targets.add_adapters(some_lora({"q_proj"}), 9);
    CHECK_THAT(loading(other_targets), ContainsSubstring("on q_proj k_proj"));
    // Files that are not what the config says.
    const std::string config = read_file(folder.path() / "adapter_config.json");
    write_file_atomically(folder.path() / "adapter_config.json", some_lora({"q_proj"}).to_json_text(""));
    CHECK_THAT(loading(other_targets), ContainsSubstring("42 tensors, expected 6"));
    write_file_atomically(folder.path() / "adapter_config.json", lora.to_json_text(""));
    CHECK_THAT(loading(other_config), ContainsSubstring("another shape"));
    for (const char* broken : {"{", "{}", R"({"r": "x", "lora_alpha": 1, "target_modules": []})"}) {
      write_file_atomically(folder.path() / "adapter_config.json", broken);
      CHECK_THAT(loading(again), ContainsSubstring("adapter_config.json"));
    }
    write_file_atomically(folder.path() / "adapter_config.json", config);
    NamedTensors few = policy.trained().values();
    write_safetensors(folder.path() / "adapter_model.safetensors", few);
    CHECK_THAT(loading(again), ContainsSubstring("no base checksum"));
  }
}

}  // namespace bicrl
