// Keys and values of wide tiles on their way through shared memory: a block goes over the steps of its tasks
// one behind the other, and while one step is computed the copies of the next ones are under way, also from
// one task to the next. What these copies need to know, the tile behind this one and the pages of the next
// step, a lane of each warp has loaded ahead of them, so that no thread waits for a load before it can begin
// a copy. A tile's queries come ahead of its steps in the same way, and stay.
#pragma once
#include <cstddef>

#include "policy/gpu/paged_attention/attention_arguments.cuh"
#include "policy/gpu/products/row_layout.cuh"
#include "policy/gpu/products/tensor_core.cuh"
#include "policy/gpu/products/warpgroup_products.cuh"

namespace bicrl::gpu {

constexpr int kStepKeys = 64;
constexpr int kStepPages = kStepKeys / kPageTokens;
constexpr int kPlaces = 3;                   // in shared memory, for a step or the queries of a tile
constexpr int kTilesKept = 2;                // that of the step that is computed, and the one to come
constexpr int kWideColumns = 2 * kStepKeys;  // at most: they take as much memory as a step

// The wide tasks of a block.
struct BlockTasks {
  int count, kv_heads, rounds;

  __device__ explicit BlockTasks(const AttentionArguments& a)
      : count(a.counts[0] * a.kv_heads), kv_heads(a.kv_heads) {
    rounds = count / static_cast<int>(gridDim.x);
    if (at(rounds) < count) ++rounds;
  }
  __device__ int at(int round) const { return dealt(round, blockIdx.x, gridDim.x); }
};

// In shared memory, at a multiple of kSwizzleBytes.
template <int kHeadDim>
struct StreamMemory {
  __nv_bfloat16 places[kPlaces][2 * kStepKeys * kHeadDim];  // of a step: its keys, then its values
  AttentionTile tiles[kTilesKept];                          // by round
};

// One per thread; all threads of a block call the same. Refers to arguments and memory.
template <int kHeadDim>
class KeyStream {
 public:
  static constexpr unsigned kStepBytes = kStepKeys * kHeadDim * sizeof(__nv_bfloat16);

  __device__ KeyStream(const AttentionArguments& arguments, StreamMemory<kHeadDim>& memory)
      : a_(arguments), memory_(memory), tasks_(arguments), places_(shared_address(memory.places)) {
    load_tile(0);
    enter(0);
    refill();
  }

  // Waits until what comes next is in shared memory: a step's keys, whose values are kStepBytes further.
  // Returns where; what the call before returned is of no meaning then: refill() is to be called before the
  // next step, and copies into its place.
  __device__ unsigned next() {
    if (coming_ > 2)
      wait_for_copies<2>();
    else if (coming_ > 1)
      wait_for_copies<1>();
    else
      wait_for_copies<0>();
    show_to_products();
    __syncthreads();
    taken_ &= ~spent_;
    const unsigned place = order_ % 4;
    spent_ = 1u << place;
    order_ /= 4;
    --coming_;
    return place_address(place);
  }
  // Begins copies for as long as there is a place for them.
  __device__ void refill() {
#pragma unroll 1
    while (!exhausted_ && taken_ != (1u << kPlaces) - 1) {
      const unsigned place = __ffs(static_cast<int>(~taken_)) - 1;
      taken_ |= 1u << place;
      order_ |= place << (2 * coming_);
      ++coming_;
      if (queries_due_)
        fetch_queries(own_address<kWideColumns>(place));
      else
        fetch_step(own_address<kStepKeys>(place));
      close_copies();
    }
  }
  // Likewise the queries of a tile, ahead of its first step, until they are dropped.
  __device__ unsigned next_queries() {
    const unsigned address = next();
    kept_ = spent_;
    spent_ = 0;
    refill();
    return address;
  }
  __device__ void drop_queries() { spent_ |= kept_; }

 private:
  static constexpr int kChunks = kHeadDim / 8;
  static constexpr int kPassKeys = kAttentionThreads / kChunks;  // that all threads copy at once

  __device__ unsigned place_address(unsigned place) const { return places_ + place * 2 * kStepBytes; }
  // What this thread copies of the first rows of a matrix of so many, which is at the beginning of a place.
  template <int kRows>
  __device__ unsigned own_address(unsigned place) const {
    return chunk_address<kHeadDim, kRows>(place_address(place), threadIdx.x / kChunks, threadIdx.x % kChunks);
  }

