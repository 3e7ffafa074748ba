// kernel<<<...>>>(...) after the splitter: a call of launch() that knows the kernel's parameter types.
#pragma once
#include "bicrl/device.h"

#pragma GCC visibility push(default)
struct CUstream_st;
typedef CUstream_st* cudaStream_t;
namespace bicrl {

struct LaunchConfig {
  dim3 grid, block;
  size_t shared_bytes = 0;
  LaunchConfig(dim3 grid, dim3 block, size_t shared_bytes = 0, cudaStream_t = nullptr)
      : grid(grid), block(block), shared_bytes(shared_bytes) {}
};

// One kernel parameter: where it lies in the argument bytes, and whether it can hold device addresses.
struct Parameter {
  unsigned offset, bytes;
  char kind;  // 'p' pointer, 'c' pointer to const, 's' structure (scanned for pointers), 'v' plain value
};
using Invoker = void (*)(void (*entry)(), const unsigned char* arguments);

void launch_bytes(const LaunchConfig& config, const char* name, void (*entry)(), Invoker invoker,
                  const unsigned char* arguments, unsigned bytes, const Parameter* parameters,
                  unsigned count);

template <class T>
struct KindOf {
  static constexpr char value = __is_class(T) || __is_union(T) ? 's' : 'v';
};
template <class T>
struct KindOf<T*> {
  static constexpr char value = 'p';
};
template <class T>
struct KindOf<const T*> {
  static constexpr char value = 'c';
};

template <class... P>
struct Signature {
  static constexpr unsigned kCount = sizeof...(P);
  struct Table {
    Parameter of[kCount + 1] = {};
    unsigned bytes = 0;
    constexpr Table() {
      unsigned i = 0;
      ((bytes = (bytes + alignof(P) - 1) / alignof(P) * alignof(P), of[i].offset = bytes,
        of[i].bytes = sizeof(P), of[i].kind = KindOf<typename Decay<P>::type>::value, bytes += sizeof(P),
        ++i),
       ...);
    }
  };
  static constexpr Table table{};

  template <unsigned... I>
  static void call(void (*entry)(), const unsigned char* arguments, Indices<I...>) {
    reinterpret_cast<void (*)(P...)>(entry)(*reinterpret_cast<typename Decay<P>::type*>(
        const_cast<unsigned char*>(arguments) + table.of[I].offset)...);
  }
  static void invoke(void (*entry)(), const unsigned char* arguments) {
    call(entry, arguments, IndicesUpTo<kCount>());
  }
};

template <class... P>
inline void launch(const LaunchConfig& config, const char* name, void (*kernel)(P...),
                   typename Identity<P>::type... arguments) {
  using S = Signature<P...>;
  alignas(16) unsigned char bytes[S::table.bytes + 16] = {};
  unsigned i = 0;
  ((__builtin_memcpy(bytes + S::table.of[i].offset, &arguments, sizeof(P)), ++i), ...);
  (void)i;
  launch_bytes(config, name, reinterpret_cast<void (*)()>(kernel), &S::invoke, bytes, S::table.bytes,
               S::table.of, S::kCount);
}
// For template kernels: `resolve` is a generic lambda that names the specialisation for the given arguments.
template <class Resolve, class... A>
inline void launch_resolved(const LaunchConfig& config, const char* name, Resolve resolve, A&&... arguments) {
  launch(config, name, resolve(arguments...), static_cast<A&&>(arguments)...);
}

}  // namespace bicrl
#pragma GCC visibility pop
