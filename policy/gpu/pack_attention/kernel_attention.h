// Attention to packs by the kernels of pack_attention.h, behind the trainer's seam. What a forward pass keeps
// is its output and a log-sum for each row and head; a backward pass takes two passes over the pairs, without
// atomics, and gives the same bits every time.
#pragma once
#include <memory>
#include <string>

#include "policy/attention/training_attention.h"

namespace bicrl::gpu {

// Empty if there are kernels for such layers; else what of them there is none for.
std::string kernel_attention_refusal(const AttentionShape& shape);
std::unique_ptr<AttentionBackend> kernel_attention(const AttentionShape& shape);

}  // namespace bicrl::gpu
