// kernel<<<...>>>(...) after the splitter: a call of launch() that knows the kernel's parameter types.
#pragma once
#include "bicrl/device.h"

#pragma GCC visibility push(default)
struct CUstream_st;
typedef CUstream_st* cudaStream_t;
enum cudaError_t : int;
namespace bicrl {

struct LaunchConfig {
  dim3 grid, block;
  size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
  bool cooperative = false;
  LaunchConfig(dim3 grid, dim3 block, size_t shared_bytes = 0, cudaStream_t stream = nullptr)
      : grid(grid), block(block), shared_bytes(shared_bytes), stream(stream) {}
};

// One kernel parameter: where it lies in the argument bytes, and whether it can hold device addresses.
struct Parameter {
  unsigned offset, bytes;
  char kind;  // 'p' pointer, 'c' pointer to const, 's' structure (scanned for pointers), 'v' plain value
};
struct ParameterList {
  const Parameter* of;
  unsigned count, bytes;
};

// A launch that a device would refuse sets the error and the run's fault; nothing is recorded then.
cudaError_t launch_bytes(const LaunchConfig& config, const void* kernel, const unsigned char* arguments,
                         const ParameterList& parameters);
cudaError_t launch_pointers(const LaunchConfig& config, const void* kernel, void** arguments,
                            const ParameterList& parameters);
// For a kernel whose type was lost: its body, which the splitter wrote, says what its parameters are.
cudaError_t launch_untyped(const LaunchConfig& config, const void* kernel, void** arguments);
void describe_kernel(const ParameterList& parameters);

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
  static ParameterList list() { return {table.of, kCount, table.bytes}; }
};
template <class F>
struct SignatureOf;
template <class... P>
struct SignatureOf<void(P...)> : Signature<P...> {};

template <class F>
inline void describe() {
  describe_kernel(SignatureOf<F>::list());
}

template <class... P>
inline cudaError_t launch(const LaunchConfig& config, void (*kernel)(P...),
                          typename Identity<P>::type... arguments) {
  using S = Signature<P...>;
  alignas(16) unsigned char bytes[S::table.bytes + 16] = {};
  unsigned i = 0;
  ((__builtin_memcpy(bytes + S::table.of[i].offset, &arguments, sizeof(P)), ++i), ...);
  (void)i;
  return launch_bytes(config, reinterpret_cast<const void*>(kernel), bytes, S::list());
}
// For kernels whose name alone does not say which is meant: `resolve` is a generic lambda that chooses by the
// arguments.
template <class Resolve, class... A>
inline cudaError_t launch_resolved(const LaunchConfig& config, Resolve resolve, A&&... arguments) {
  return launch(config, resolve(arguments...), static_cast<A&&>(arguments)...);
}

}  // namespace bicrl
#pragma GCC visibility pop
