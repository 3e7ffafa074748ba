// Keys and values on their way through shared memory: a block goes over the steps of its tasks one behind the
// other, and while one step is computed the next one's copies are under way, also from one task to the next.
// What these copies need to know, tiles and numbers of pages, is copied ahead of them in the same way, so
// that no thread waits for a load before it can begin a copy.
#pragma once
#include "policy/gpu/elements.cuh"
#include "policy/gpu/tensor_core.cuh"

namespace bicrl::gpu {

constexpr int kAttentionWarps = 4;
constexpr int kAttentionThreads = kAttentionWarps * kWarp;
constexpr int kAttentionBlocks = 3;  // of a processor, side by side
constexpr int kPageTokens = 16;      // of KvCache
constexpr int kStepKeys = 64;
constexpr int kStepPages = kStepKeys / kPageTokens;
constexpr int kStages = 2;
constexpr int kTilesKept =
    4;  // those of the step that is computed, of the one that is copied, and two to come

// Arguments of attend_tiles; PagedAttention with pointers of the device's types.
struct AttentionArguments {
  const __nv_bfloat16 *q, *pool;
  const AttentionTile* tiles;
  const int32_t *tile_count, *pages;
  const int64_t* key_limits;
  float *partial_out, *partial_log;
  float scale_log2;  // of the scores, times log2(e)
  int heads, kv_heads;
};

// The tasks of a block: pairs of a tile and a key head. Costly tiles come first, so every other round goes
// backwards: whoever had the costliest of one round has the cheapest of the next.
struct BlockTasks {
  int count, kv_heads;

  __device__ explicit BlockTasks(const AttentionArguments& a)
      : count(*a.tile_count * a.kv_heads), kv_heads(a.kv_heads) {}
  // At least `count`: there is no such task.
  __device__ int at(int round) const {
    const int blocks = gridDim.x, block = blockIdx.x;
    return round * blocks + (round % 2 == 0 ? block : blocks - 1 - block);
  }
};

// In shared memory.
template <int kHeadDim>
struct StreamMemory {
  __nv_bfloat16 keys[kStages][2][kStepKeys * kHeadDim];  // and values
  AttentionTile tiles[kTilesKept];                       // by round
  alignas(16) int32_t pages[kStages][kStepPages];        // by step
};

// Rows of keys in shared memory are rotated, so that neither the copies nor the moves of matrices meet in a
// bank: the address of a row's first sixteen bytes, and, from there, that of those `chunks` further. A step
// begins at a multiple of 128.
template <int kHeadDim>
__device__ inline unsigned row_address(unsigned step, int key) {
  return step + static_cast<unsigned>(key * kHeadDim * 2 + key % 8 * 16);
}
// Also in two moves, if their numbers have no bit in common.
__device__ inline unsigned further(unsigned address, int chunks) {
  return (address ^ static_cast<unsigned>(chunks % 8 * 16)) + static_cast<unsigned>(chunks / 8 * 128);
}

// One per thread; all threads of a block call the same. Refers to arguments and memory.
template <int kHeadDim>
class KeyStream {
 public:
  static constexpr unsigned kStepBytes = kStepKeys * kHeadDim * sizeof(__nv_bfloat16);

  __device__ KeyStream(const AttentionArguments& arguments, StreamMemory<kHeadDim>& memory)
      : a_(arguments), memory_(memory), tasks_(arguments), steps_(shared_address(memory.keys)) {
    const int key = threadIdx.x / kChunks, chunk = threadIdx.x % kChunks;
    to_ = further(row_address<kHeadDim>(steps_, key), chunk);
    copy_tile(0);
    settle();
    enter(0);
    settle();
    fetch();
  }

  // Waits until the next step is in shared memory, begins the copies of the one behind it, and returns where
  // the keys lie; the values are kStepBytes further. What the call before returned is of no meaning then.
  __device__ unsigned next() {
    settle();
    arrived_ = stage(fetched_ - 1);
    fetch();
    return steps_ + arrived_;
  }
  // The memory of the step that next() returned, [kStepBytes * 2 / sizeof(float)], free to be written once
  // all threads are done with it, until the next call.
  __device__ float* spent() const {
    return reinterpret_cast<float*>(reinterpret_cast<unsigned char*>(memory_.keys) + arrived_);
  }

