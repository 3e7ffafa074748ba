#include "trainer/update/memory/pass_memory.h"

#include <algorithm>

#include "policy/attention/packed_attention_plan.h"
#include "policy/head.h"
#include "trainer/update/operator_pass.h"

namespace bicrl {
namespace {

constexpr int64_t kWide = sizeof(float);
constexpr int64_t kIndex = sizeof(int64_t);

// Sizes of a pass's tensors: [rows, columns] in the policy's type unless the name says otherwise.
struct Sizes {
  Sizes(const PolicyConfig& c, const PassShape& shape, const PassSettings& settings)
      : own(static_cast<int64_t>(c10::elementSize(settings.dtype))),
        rows(shape.rows),
        hidden(rows * c.hidden_size * own),
        queries(rows * c.heads * c.head_dim * own),
        keys(rows * c.kv_heads * c.head_dim * own),
        inner(rows * c.intermediate_size * own),
        low(own < kWide),
        // Composed of elementwise operations, each of which keeps what its own backward pass needs.
        composed_norm(low && settings.device == c10::DeviceType::CPU),
        composed_copies(settings.lora ? 1 : 2) {}
  int64_t own, rows, hidden, queries, keys, inner;
  bool low, composed_norm;
  int64_t composed_copies;  // in fp32: what is normalised, and for the weight's gradient what comes of it

