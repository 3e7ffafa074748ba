// The checksum of trainer/ranks/tensor_checksum.h by a kernel of its own, which reads each word once: a chain
// of tensor operations writes and reads eight bytes for each of its some fifteen steps.
#pragma once
#include <cstdint>

struct CUstream_st;

namespace bicrl {

// Adds the checksum of words[0, count) on the device, whose first place has key number `first_key`, to
// *sum there, which the stream has set to 0 before. `words` is aligned to 4 bytes. Returns at once, with a
// cudaError_t: that of the launch.
int launch_checksum(const void* words, int64_t count, uint64_t first_key, int64_t* sum, CUstream_st* stream);

}  // namespace bicrl