 private:
  static constexpr int kChunks = kHeadDim / 8;
  static constexpr int kPassKeys = kAttentionThreads / kChunks;  // that all threads copy at once

  __device__ static unsigned stage(int step) {
    return static_cast<unsigned>(step % kStages) * 2 * kStepBytes;
  }
  // All copies that were begun have arrived, for all threads.
  __device__ static void settle() {
    close_copies();
    wait_for_copies<0>();
    __syncthreads();
  }

  __device__ void copy_tile(int round) {
    constexpr int kWords = sizeof(AttentionTile) / sizeof(int);
    const int task = tasks_.at(round);
    if (task >= tasks_.count || threadIdx.x >= kWords) return;
    const int word = static_cast<int>(threadIdx.x);
    copy_word_async(shared_address(&memory_.tiles[round % kTilesKept]) + word * sizeof(int),
                    reinterpret_cast<const int*>(a_.tiles + task / tasks_.kv_heads) + word, true);
  }

  // Numbers of the pages of the step at first_key_; zeros behind the last one.
  __device__ void copy_pages() {
    const AttentionTile& tile = memory_.tiles[round_ % kTilesKept];
    const int page = static_cast<int>(threadIdx.x), key = first_key_ + page * kPageTokens;
    if (page >= kStepPages) return;
    const bool wanted = key < tile.end_key;
    copy_word_async(shared_address(&memory_.pages[fetched_ % kStages][page]),
                    a_.pages + (wanted ? tile.first_page + key / kPageTokens : 0), wanted);
  }

  // The step that is fetched next is the first one of that round. Its tile has arrived.
  __device__ void enter(int round) {
    const int task = tasks_.at(round);
    round_ = round;
    exhausted_ = task >= tasks_.count;
    if (exhausted_) return;
    first_key_ = memory_.tiles[round % kTilesKept].first_key;
    const int thread = static_cast<int>(threadIdx.x), kv_head = task % tasks_.kv_heads;
    from_ = (thread / kChunks * 2 * tasks_.kv_heads + kv_head) * kHeadDim + thread % kChunks * 8;
    copy_pages();
    copy_tile(round + 1);
  }

  // Begins the copies of a step; its pages have arrived.
  __device__ void fetch() {
    if (exhausted_) return;
    const int end_key = memory_.tiles[round_ % kTilesKept].end_key;
    const int left = end_key - first_key_ - static_cast<int>(threadIdx.x) / kChunks;
    const int row = 2 * a_.kv_heads * kHeadDim, page = row * kPageTokens;  // elements
    const int4 numbers = *reinterpret_cast<const int4*>(memory_.pages[fetched_ % kStages]);
    const int pages[kStepPages] = {numbers.x, numbers.y, numbers.z, numbers.w};
    const __nv_bfloat16* const pool = a_.pool + from_;
    const unsigned to = to_ + stage(fetched_);
#pragma unroll
    for (int key = 0; key < kStepKeys; key += kPassKeys) {
      const __nv_bfloat16* const from =
          pool + static_cast<int64_t>(pages[key / kPageTokens]) * page + key % kPageTokens * row;
      copy_async(to + key * kChunks * 16, from, key < left);
      copy_async(to + key * kChunks * 16 + kStepBytes, from + a_.kv_heads * kHeadDim, key < left);
    }
    ++fetched_;
    first_key_ += kStepKeys;
    if (first_key_ < end_key)
      copy_pages();
    else
      enter(round_ + 1);
  }

  const AttentionArguments& a_;
  StreamMemory<kHeadDim>& memory_;
  const BlockTasks tasks_;
  unsigned steps_;                 // address in shared memory
  unsigned to_;                    // of what this thread copies, within a step
  int from_;                       // likewise within a page, in elements
  int round_ = 0, first_key_ = 0;  // of the step that is fetched next
  int fetched_ = 0;                // steps so far
  unsigned arrived_ = 0;           // where the last one that was asked for begins
  bool exhausted_ = false;         // there is none
};

}  // namespace bicrl::gpu
