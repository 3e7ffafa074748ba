// cooperative_groups: thread blocks, tiles of up to a warp, coalesced threads. Grid-wide groups are not
// offered.
#pragma once
#include "bicrl/device.h"

namespace cooperative_groups {

struct thread_block {
  void sync(int line = __builtin_LINE()) const { bicrl_syncthreads(line); }
  unsigned thread_rank() const { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
  unsigned size() const { return blockDim.x * blockDim.y * blockDim.z; }
  unsigned num_threads() const { return size(); }
  dim3 group_index() const { return dim3(blockIdx); }
  dim3 thread_index() const { return dim3(threadIdx); }
  dim3 group_dim() const { return blockDim; }
  dim3 dim_threads() const { return blockDim; }
};
inline thread_block this_thread_block() { return {}; }

// Lanes of one warp that work together, numbered from 0 in order.
class lane_group {
 public:
  lane_group(unsigned mask, unsigned block_rank) : mask_(mask), lane_(block_rank & 31) {}
  unsigned thread_rank() const {
    return static_cast<unsigned>(__builtin_popcount(mask_ & ((1u << lane_) - 1)));
  }
  unsigned size() const { return static_cast<unsigned>(__builtin_popcount(mask_)); }
  unsigned num_threads() const { return size(); }
  unsigned mask() const { return mask_; }
  void sync(int line = __builtin_LINE()) const { bicrl_warp(bicrl::kSync, mask_, 0, 0, 32, line); }
  template <class T>
  T shfl(T v, int rank, int line = __builtin_LINE()) const {
    return take(v, rank, line);
  }
  template <class T>
  T shfl_down(T v, unsigned delta, int line = __builtin_LINE()) const {
    const unsigned to = thread_rank() + delta;
    return take(v, static_cast<int>(to < size() ? to : thread_rank()), line);
  }
  template <class T>
  T shfl_up(T v, unsigned delta, int line = __builtin_LINE()) const {
    return take(v, static_cast<int>(thread_rank() >= delta ? thread_rank() - delta : thread_rank()), line);
  }
  template <class T>
  T shfl_xor(T v, unsigned lanes, int line = __builtin_LINE()) const {
    const unsigned to = thread_rank() ^ lanes;
    return take(v, static_cast<int>(to < size() ? to : thread_rank()), line);
  }
  int any(int p, int line = __builtin_LINE()) const {
    return static_cast<int>(bicrl_warp(bicrl::kAny, mask_, p != 0, 0, 32, line));
  }
  int all(int p, int line = __builtin_LINE()) const {
    return static_cast<int>(bicrl_warp(bicrl::kAll, mask_, p != 0, 0, 32, line));
  }
  unsigned ballot(int p, int line = __builtin_LINE()) const {
    const unsigned lanes = static_cast<unsigned>(bicrl_warp(bicrl::kBallot, mask_, p != 0, 0, 32, line));
    unsigned packed = 0, rank = 0;
    for (unsigned lane = 0; lane < 32; ++lane)
      if (mask_ >> lane & 1) packed |= (lanes >> lane & 1) << rank++;
    return packed;
  }

 private:
  template <class T>
  T take(T v, int rank, int line) const {
    unsigned lane = 0;
    for (int left = rank; lane < 32; ++lane)
      if ((mask_ >> lane & 1) && left-- == 0) break;
    return bicrl::shuffle(bicrl::kShuffle, mask_, v, static_cast<int>(lane & 31), 32, line);
  }
  unsigned mask_, lane_;
};

template <unsigned N, class Parent = thread_block>
class thread_block_tile : public lane_group {
  static_assert(N >= 1 && N <= 32 && (N & (N - 1)) == 0, "tiles have 1, 2, 4, 8, 16 or 32 threads");

 public:
  explicit thread_block_tile(unsigned block_rank)
      : lane_group((N == 32 ? ~0u : ((1u << (N & 31)) - 1)) << ((block_rank & 31) / N * N), block_rank),
        index_(block_rank / N) {}
  unsigned thread_rank() const { return lane_group::thread_rank(); }
  static constexpr unsigned size() { return N; }
  static constexpr unsigned num_threads() { return N; }
  unsigned meta_group_rank() const { return index_; }
  unsigned meta_group_size() const { return (this_thread_block().size() + N - 1) / N; }

 private:
  unsigned index_;
};
template <unsigned N, class Parent>
inline thread_block_tile<N, thread_block> tiled_partition(const Parent&) {
  return thread_block_tile<N, thread_block>(this_thread_block().thread_rank());
}
using coalesced_group = lane_group;
inline coalesced_group coalesced_threads(int line = __builtin_LINE()) {
  return lane_group(bicrl_activemask(line), this_thread_block().thread_rank());
}
template <class G>
inline void sync(const G& group, int line = __builtin_LINE()) {
  group.sync(line);
}

template <class T>
struct plus {
  T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct less {
  T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T>
struct greater {
  T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T>
struct bit_and {
  T operator()(T a, T b) const { return a & b; }
};
template <class T>
struct bit_or {
  T operator()(T a, T b) const { return a | b; }
};
template <class T>
struct bit_xor {
  T operator()(T a, T b) const { return a ^ b; }
};
template <class G, class T, class Op>
inline T reduce(const G& group, T v, Op op, int line = __builtin_LINE()) {
  T sum = group.shfl(v, 0, line);
  for (unsigned i = 1; i < group.size(); ++i) sum = op(sum, group.shfl(v, static_cast<int>(i), line));
  return sum;
}

}  // namespace cooperative_groups
