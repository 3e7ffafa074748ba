// TORCH_CHECK and relatives, the dispatch macros, streams and guards, and what pybind11 is named for.
#pragma once
#include "bicrl/tensor.h"

namespace bicrl {
template <class C, class... A>
void check(const C& condition, const A&... parts);
c10::ScalarType scalar_type(c10::ScalarType type);

template <c10::ScalarType>
struct CppType;
#define BICRL_CPP(name, T)                \
  template <>                             \
  struct CppType<c10::ScalarType::name> { \
    using type = T;                       \
  };
BICRL_CPP(Byte, uint8_t)
BICRL_CPP(Char, int8_t)
BICRL_CPP(Short, int16_t)
BICRL_CPP(Int, int)
BICRL_CPP(Long, int64_t)
BICRL_CPP(Half, c10::Half)
BICRL_CPP(Float, float)
BICRL_CPP(Double, double)
BICRL_CPP(Bool, bool)
BICRL_CPP(BFloat16, c10::BFloat16)
BICRL_CPP(Float8_e4m3fn, c10::Float8_e4m3fn)
BICRL_CPP(Float8_e5m2, c10::Float8_e5m2)
#undef BICRL_CPP
}  // namespace bicrl

#define TORCH_CHECK(...) ::bicrl::check(__VA_ARGS__)
#define TORCH_INTERNAL_ASSERT TORCH_CHECK
#define TORCH_CHECK_VALUE TORCH_CHECK
#define TORCH_CHECK_TYPE TORCH_CHECK
#define TORCH_CHECK_INDEX TORCH_CHECK
#define TORCH_CHECK_NOT_IMPLEMENTED TORCH_CHECK
#define TORCH_CHECK_ARG(condition, n, ...) TORCH_CHECK(condition, __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...) ((void)0)
#define AT_ASSERT TORCH_CHECK
#define AT_ASSERTM TORCH_CHECK
#define AT_CHECK TORCH_CHECK
#define AT_ERROR(...) ::bicrl::check(false, __VA_ARGS__)
#define TORCH_CHECK_EQ(a, b, ...) TORCH_CHECK((a) == (b))
#define TORCH_CHECK_NE(a, b, ...) TORCH_CHECK((a) != (b))
#define TORCH_CHECK_LE(a, b, ...) TORCH_CHECK((a) <= (b))
#define TORCH_CHECK_LT(a, b, ...) TORCH_CHECK((a) < (b))
#define TORCH_CHECK_GE(a, b, ...) TORCH_CHECK((a) >= (b))
#define TORCH_CHECK_GT(a, b, ...) TORCH_CHECK((a) > (b))
#define CHECK_EQ TORCH_CHECK_EQ
#define TORCH_WARN(...) ((void)0)
#define TORCH_WARN_ONCE(...) ((void)0)
#define C10_CUDA_CHECK(...) ((void)(__VA_ARGS__))
#define C10_CUDA_CHECK_WARN(...) ((void)(__VA_ARGS__))
#define AT_CUDA_CHECK(...) ((void)(__VA_ARGS__))
#define AT_CUDNN_CHECK(...) ((void)(__VA_ARGS__))
#define TORCH_CUDABLAS_CHECK(...) ((void)(__VA_ARGS__))
#define C10_CUDA_KERNEL_LAUNCH_CHECK() ((void)0)
#define CUDA_KERNEL_ASSERT(...) assert(__VA_ARGS__)
#define C10_HOST_DEVICE
#define C10_DEVICE
#define C10_HOST
#define C10_ALWAYS_INLINE __forceinline__
#define C10_LIKELY(x) __builtin_expect(!!(x), 1)
#define C10_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define C10_RESTRICT __restrict__
#define C10_UNUSED [[maybe_unused]]
#define C10_WARP_SIZE 32
#define C10_LAUNCH_BOUNDS_0 __launch_bounds__(256, 4)
#define C10_LAUNCH_BOUNDS_1(a) __launch_bounds__(a)
#define C10_LAUNCH_BOUNDS_2(a, b) __launch_bounds__(a, b)
#define TORCH_API
#define AT_PRIVATE_CASE_TYPE_USING_HINT(...)
#define CUDA_1D_KERNEL_LOOP(i, n)                                                        \
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < (n); \
       i += static_cast<int64_t>(blockDim.x) * gridDim.x)