  __device__ void load_tile(int round) {
    constexpr int kWords = sizeof(AttentionTile) / sizeof(int);
    const int lane = threadIdx.x % kWarp;
    if (round < tasks_.rounds && lane < kWords)
      tile_word_ = reinterpret_cast<const int*>(a_.tiles + tasks_.at(round) / tasks_.kv_heads)[lane];
  }
  __device__ int of_tile(size_t offset) const {
    return __shfl_sync(kAllLanes, tile_word_, static_cast<int>(offset / sizeof(int)));
  }
  // The number of a page of the step at first_key_.
  __device__ void load_page() {
    const int key = first_key_ + threadIdx.x % kStepPages * kPageTokens;
    page_ = key < end_key_ ? a_.pages[first_page_ + key / kPageTokens] : 0;
  }

  // What is fetched next is the first of that round, whose tile has been loaded.
  __device__ void enter(int round) {
    round_ = round;
    exhausted_ = round >= tasks_.rounds;
    if (exhausted_) return;
    if (threadIdx.x < sizeof(AttentionTile) / sizeof(int))
      reinterpret_cast<int*>(&memory_.tiles[round % kTilesKept])[threadIdx.x] = tile_word_;
    first_page_ = of_tile(offsetof(AttentionTile, first_page));
    first_key_ = of_tile(offsetof(AttentionTile, first_key));
    end_key_ = of_tile(offsetof(AttentionTile, end_key));
    first_row_ = of_tile(offsetof(AttentionTile, first_row));
    kv_head_ = tasks_.at(round) % tasks_.kv_heads;
    columns_ = of_tile(offsetof(AttentionTile, rows)) * a_.group;
    queries_due_ = true;
    load_page();
    load_tile(round + 1);
  }

  __device__ void fetch_queries(unsigned to) {
    const int thread = static_cast<int>(threadIdx.x);
    const __nv_bfloat16* const q = a_.q + thread % kChunks * 8;
#pragma unroll 4
    for (int first = 0; first < kWideColumns; first += kPassKeys) {
      // Zeros behind the last column: nobody looks at what becomes of them.
      const bool wanted = first + thread / kChunks < columns_;
      const int column = wanted ? first + thread / kChunks : 0;
      const int64_t from = a_.place_of(first_row_ + a_.row_of(column), column, kv_head_);
      copy_async(to + first * kRowBytes<kHeadDim>, q + from * kHeadDim, wanted);
    }
    queries_due_ = false;
  }

  __device__ void fetch_step(unsigned to) {
    const int thread = static_cast<int>(threadIdx.x);
    const int left = end_key_ - first_key_ - thread / kChunks;
    const int row = 2 * a_.kv_heads * kHeadDim, page = row * kPageTokens;  // elements
    const __nv_bfloat16* const pool =
        a_.pool + (thread / kChunks * 2 * a_.kv_heads + kv_head_) * kHeadDim + thread % kChunks * 8;
#pragma unroll
    for (int first = 0; first < kStepKeys; first += kPageTokens) {
      const int64_t number = __shfl_sync(kAllLanes, page_, first / kPageTokens);
      const __nv_bfloat16* from = pool + number * page;
#pragma unroll
      for (int key = first; key < first + kPageTokens; key += kPassKeys, from += kPassKeys * row) {
        copy_async(to + key * kRowBytes<kHeadDim>, from, key < left);
        copy_async(to + key * kRowBytes<kHeadDim> + kStepBytes, from + a_.kv_heads * kHeadDim, key < left);
      }
    }
    first_key_ += kStepKeys;
    if (first_key_ < end_key_)
      load_page();
    else
      enter(round_ + 1);
  }

  const AttentionArguments& a_;
  StreamMemory<kHeadDim>& memory_;
  const BlockTasks tasks_;
  unsigned places_;  // address in shared memory
  // Of what is fetched next: its task and tile, and whether that is the tile's queries.
  int round_ = 0, kv_head_ = 0, first_page_ = 0, first_key_ = 0, end_key_ = 0, first_row_ = 0, columns_ = 0;
  bool queries_due_ = false;
  bool exhausted_ = false;  // there is nothing
  int page_ = 0;            // of its pages, one a lane
  int tile_word_ = 0;       // of the tile behind, one a lane
  // Places, a bit each: those that are being copied or read, and of these what next() returned and queries.
  unsigned taken_ = 0, spent_ = 0, kept_ = 0;
  unsigned order_ = 0;  // of those that next() has not returned, two bits each
  int coming_ = 0;      // how many these are
};

}  // namespace bicrl::gpu
