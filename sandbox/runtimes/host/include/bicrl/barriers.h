// cuda:: in host code: barriers, pipelines and atomics as types; cuda::std is std.
#pragma once
#include <atomic>
#include <tuple>
#include <type_traits>
#include <utility>

#include "bicrl/device.h"

namespace cuda {
namespace std = ::std;
enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };
template <thread_scope S, class Completion = void>
struct barrier {
  using arrival_token = unsigned long long;
  unsigned long long state;
};
template <thread_scope S>
struct pipeline {};
template <thread_scope S, unsigned char stages>
struct pipeline_shared_state {};
template <class T, thread_scope S = thread_scope_system>
struct atomic {
  T value;
};
template <class T, thread_scope S = thread_scope_system>
struct atomic_ref {
  T* value;
  explicit atomic_ref(T& v) : value(&v) {}
};
template <size_t N>
struct aligned_size_t {
  size_t value;
};
#define BICRL_DEVICE(name)        \
  template <class... A>           \
  inline void name(const A&...) { \
    bicrl_device_only();          \
  }
BICRL_DEVICE(memcpy_async)
BICRL_DEVICE(init)
BICRL_DEVICE(atomic_thread_fence)
#undef BICRL_DEVICE
}  // namespace cuda