#define CUDA_KERNEL_LOOP CUDA_1D_KERNEL_LOOP

#define BICRL_EXTRA(TYPE, ...)                                      \
  case TYPE: {                                                      \
    using scalar_t [[maybe_unused]] = ::bicrl::CppType<TYPE>::type; \
    return __VA_ARGS__();                                           \
  }
#define BICRL_CASE(name, ...) BICRL_EXTRA(c10::ScalarType::name, __VA_ARGS__)
#define BICRL_DISPATCH(TYPE, NAME, ...)   \
  [&] {                                   \
    switch (::bicrl::scalar_type(TYPE)) { \
      __VA_ARGS__                         \
      default:                            \
        ::bicrl::check(false, NAME);      \
    }                                     \
  }()
#define BICRL_FLOATING(...) BICRL_CASE(Double, __VA_ARGS__) BICRL_CASE(Float, __VA_ARGS__)
#define BICRL_INTEGRAL(...)     \
  BICRL_CASE(Byte, __VA_ARGS__) \
  BICRL_CASE(Char, __VA_ARGS__) \
  BICRL_CASE(Int, __VA_ARGS__) BICRL_CASE(Long, __VA_ARGS__) BICRL_CASE(Short, __VA_ARGS__)
#define BICRL_ALL(...) BICRL_FLOATING(__VA_ARGS__) BICRL_INTEGRAL(__VA_ARGS__)
#define AT_DISPATCH_SWITCH(TYPE, NAME, ...) BICRL_DISPATCH(TYPE, NAME, __VA_ARGS__)
#define AT_DISPATCH_CASE(TYPE, ...) BICRL_EXTRA(TYPE, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES(...) BICRL_FLOATING(__VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...) BICRL_INTEGRAL(__VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...) BICRL_ALL(__VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) BICRL_DISPATCH(TYPE, NAME, BICRL_FLOATING(__VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) BICRL_DISPATCH(TYPE, NAME, BICRL_INTEGRAL(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) BICRL_DISPATCH(TYPE, NAME, BICRL_ALL(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...) \
  BICRL_DISPATCH(TYPE, NAME, BICRL_FLOATING(__VA_ARGS__) BICRL_CASE(Half, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(E1, TYPE, NAME, ...) \
  BICRL_DISPATCH(TYPE, NAME, BICRL_FLOATING(__VA_ARGS__) BICRL_EXTRA(E1, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(E1, E2, TYPE, NAME, ...) \
  BICRL_DISPATCH(TYPE, NAME,                                     \
                 BICRL_FLOATING(__VA_ARGS__) BICRL_EXTRA(E1, __VA_ARGS__) BICRL_EXTRA(E2, __VA_ARGS__))
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(TYPE, NAME, ...) \
  BICRL_DISPATCH(TYPE, NAME, BICRL_CASE(Half, __VA_ARGS__) BICRL_CASE(BFloat16, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES_AND(E1, TYPE, NAME, ...) \
  BICRL_DISPATCH(TYPE, NAME, BICRL_INTEGRAL(__VA_ARGS__) BICRL_EXTRA(E1, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(E1, TYPE, NAME, ...) \
  BICRL_DISPATCH(TYPE, NAME, BICRL_ALL(__VA_ARGS__) BICRL_EXTRA(E1, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(E1, E2, TYPE, NAME, ...) \
  BICRL_DISPATCH(TYPE, NAME, BICRL_ALL(__VA_ARGS__) BICRL_EXTRA(E1, __VA_ARGS__) BICRL_EXTRA(E2, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(E1, E2, E3, TYPE, NAME, ...)                                   \
  BICRL_DISPATCH(TYPE, NAME,                                                                      \
                 BICRL_ALL(__VA_ARGS__) BICRL_EXTRA(E1, __VA_ARGS__) BICRL_EXTRA(E2, __VA_ARGS__) \
                     BICRL_EXTRA(E3, __VA_ARGS__))

namespace c10 {
struct Error {
  const char* what() const noexcept;
};
namespace cuda {
struct CUDAStream {
  explicit CUDAStream(cudaStream_t = nullptr);
  cudaStream_t stream() const;
  operator cudaStream_t() const;
  bool operator==(const CUDAStream&) const;
  bool operator!=(const CUDAStream&) const;
  bool query() const;
  DeviceIndex device_index() const;
  int64_t id() const;
  void synchronize() const;
};
CUDAStream getCurrentCUDAStream(DeviceIndex = -1);
CUDAStream getDefaultCUDAStream(DeviceIndex = -1);
CUDAStream getStreamFromPool(bool = false, DeviceIndex = -1);
CUDAStream getStreamFromPool(int, DeviceIndex = -1);
CUDAStream getStreamFromExternal(cudaStream_t, DeviceIndex);
void setCurrentCUDAStream(CUDAStream);
DeviceIndex current_device();
DeviceIndex device_count();
void device_synchronize();
struct CUDAGuard {
  explicit CUDAGuard(Device);
  explicit CUDAGuard(DeviceIndex);
  void set_index(DeviceIndex);
};
struct OptionalCUDAGuard {
  constexpr OptionalCUDAGuard() = default;
  template <class T>
  explicit OptionalCUDAGuard(const T&);
};
struct CUDAStreamGuard {
  explicit CUDAStreamGuard(CUDAStream);
  void reset_stream(CUDAStream);
  CUDAStream original_stream() const;
  CUDAStream current_stream() const;
};
namespace CUDACachingAllocator {
struct DataPtr {
  void* get() const;
  void* mutable_get() const;
};
struct Allocator {
  DataPtr allocate(size_t);
  void* raw_alloc(size_t);
  void* raw_allocate(size_t);
  void raw_delete(void*);
};
Allocator* get();
void* raw_alloc(size_t);
void raw_delete(void*);
void emptyCache();
}  // namespace CUDACachingAllocator
}  // namespace cuda
}  // namespace c10

namespace at {
namespace cuda {
using namespace c10::cuda;
bool is_available();
const cudaDeviceProp* getCurrentDeviceProperties();
const cudaDeviceProp* getDeviceProperties(int);
int warp_size();
::bicrl::Opaque getCurrentCUDABlasHandle();
::bicrl::Opaque getCurrentCUDABlasLtHandle();
template <class T>
constexpr T ATenCeilDiv(T a, T b) {
  return (a + b - 1) / b;
}
}  // namespace cuda
namespace native {
::bicrl::Opaque getCudnnHandle();
}
template <class T>
constexpr T ceil_div(T a, T b) {
  return (a + b - 1) / b;
}
template <class T, bool>
struct AccumulateType {
  using type = T;
};
template <>
struct AccumulateType<c10::Half, true> {
  using type = float;
};
template <>
struct AccumulateType<c10::BFloat16, true> {
  using type = float;
};
template <class T, bool gpu>
using acc_type = typename AccumulateType<T, gpu>::type;
template <class T>
using opmath_type = typename AccumulateType<T, true>::type;
struct NoGradGuard {};
struct InferenceMode {
  explicit InferenceMode(bool = true);
};
struct AutoDispatchBelowADInplaceOrView {};
}  // namespace at
namespace c10 {
using at::InferenceMode;
}
namespace torch {
using namespace at;
using at::NoGradGuard;
namespace cuda {
bool is_available();
int device_count();
void synchronize(int64_t = -1);
}  // namespace cuda
template <class T, size_t n, template <class> class P = at::DefaultPtrTraits>
using PackedTensorAccessor32 = at::PackedTensorAccessor32<T, n, P>;
template <class T, size_t n, template <class> class P = at::DefaultPtrTraits>
using PackedTensorAccessor64 = at::PackedTensorAccessor64<T, n, P>;
}  // namespace torch

namespace pybind11 {
struct arg {
  constexpr explicit arg(const char*) {}
  template <class T>
  arg& operator=(const T&);
};
struct object {};
struct gil_scoped_release {};
}  // namespace pybind11
namespace py = pybind11;
#define TORCH_EXTENSION_NAME bicrl_module
// Registrations are blanked before NVRTC reads them.
#define PYBIND11_MODULE(name, variable) static void bicrl_bindings(::bicrl::Opaque& variable)
