// The policy's forward on an NVIDIA GPU for decoding: the layers of transformer.h as matrix products and a
// handful of kernels, over a KvCache that attention reads page by page. Activations and step arrays lie at
// fixed addresses, and launches have the shape of a number of rows, so that a CUDA graph of run() can be
// replayed for every step of at most as many rows. Refers to policy, cache and step buffer; not thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "policy/attention/attention_planner.h"
#include "policy/attention/attention_tiles.h"
#include "policy/gpu/gpu_kernels.h"
#include "policy/transformer.h"

namespace bicrl::gpu {

class PagedForward {
 public:
  // Whether there are kernels for the policy's type and shape; otherwise torch's operators run it.
  static bool supports(const PolicyConfig& config, at::Device device, at::ScalarType dtype);
  // Of what it holds beside the cache and the step buffer.
  static int64_t workspace_bytes(const PolicyConfig& config, int64_t max_rows);

  // At most `max_rows` rows a forward. Takes its place in `buffer`, which is to be allocated before the first
  // plan().
  PagedForward(const Transformer& policy, int64_t max_rows, KvCache& cache, StepBuffer& buffer);

  // Plans a forward; the step's buffer is to be uploaded behind it.
  void plan(const std::vector<CachedSegment>& segments);
  // A forward without rows: attends to nothing and stores nothing, whatever the arrays hold.
  void plan_nothing();
  int64_t planned_rows() const { return planned_rows_; }
  // Launches it over `rows` rows, at least the planned ones; what is behind those is of no meaning.
  // tokens: [rows] on the device. Layers [first, end): parts follow each other, from layer 0 on.
  void run(const int64_t* tokens, int64_t rows, int64_t first_layer, int64_t end_layer);
  void run(const int64_t* tokens, int64_t rows) { run(tokens, rows, 0, config_.layers); }
  // Marks the stored rows as valid. Call once after the forward.
  void commit();
  // The final-normed hidden states of some rows of the last forward: out [selected.size(0), hidden], of which
  // the first `count` are written. rows: [selected.size(0)] on the device.
  void select(const int64_t* rows, const int32_t* count, const at::Tensor& out);

  // A part of run(): attention of a layer over the queries that are there.
  void mix(int64_t layer, int64_t rows);

 private:
  struct FusedLayer {
    at::Tensor qkv, gate_up;  // [rows of all, hidden]
  };
  void embed(const int64_t* tokens, int64_t rows);
  void attend(int64_t layer, int64_t rows);
  void transform(int64_t layer, int64_t rows);
  void norm(int64_t rows, const at::Tensor& addend, const at::Tensor& weight);

  const Transformer& policy_;
  const PolicyConfig config_;
  KvCache& cache_;
  AttentionPlanner planner_;
  AttentionTiles planned_;
  TileLimits limits_;
  StepArray<AttentionTile> tiles_;
  StepArray<int32_t> counts_;  // wide tiles, tiles, rows
  StepArray<int32_t> pages_, first_share_;
  std::vector<CachedSegment> segments_;
  int64_t planned_rows_ = 0;
  std::vector<FusedLayer> fused_;

  // [max_rows, ..]
  at::Tensor x_;        // the sum of the branches so far, but for branch_ after the last layer
  at::Tensor normed_;   // [.., hidden]
  at::Tensor branch_;   // [.., hidden], what a branch adds
  at::Tensor qkv_;      // [.., (heads + 2 kv_heads) head_dim]
  at::Tensor rotated_;  // [.., heads head_dim]
  at::Tensor mixed_;    // likewise
  at::Tensor gate_up_, gated_;
  at::Tensor cos_, sin_;                  // [.., head_dim] fp32
  at::Tensor partial_out_, partial_log_;  // [shares, heads, head_dim] bf16, [shares, heads] fp32
};

}  // namespace bicrl::gpu
