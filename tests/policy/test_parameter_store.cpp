#include <ATen/ATen.h>

#include "policy/parameters/parameter_store.h"
#include "policy/transformer.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <numeric>

#include "common/error.h"

namespace bicrl {
namespace {

PolicyConfig uneven_config(bool tied) {
  PolicyConfig c;
  c.vocab_size = 37;
  c.hidden_size = 12;
  c.layers = 2;
  c.heads = 3;
  c.kv_heads = 1;
  c.head_dim = 6;
  c.intermediate_size = 20;
  c.tie_word_embeddings = tied;
  c.block_size = 4;
  c.mask_token_id = 0;
  return c;
}

// Every element of every parameter has a number of its own.
void number(const ParameterStore& store) {
  int64_t next = 1;
  for (const auto& [name, value] : store.values()) {
    value.copy_(at::arange(next, next + value.numel(), at::kFloat).view(value.sizes()));
    next += value.numel();
  }
}

TEST_CASE("parameters lie in groups of the forward's order, aligned, without overlap") {
  for (const bool tied : {false, true}) {
    const PolicyConfig config = uneven_config(tied);
    const ParameterLayout layout(config);
    CHECK(layout.group_count() == 4);
    CHECK(layout.group(0).name == "embedding");
    CHECK(layout.group(layout.layer_group(1)).name == "layer 1");
    CHECK(layout.group(layout.final_group()).entries == (tied ? 1 : 2));
    CHECK(layout.parameter_count() == config.parameter_count());
    int64_t elements = 0;
    for (const ParameterEntry& e : layout.entries()) {
      const int64_t product =
          std::accumulate(e.shape.begin(), e.shape.end(), int64_t{1}, std::multiplies<>());
      CHECK(e.size == product);
      elements += e.size;
    }
    CHECK(elements == config.parameter_count());
    int64_t aligned = 0;
    for (const ParameterGroup& group : layout.groups()) {
      int64_t end = 0;
      CHECK(group.size % ParameterLayout::kAlignment == 0);
      for (int64_t i = group.first; i < group.first + group.entries; ++i) {
        const ParameterEntry& e = layout.entry(i);
        CHECK(e.offset >= end);
        CHECK(e.offset - end < ParameterLayout::kAlignment);
        aligned += e.offset % ParameterLayout::kAlignment == 0;
        end = e.offset + e.size;
        CHECK(end <= group.size);
      }
    }
    // All but k and up of each layer, which continue a neighbour of no round size here.
    CHECK(aligned == static_cast<int64_t>(layout.entries().size()) - 2 * 2);
    CHECK_THROWS_AS(layout.index_of("model.layers.2.mlp.up_proj.weight"), Error);
  }
}

TEST_CASE("shards cover every element of every parameter once, whatever their number") {
  const ParameterLayout layout(uneven_config(false));
  for (const int64_t shards : {1, 2, 3, 4, 7, 64}) {
    std::vector<std::vector<int>> covered;
    for (const ParameterEntry& e : layout.entries()) covered.emplace_back(static_cast<size_t>(e.size), 0);
    for (int64_t g = 0; g < layout.group_count(); ++g) {
      const int64_t size = layout.shard_size(g, shards);
      CHECK(size % ParameterLayout::kAlignment == 0);
      CHECK(size * shards >= layout.group(g).size);
      for (int64_t rank = 0; rank < shards; ++rank)
        for (const ParameterPiece& piece : layout.pieces(g, {rank, shards})) {
          const ParameterEntry& e = layout.entry(piece.entry);
          CHECK(e.group == g);
          CHECK(rank * size + piece.in_shard == e.offset + piece.in_entry);
          CHECK(piece.in_shard + piece.size <= size);
          for (int64_t i = 0; i < piece.size; ++i)
            ++covered[static_cast<size_t>(piece.entry)][static_cast<size_t>(piece.in_entry + i)];
        }
    }
    for (const auto& counts : covered)
      CHECK(std::all_of(counts.begin(), counts.end(), [](int count) { return count == 1; }));
  }
}

TEST_CASE("named views, fused views and flat buffers are one memory") {
  ParameterStore store(uneven_config(false), at::kCPU, at::kFloat);
  number(store);
  const auto value = [&](const std::string& name) {
    return store.values()[static_cast<size_t>(store.layout().index_of(name))].second;
  };
  const std::string layer = "model.layers.1.";
  const at::Tensor qkv = store.fused(layer + "self_attn.q_proj.weight", layer + "self_attn.v_proj.weight");
  CHECK(at::equal(qkv,
                  at::cat({value(layer + "self_attn.q_proj.weight"), value(layer + "self_attn.k_proj.weight"),
                           value(layer + "self_attn.v_proj.weight")})));
  const at::Tensor gate_up = store.fused(layer + "mlp.gate_proj.weight", layer + "mlp.up_proj.weight");
  CHECK(at::equal(gate_up,
                  at::cat({value(layer + "mlp.gate_proj.weight"), value(layer + "mlp.up_proj.weight")})));
  qkv[19][3] = -5;  // the first row of k after 18 of q
  CHECK(value(layer + "self_attn.k_proj.weight")[1][3].item<float>() == -5);
  store.group_values(2).fill_(7);
  CHECK(value(layer + "input_layernorm.weight").eq(7).all().item<bool>());
  CHECK(gate_up.eq(7).all().item<bool>());
  CHECK_FALSE(value("model.layers.0.mlp.up_proj.weight").eq(7).any().item<bool>());
  CHECK_THROWS_AS(store.fused(layer + "self_attn.q_proj.weight", layer + "self_attn.o_proj.weight"), Error);
  CHECK_THROWS_AS(store.fused(layer + "self_attn.v_proj.weight", layer + "self_attn.q_proj.weight"), Error);
  CHECK_THROWS_AS(store.fused("model.layers.0.mlp.down_proj.weight", "model.layers.1.input_layernorm.weight"),
                  Error);
}

TEST_CASE("views of a group without memory give it none") {
  ParameterStore store(ParameterLayout(uneven_config(false)), at::kCPU, at::kFloat);
  number(store);
  const at::Tensor before =
      store.fused("model.layers.0.self_attn.q_proj.weight", "model.layers.0.self_attn.v_proj.weight");
  const at::Tensor values = before.clone();
  store.keep_shards();
  const int64_t group = store.layout().layer_group(0);
  store.release(group);
  const at::Tensor fused =
      store.fused("model.layers.0.self_attn.q_proj.weight", "model.layers.0.self_attn.v_proj.weight");
  const at::Tensor whole = store.group_values(group);
  // Else whoever gathers the group's values would take it for one that has them.
  CHECK_FALSE(store.resident(group));
  store.claim(group).copy_(store.my_values(group));
  CHECK(store.resident(group));
  for (const at::Tensor& view : {before, fused}) CHECK(at::equal(view, values));
  CHECK(at::equal(whole, store.my_values(group)));
}

TEST_CASE("dividing a store keeps its values and its views") {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    const Transformer policy = Transformer::random(uneven_config(false), 4, at::kCPU, dtype);
    Transformer divided = policy.clone();
    ParameterStore& store = divided.store();
    store.divide({1, 3});
    REQUIRE(policy.parameters().size() == divided.parameters().size());
    for (size_t i = 0; i < policy.parameters().size(); ++i) {
      INFO(policy.parameters()[i].first);
      CHECK(policy.parameters()[i].first == divided.parameters()[i].first);
      CHECK(at::equal(policy.parameters()[i].second, divided.parameters()[i].second));
    }
    for (int64_t g = 0; g < store.layout().group_count(); ++g) {
      CHECK(store.group_values(g).numel() == 3 * store.shard_size(g));
      CHECK(store.my_values(g).numel() == store.shard_size(g));
      CHECK(store.my_values(g).data_ptr() == store.group_values(g)[store.shard_size(g)].data_ptr());
    }
    // The views see what is written into the new memory.
    for (int64_t g = 0; g < store.layout().group_count(); ++g) store.group_values(g).fill_(3);
    for (const auto& [name, value] : divided.parameters()) CHECK(value.eq(3).all().item<bool>());
  }
}

TEST_CASE("parts are zero at first, whole or this rank's share of them") {
  ParameterStore store(uneven_config(true), at::kCPU, at::kBFloat16);
  CHECK(store.needs_master());
  store.divide({2, 4});
  store.allocate(ParameterPart::kGradient, PartExtent::kWhole);
  store.allocate(ParameterPart::kMaster, PartExtent::kShard);
  CHECK_THROWS_AS(store.allocate(ParameterPart::kMaster, PartExtent::kShard), Error);
  CHECK_THROWS_AS(store.divide({0, 1}), Error);  // what is allocated has the old division
  for (int64_t g = 0; g < store.layout().group_count(); ++g) {
    const at::Tensor& whole = store.group_part(ParameterPart::kGradient, g);
    CHECK(whole.scalar_type() == at::kFloat);
    CHECK(whole.numel() == 4 * store.shard_size(g));
    CHECK(whole.eq(0).all().item<bool>());
    CHECK(store.my_part(ParameterPart::kGradient, g).data_ptr() == whole[2 * store.shard_size(g)].data_ptr());
    CHECK(store.group_part(ParameterPart::kMaster, g).numel() == store.shard_size(g));
  }
  store.entry_part(ParameterPart::kGradient, 2).fill_(1);  // a q projection
  CHECK(store.group_part(ParameterPart::kGradient, 1).sum().item<float>() == 18 * 12);
  store.free(ParameterPart::kGradient);
  CHECK_FALSE(store.has(ParameterPart::kGradient));
}

}  // namespace
}  // namespace bicrl
