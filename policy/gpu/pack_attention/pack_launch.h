// The Hopper kernels of attention to packs, for the file that chooses between forms.
#pragma once
#include "policy/gpu/pack_attention/pack_attention.h"

namespace bicrl::gpu {

struct PackArguments;

// Whether this program has the Hopper form for the current device.
bool has_hopper_packs();
void start_hopper_forward(const PackWork& work, const PackArguments& arguments, Stream stream);
// The gradient of queries, with `deltas`, and then those of keys and values but for sums of parts.
void start_hopper_backward(const PackWork& work, const PackArguments& arguments, Stream stream);

}  // namespace bicrl::gpu
