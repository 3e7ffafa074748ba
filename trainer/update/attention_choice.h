// Choice of the backend that computes the attention of a policy's packs: the fastest of this build that can.
#pragma once
#include <memory>

#include "policy/attention/training_attention.h"

namespace bicrl {

// Logs one line where a GPU is left without its kernels.
std::unique_ptr<AttentionBackend> choose_attention(const AttentionShape& shape);

}  // namespace bicrl
