// The written-out pass against autograd over the transformer, in fp64.
#include "policy/pass/policy_pass.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <catch2/catch_test_macros.hpp>
#include <map>

#include "policy/attention/packed_attention.h"
#include "tests/policy/operator_operations.h"
#include "tests/policy/random_pack.h"
#include "tests/support/tiny_policy_config.h"

namespace bicrl {
namespace {

using testing::RandomPack;

Transformer some_policy(bool tied, const std::optional<LoraConfig>& lora) {
  Transformer policy = Transformer::random(testing::three_layer_config(tied), 8, at::kCPU, at::kDouble);
  for (const auto& [name, value] : policy.parameters())
    if (value.dim() == 1) value.add_(at::linspace(-0.5, 0.5, value.numel(), at::kDouble));
  if (!lora) return policy;
  policy.add_adapters(*lora, 5);
  for (const auto& [name, value] : policy.trained().values()) at::Tensor(value).uniform_(-0.3, 0.3);
  return policy;
}

// Sums of each group, and the order in which they were completed.
class Sums : public GradientSink {
 public:
  explicit Sums(const ParameterStore& store) : store_(store) {
    for (const ParameterGroup& group : store.layout().groups())
      sums_.push_back(at::zeros({group.size}, at::kDouble));
  }
  at::Tensor sum(int64_t group) override { return sums_.at(static_cast<size_t>(group)); }
  void complete(int64_t group) override { completed.push_back(group); }
  at::Tensor of(const std::string& name) const {
    const ParameterEntry& e = store_.layout().entry(store_.layout().index_of(name));
    return sums_[static_cast<size_t>(e.group)].narrow(0, e.offset, e.size).view(e.shape);
  }
  std::vector<int64_t> completed;

 private:
  const ParameterStore& store_;
  std::vector<at::Tensor> sums_;
};

struct Pack {
  explicit Pack(uint64_t key) : pack(key) {
    at::manual_seed(static_cast<int64_t>(key));
    std::vector<int64_t> at_rows;
    for (const auto& row : pack.rows) at_rows.push_back(row.position);
    positions = at::tensor(at_rows, at::kLong);
    tokens = at::randint(40, positions.sizes(), at::kLong);
    selected = std::get<0>(at::randperm(rows()).narrow(0, 0, rows() / 2).sort());
    weights = at::randn({selected.size(0), 32}, at::kDouble);
  }
  int64_t rows() const { return static_cast<int64_t>(pack.rows.size()); }
  RandomPack pack;
  at::Tensor positions, tokens, selected, weights;
};

double worst(const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); }

void compare(bool tied, Recompute recompute, const std::optional<LoraConfig>& lora) {
  INFO("tied " << tied << ", recompute " << static_cast<int>(recompute) << ", adapters of "
               << (lora ? lora->targets.size() : 0));
  Transformer policy = some_policy(tied, lora);
  testing::OperatorOperations operations;
  const std::vector<Pack> packs = {Pack(1), Pack(2), Pack(3)};
  int64_t most = 0;
  for (const Pack& pack : packs) most = std::max(most, pack.rows());
  PolicyPass pass(policy, operations, most, most / 2, recompute);
  Sums sums(policy.trained());
  for (const Pack& p : packs) {
    PackedAttention attention(p.pack.segments, p.rows(), 4, at::kCPU);
    const PassInput input{p.tokens,
                          p.positions,
                          p.selected,
                          {p.tokens.const_data_ptr<int64_t>(), static_cast<size_t>(p.rows())},
                          &attention};
    at::Tensor expected;
    {
      const at::NoGradGuard guard;
      expected = policy.hidden(p.tokens, p.positions, attention).index_select(0, p.selected);
    }
    CHECK(worst(pass.forward(input, false), expected) < 1e-12);
    CHECK(worst(pass.forward(input, true), expected) < 1e-12);
    sums.completed.clear();
    pass.backward(p.weights, sums);
  }
  std::vector<int64_t> order;
  for (int64_t g = policy.trained().layout().final_group(); g >= 0; --g) order.push_back(g);
  CHECK(sums.completed == order);

  for (const auto& [name, value] : policy.trained().values()) value.requires_grad_(true);
  for (const Pack& p : packs) {
    PackedAttention attention(p.pack.segments, p.rows(), 4, at::kCPU);
    (policy.hidden(p.tokens, p.positions, attention).index_select(0, p.selected) * p.weights)
        .sum()
        .backward();
  }
  for (const auto& [name, value] : policy.trained().values()) {
    INFO(name);
    if (!value.grad().defined()) {  // a head of its own
      CHECK(sums.of(name).abs().max().item<double>() == 0);
      continue;
    }
    CHECK(value.grad().abs().max().item<double>() > 1e-6);
    CHECK(worst(sums.of(name), value.grad()) < 1e-10 * (1 + value.grad().abs().max().item<double>()));
  }
}

}  // namespace

TEST_CASE("a written-out pass has autograd's values and gradients") {
  for (const Recompute recompute : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
    for (const bool tied : {false, true}) compare(tied, recompute, {});
    LoraConfig all, some;
    all.rank = 3;
    some.rank = 2;
    some.targets = {"k_proj", "v_proj", "up_proj"};
    compare(false, recompute, all);
    compare(true, recompute, some);
  }
}

TEST_CASE("stages in which numbers stop being finite have names") {
  CHECK(PolicyPass::stage_name(0, 3) == "the input of layer 0's attention");
  CHECK(PolicyPass::stage_name(5, 3) == "the input of layer 2's MLP");
  CHECK(PolicyPass::stage_name(6, 3) == "the last layer's output");
  CHECK(PolicyPass::stage_name(7, 3) == "the log-probabilities");
  CHECK(PolicyPass::stage_name(8, 3) == "the gradient of the log-probabilities");
  CHECK(PolicyPass::stage_name(9, 3) == "the gradient of layer 2's MLP");
  CHECK(PolicyPass::stage_name(14, 3) == "the gradient of layer 0's attention");
}

}  // namespace bicrl
