// Estimate of the memory that one pass of a policy over a pack takes beside parameters and what the store
// keeps with them. It counts activations, attention, the head's logits, and gradients on their way. Each way
// of running a pass has its own figures. Those of torch's operators are the sums of the tensors that
// policy/transformer.cpp, packed_attention.cpp, operator_pass.cpp and gradient_buckets.cpp have at one time;
// tests/trainer/update/test_pass_memory.cpp compares them with what an allocator counts. Plain values;
// thread-safe.
#pragma once
#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "policy/attention/packed_segment.h"
#include "policy/lora_config.h"
#include "policy/pass/recompute.h"
#include "policy/policy_config.h"
#include "trainer/update/packing/packing.h"

namespace bicrl {

// What of a pack decides how large a pass's tensors become.
struct PassShape {
  int64_t rows = 0;
  int64_t scored = 0;
  std::vector<PackedSegment> segments;
  // Excluded and kept ids, which records of candidates have: of a policy at high entropy thousands a token.
  int64_t named_ids = 0;

  static PassShape of(const PackedBatch& batch);
  // The largest pack of at most `tokens_per_pack` rows, or of one longer sequence: sequences side by side
  // that have `prompt_tokens` before `response_tokens`, each of whose blocks is scored `rounds` times, with
  // `scored_of_block` terms in all, and shorter ones in what is left. No prompt is shared, and no ids are
  // named, as nothing bounds them but the vocabulary: updates look at those of their own packs.
  static PassShape largest(int64_t tokens_per_pack, int64_t prompt_tokens, int64_t response_tokens,
                           int64_t rounds, int64_t block_size, int64_t scored_of_block);
  // Each token is scored once.
  static PassShape largest(int64_t tokens_per_pack, int64_t prompt_tokens, int64_t response_tokens,
                           int64_t rounds, int64_t block_size) {
    return largest(tokens_per_pack, prompt_tokens, response_tokens, rounds, block_size, block_size);
  }
};

struct PassSettings {
  c10::ScalarType dtype = c10::kFloat;
  c10::DeviceType device = c10::DeviceType::CPU;
  Recompute recompute = Recompute::kNone;
  std::optional<LoraConfig> lora{};
  bool scales_logits = false;  // a temperature that is not 1
};

// Bytes. The graph keeps `kept` until the backward pass has been there; beside it there are, one after the
// other, the head's logits, a layer's backward pass (with what is computed again for it), and the embedding's
// gradient.
struct PassMemory {
  int64_t kept_bytes = 0;       // activations of all layers
  int64_t head_bytes = 0;       // hidden rows, logits and their copies, the gradient of the head's weight
  int64_t layer_bytes = 0;      // one layer's, and gradients on the way to their sum
  int64_t embedding_bytes = 0;  // when nothing of the layers is left
  // At the pass's peak.
  int64_t peak_bytes() const;
};
// By the scored pass that such a policy gets (scored_pass.h).
PassMemory pass_memory(const PolicyConfig& config, const PassShape& shape, const PassSettings& settings);
PassMemory operator_pass_memory(const PolicyConfig& config, const PassShape& shape,
                                const PassSettings& settings);

}  // namespace bicrl
