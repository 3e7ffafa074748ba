#include <cuda_runtime_api.h>

#include <algorithm>

#include "trainer/ranks/nccl/nccl_checksum.h"

namespace bicrl {
namespace {

constexpr int kThreads = 256;
constexpr int kWarp = 32;
constexpr int64_t kBlocks =
    8 * 132;  // a few for each multiprocessor of the GPUs at hand; any number is right

__device__ uint64_t key_of(uint64_t n) {
  uint64_t z = (n + 1) * 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return (z ^ (z >> 31)) | 1;
}

// `head` words before the first one that is aligned to 16 bytes; then `quads` times four; then the rest.
__global__ void add_products(const uint32_t* words, int64_t count, int64_t head, int64_t quads,
                             uint64_t first_key, unsigned long long* sum) {
  const int64_t thread = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int64_t threads = int64_t{gridDim.x} * kThreads;
  const auto* aligned = reinterpret_cast<const uint4*>(words + head);
  uint64_t mine = 0;
  for (int64_t q = thread; q < quads; q += threads) {
    const uint4 four = aligned[q];
    const uint64_t key = first_key + static_cast<uint64_t>(head + 4 * q);
    mine +=
        four.x * key_of(key) + four.y * key_of(key + 1) + four.z * key_of(key + 2) + four.w * key_of(key + 3);
  }
  const int64_t done = head + 4 * quads;
  const int64_t single = thread < head ? thread : done + (thread - head);
  if (single < head || (single >= done && single < count))
    mine += words[single] * key_of(first_key + static_cast<uint64_t>(single));
  for (int apart = kWarp / 2; apart > 0; apart /= 2) mine += __shfl_down_sync(0xFFFFFFFF, mine, apart);
  // Sums of integers are the same in any order.
  if (threadIdx.x % kWarp == 0) atomicAdd(sum, static_cast<unsigned long long>(mine));
}

}  // namespace

int launch_checksum(const void* words, int64_t count, uint64_t first_key, int64_t* sum, CUstream_st* stream) {
  if (count == 0) return cudaSuccess;
  const auto* first = static_cast<const uint32_t*>(words);
  const auto past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(words) / sizeof(uint32_t) % 4);
  const int64_t head = std::min<int64_t>((4 - past) % 4, count);
  const int64_t quads = (count - head) / 4;
  const int64_t blocks = std::clamp<int64_t>((quads + kThreads - 1) / kThreads, 1, kBlocks);
  add_products<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(
      first, count, head, quads, first_key, reinterpret_cast<unsigned long long*>(sum));
  return cudaGetLastError();
}

}  // namespace bicrl