  // What the norm of a tensor of so many bytes keeps, with `groups` vectors a row.
  int64_t norm(int64_t input, int64_t groups) const {
    return norm_input(input) + rows * groups * kWide +
           (composed_norm ? composed_copies * input / own * kWide : 0);
  }
  int64_t norm_input(int64_t input) const { return composed_norm ? 0 : input; }  // of it: the tensor itself
};

struct LayerMemory {
  int64_t attention_kept = 0, mlp_kept = 0;  // without the layer's input and the sum in its middle
  int64_t attention_work = 0, mlp_work = 0;  // of their backward passes, beyond what is kept
};

// The most that a backward pass of attention has beside what its forward kept.
int64_t attention_backward(const PolicyConfig& c, const AttentionExtent& extent, const PassSettings& settings,
                           const Sizes& s) {
  return packed_attention_memory(extent, s.rows, AttentionShape::of(c, settings.dtype, settings.device))
             .backward_bytes +
         s.queries + 2 * s.keys;  // the gradients
}

LayerMemory layer_memory(const PolicyConfig& c, const AttentionExtent& extent, const PassSettings& settings,
                         const Sizes& s) {
  LayerMemory m;
  int64_t low_rank = 0;  // x A^T of each adapter
  if (settings.lora)
    low_rank = static_cast<int64_t>(settings.lora->targets.size()) * s.rows * settings.lora->rank * s.own;
  const int64_t wide_queries = s.queries / s.own * kWide;
  m.attention_kept = s.norm(s.hidden, 1) + s.hidden  // the input, and normed
                     + s.norm(s.queries, c.heads) + s.norm(s.keys, c.kv_heads) + s.queries +
                     2 * s.keys                                 // turned, and v
                     + wide_queries + s.rows * c.heads * kWide  // mixed, log-sum-exp
                     + (s.low ? s.queries : 0)                  // mixed, rounded
                     + low_rank;
  m.mlp_kept = s.norm(s.hidden, 1) + s.hidden + 4 * s.inner;  // gate, its silu, up, product
  const int64_t matrix = c.hidden_size * c.intermediate_size * s.own;
  const int64_t gradient = settings.lora ? 0 : matrix + (s.low ? 2 * matrix : 0);
  m.mlp_work = s.hidden + std::max(2 * s.inner, s.inner + gradient);
  // Beside the gradients of the layer's sum and of what is mixed, whose rounded copy is gone.
  m.attention_work =
      s.hidden + s.queries - (s.low ? s.queries : 0) + attention_backward(c, extent, settings, s);
  return m;
}

}  // namespace

PassShape PassShape::of(const PackedBatch& batch) {
  const auto count = [](const at::Tensor& ids) { return ids.defined() ? ids.numel() : 0; };
  return {batch.rows(), batch.scored(), batch.segments, count(batch.other_ids) + count(batch.kept_ids)};
}

PassShape PassShape::largest(int64_t tokens_per_pack, int64_t prompt_tokens, int64_t response_tokens,
                             int64_t rounds, int64_t block_size, int64_t scored_of_block) {
  const auto blocks = [&](int64_t tokens) { return (tokens + block_size - 1) / block_size; };
  const int64_t prompt = prompt_tokens / block_size * block_size;
  // Where there is nothing to answer, a block stands for it.
  const int64_t scored_blocks =
      std::max<int64_t>(blocks(prompt_tokens + response_tokens) - prompt / block_size, 1);
  PassShape shape;
  const auto add = [&](int64_t given_rows, int64_t answer_blocks) {
    const PackedSegment given{0, 0, shape.rows, given_rows, {}};
    PackedSegment answer{
        shape.rows, given_rows, shape.rows + given_rows, (answer_blocks - 1) * block_size, {}};
    for (int64_t block = 0; block < answer_blocks; ++block)
      for (int64_t round = 0; round < rounds; ++round)
        answer.noisy_blocks.push_back(given_rows / block_size + block);
    shape.rows += given.clean_rows + answer.rows(block_size);
    shape.scored += answer_blocks * scored_of_block;
    if (given_rows > 0) shape.segments.push_back(given);
    shape.segments.push_back(std::move(answer));
  };
  add(prompt, scored_blocks);
  const int64_t longest = shape.rows;
  while (shape.rows + longest <= tokens_per_pack) add(prompt, scored_blocks);
  // Shorter sequences fill the rest, as far as whole blocks do.
  for (const int64_t given_rows : {prompt, int64_t{0}}) {
    const int64_t left = tokens_per_pack - shape.rows - given_rows + block_size;
    if (const int64_t count = left / (block_size * (1 + rounds)); count > 0) add(given_rows, count);
  }
  return shape;
}

int64_t PassMemory::peak_bytes() const {
  return std::max(kept_bytes + std::max(head_bytes, layer_bytes), embedding_bytes);
}

PassMemory operator_pass_memory(const PolicyConfig& c, const PassShape& shape, const PassSettings& settings) {
  const Sizes s(c, shape, settings);
  const AttentionExtent extent = attention_extent(shape.segments, c.block_size);
  const LayerMemory layer = layer_memory(c, extent, settings, s);
  const int64_t head_gradient = settings.lora ? 0 : c.vocab_size * c.hidden_size * kWide;
  PassMemory m;
  // The layer's input, the sum in its middle, and its branches.
  const int64_t all = layer.attention_kept + layer.mlp_kept;
  const int64_t work = std::max(layer.mlp_work, layer.attention_work - layer.mlp_kept);
  switch (settings.recompute) {
    case Recompute::kNone:
      // With adapters nothing asks for a gradient of the embedding.
      m.kept_bytes = c.layers * all - (settings.lora ? s.norm(s.hidden, 1) : 0);
      m.layer_bytes = work;
      break;
    case Recompute::kSelective:
      m.kept_bytes = c.layers * (layer.attention_kept + s.hidden);
      m.layer_bytes = std::max(layer.mlp_kept - s.norm_input(s.hidden) + s.hidden + layer.mlp_work,
                               layer.attention_work - s.hidden);
      break;
    case Recompute::kFull:
      m.kept_bytes = c.layers * s.hidden;
      m.layer_bytes = all - s.norm_input(s.hidden) + s.hidden +
                      std::max(layer.mlp_work, layer.attention_work + s.hidden - layer.mlp_kept);
      break;
  }
  const int64_t fixed = s.rows * 2 * c.head_dim * kWide  // cosines and sines
                        + s.rows * 2 * kIndex + shape.scored * 6 * kIndex + extent.mask_bytes +
                        (extent.query_slots + extent.key_slots + 2 * s.rows) * kIndex +
                        shape.named_ids * 2 * kIndex;  // token and id
  m.kept_bytes += fixed;
  const int64_t scored_rows = shape.scored * c.hidden_size * s.own;
  m.kept_bytes += 2 * scored_rows;  // and their gradient
  const int64_t chunk_rows = std::min(OperatorPass::rows_per_chunk(c, settings.device), shape.scored);
  const int64_t logits = chunk_rows * c.vocab_size * kWide;
  // From the second chunk on there is the gradient of the head's weight.
  const int64_t again = std::clamp<int64_t>(shape.scored - chunk_rows, 0, chunk_rows) * logits / chunk_rows;
  const int64_t chunk = std::max(5 * logits, again > 0 ? 5 * again + head_gradient : 0);
  const int64_t gradient =
      std::max(2 * logits + head_gradient, again > 0 ? 2 * again + (s.low ? 1 : 2) * head_gradient : 0);
  const int64_t named = shape.named_ids * (kIndex + kWide);  // row within the chunk, probability
  m.head_bytes = s.norm(s.hidden, 1) + std::max(chunk + named, gradient);
  m.layer_bytes += c.tie_word_embeddings ? head_gradient : 0;
  m.embedding_bytes =
      fixed + 2 * scored_rows + s.hidden * 2 + (c.tie_word_embeddings ? 2 : 1) * head_gradient;
  return m;
}

}  // namespace bicrl
