// cooperative_groups in host code: types that functions name, and members that only a device can run.
#pragma once
#include "bicrl/device.h"

#define BICRL_GROUP_MEMBERS                                       \
  template <class... A>                                           \
  void sync(const A&...) const {                                  \
    bicrl_device_only();                                          \
  }                                                               \
  unsigned thread_rank() const { bicrl_device_only(); }           \
  unsigned long long size() const { bicrl_device_only(); }        \
  unsigned long long num_threads() const { bicrl_device_only(); } \
  unsigned num_blocks() const { bicrl_device_only(); }            \
  unsigned block_rank() const { bicrl_device_only(); }            \
  unsigned meta_group_rank() const { bicrl_device_only(); }       \
  unsigned meta_group_size() const { bicrl_device_only(); }       \
  dim3 group_index() const { bicrl_device_only(); }               \
  dim3 thread_index() const { bicrl_device_only(); }              \
  dim3 group_dim() const { bicrl_device_only(); }                 \
  dim3 dim_threads() const { bicrl_device_only(); }               \
  bool is_valid() const { bicrl_device_only(); }                  \
  template <class T, class... A>                                  \
  T shfl(const T&, const A&...) const {                           \
    bicrl_device_only();                                          \
  }                                                               \
  template <class T>                                              \
  T shfl_down(const T&, unsigned) const {                         \
    bicrl_device_only();                                          \
  }                                                               \
  template <class T>                                              \
  T shfl_up(const T&, unsigned) const {                           \
    bicrl_device_only();                                          \
  }                                                               \
  template <class T>                                              \
  T shfl_xor(const T&, unsigned) const {                          \
    bicrl_device_only();                                          \
  }                                                               \
  int any(int) const { bicrl_device_only(); }                     \
  int all(int) const { bicrl_device_only(); }                     \
  unsigned ballot(int) const { bicrl_device_only(); }

namespace cooperative_groups {
inline namespace __v1 {

struct thread_group {
  BICRL_GROUP_MEMBERS
};
struct thread_block : thread_group {};
struct grid_group : thread_group {};
struct cluster_group : thread_group {};
struct coalesced_group : thread_group {};
template <unsigned N, class Parent = void>
struct thread_block_tile : thread_group {};
inline thread_block this_thread_block() { return {}; }
inline grid_group this_grid() { return {}; }
inline cluster_group this_cluster() { return {}; }
inline coalesced_group coalesced_threads() { return {}; }
template <unsigned N, class Parent>
inline thread_block_tile<N, Parent> tiled_partition(const Parent&) {
  return {};
}
template <class Parent>
inline thread_group tiled_partition(const Parent&, unsigned) {
  return {};
}
template <class... A>
inline void sync(const A&...) {
  bicrl_device_only();
}
template <class... A>
inline void memcpy_async(const A&...) {
  bicrl_device_only();
}
template <class... A>
inline void wait(const A&...) {
  bicrl_device_only();
}
template <class G, class T, class... A>
inline T reduce(const G&, const T&, const A&...) {
  bicrl_device_only();
}
template <class G, class T, class... A>
inline T inclusive_scan(const G&, const T&, const A&...) {
  bicrl_device_only();
}
template <class G, class T, class... A>
inline T exclusive_scan(const G&, const T&, const A&...) {
  bicrl_device_only();
}
#define BICRL_OPERATION(name) \
  template <class T = void>   \
  struct name {               \
    T operator()(T, T) const; \
  };
BICRL_OPERATION(plus)
BICRL_OPERATION(less)
BICRL_OPERATION(greater)
BICRL_OPERATION(bit_and)
BICRL_OPERATION(bit_or)
BICRL_OPERATION(bit_xor)
#undef BICRL_OPERATION

}  // namespace __v1
}  // namespace cooperative_groups
#undef BICRL_GROUP_MEMBERS
