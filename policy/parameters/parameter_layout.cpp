#include "policy/parameters/parameter_layout.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "common/error.h"

namespace bicrl {
namespace {

int64_t aligned(int64_t elements) {
  constexpr int64_t kStep = ParameterLayout::kAlignment;
  return (elements + kStep - 1) / kStep * kStep;
}

}  // namespace

std::string ParameterEntry::projection() const {
  const size_t end = name.rfind('.');
  if (end == std::string::npos || end == 0) return "";
  const size_t begin = name.rfind('.', end - 1);
  return name.substr(begin + 1, end - begin - 1);
}

ParameterLayout::ParameterLayout(const PolicyConfig& c) : first_layer_(1), tied_head_(c.tie_word_embeddings) {
  const int64_t q_width = c.heads * c.head_dim, kv_width = c.kv_heads * c.head_dim;
  begin_group("embedding");
  add("model.embed_tokens.weight", {c.vocab_size, c.hidden_size});
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string layer = concat("model.layers.", i, ".");
    begin_group(concat("layer ", i));
    add(layer + "input_layernorm.weight", {c.hidden_size});
    add(layer + "self_attn.q_proj.weight", {q_width, c.hidden_size});
    add(layer + "self_attn.k_proj.weight", {kv_width, c.hidden_size}, /*continues=*/true);
    add(layer + "self_attn.v_proj.weight", {kv_width, c.hidden_size}, /*continues=*/true);
    add(layer + "self_attn.o_proj.weight", {c.hidden_size, q_width});
    add(layer + "self_attn.q_norm.weight", {c.head_dim});
    add(layer + "self_attn.k_norm.weight", {c.head_dim});
    add(layer + "post_attention_layernorm.weight", {c.hidden_size});
    add(layer + "mlp.gate_proj.weight", {c.intermediate_size, c.hidden_size});
    add(layer + "mlp.up_proj.weight", {c.intermediate_size, c.hidden_size}, /*continues=*/true);
    add(layer + "mlp.down_proj.weight", {c.hidden_size, c.intermediate_size});
  }
  begin_group("final");
  add("model.norm.weight", {c.hidden_size});
  if (c.tie_word_embeddings) return;
  head_entry_ = static_cast<int64_t>(entries_.size());
  add("lm_head.weight", {c.vocab_size, c.hidden_size});
}

ParameterLayout ParameterLayout::of_adapters(const ParameterLayout& policy, const LoraConfig& lora) {
  ParameterLayout layout;
  int64_t group = -1;  // of the policy
  for (const ParameterEntry& e : policy.entries()) {
    if (!lora.adapts(e.projection())) continue;
    if (group != e.group) layout.begin_group("adapters of " + policy.group(e.group).name);
    group = e.group;
    const std::string module = e.name.substr(0, e.name.rfind('.'));
    layout.add(module + ".lora_A.weight", {lora.rank, e.shape[1]});
    layout.add(module + ".lora_B.weight", {e.shape[0], lora.rank});
  }
  return layout;
}

void ParameterLayout::begin_group(std::string name) {
  groups_.push_back({std::move(name), static_cast<int64_t>(entries_.size()), 0, 0});
}

void ParameterLayout::add(std::string name, std::vector<int64_t> shape, bool continues) {
  ParameterGroup& group = groups_.back();
  ParameterEntry entry;
  entry.name = std::move(name);
  entry.size = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  entry.is_norm = shape.size() == 1;
  entry.shape = std::move(shape);
  entry.group = group_count() - 1;
  entry.offset = group.size;
  if (continues) entry.offset = entries_.back().offset + entries_.back().size;
  group.size = aligned(entry.offset + entry.size);
  ++group.entries;
  parameter_count_ += entry.size;
  entries_.push_back(std::move(entry));
}

int64_t ParameterLayout::index_of(const std::string& name) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const ParameterEntry& entry) { return entry.name == name; });
  BICRL_CHECK(found != entries_.end(), name, " is no parameter of this policy");
  return found - entries_.begin();
}

int64_t ParameterLayout::shard_size(int64_t group, int64_t shards) const {
  return aligned((this->group(group).size + shards - 1) / shards);
}

std::vector<ParameterPiece> ParameterLayout::pieces(int64_t group, ShardOf shard) const {
  const int64_t size = shard_size(group, shard.count), begin = shard.rank * size, end = begin + size;
  std::vector<ParameterPiece> pieces;
  const ParameterGroup& g = this->group(group);
  for (int64_t i = g.first; i < g.first + g.entries; ++i) {
    const ParameterEntry& e = entry(i);
    const int64_t from = std::max(begin, e.offset), to = std::min(end, e.offset + e.size);
    if (from < to) pieces.push_back({i, from - e.offset, from - begin, to - from});
  }
  return pieces;
}

}  // namespace bicrl
