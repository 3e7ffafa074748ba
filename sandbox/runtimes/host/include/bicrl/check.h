// TORCH_CHECK and relatives, the dispatch macros, and small helpers of c10 and at::cuda.
#pragma once
#include "bicrl/cuda_api.h"
#include "bicrl/tensor.h"

namespace bicrl {
template <class... A>
[[noreturn, gnu::noinline, gnu::cold]] void fail(const char* file, int line, const A&... parts) {
  Message message;
  ((message << parts), ...);
  message.raise(file, line);
}
inline c10::ScalarType scalar_type(c10::ScalarType type) { return type; }
}  // namespace bicrl

#define TORCH_CHECK(condition, ...)                                                        \
  do {                                                                                     \
    if (!(condition))                                                                      \
      ::bicrl::fail(__FILE__, __LINE__,                                                    \
                    "Expected " #condition " to be true" __VA_OPT__(, ": ", __VA_ARGS__)); \
  } while (0)
#define TORCH_INTERNAL_ASSERT TORCH_CHECK
#define TORCH_CHECK_VALUE TORCH_CHECK
#define TORCH_CHECK_TYPE TORCH_CHECK
#define TORCH_CHECK_INDEX TORCH_CHECK
#define TORCH_CHECK_NOT_IMPLEMENTED TORCH_CHECK
#define TORCH_CHECK_ARG(condition, n, ...) TORCH_CHECK(condition, __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...)
#define AT_ASSERT TORCH_CHECK
#define AT_ASSERTM TORCH_CHECK
#define AT_CHECK TORCH_CHECK
#define AT_ERROR(...) ::bicrl::fail(__FILE__, __LINE__, __VA_ARGS__)
#define TORCH_CHECK_EQ(a, b, ...) TORCH_CHECK((a) == (b))
#define TORCH_CHECK_NE(a, b, ...) TORCH_CHECK((a) != (b))
#define TORCH_CHECK_LE(a, b, ...) TORCH_CHECK((a) <= (b))
#define TORCH_CHECK_LT(a, b, ...) TORCH_CHECK((a) < (b))
#define TORCH_CHECK_GE(a, b, ...) TORCH_CHECK((a) >= (b))
#define TORCH_CHECK_GT(a, b, ...) TORCH_CHECK((a) > (b))
#define TORCH_WARN(...) ((void)0)
#define TORCH_WARN_ONCE(...) ((void)0)
#define CHECK_EQ TORCH_CHECK_EQ
#define C10_CUDA_CHECK(expression)                                                        \
  do {                                                                                    \
    const cudaError_t bicrl_error = (expression);                                         \
    if (bicrl_error != cudaSuccess) {                                                     \
      (void)cudaGetLastError();                                                           \
      ::bicrl::fail(__FILE__, __LINE__, "CUDA error: ", cudaGetErrorString(bicrl_error)); \
    }                                                                                     \
  } while (0)
#define AT_CUDA_CHECK C10_CUDA_CHECK
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define C10_CUDA_CHECK_WARN(expression) ((void)(expression))
#define C10_HOST_DEVICE
#define C10_DEVICE
#define C10_HOST
#define C10_ALWAYS_INLINE inline
#define C10_LIKELY(x) __builtin_expect(!!(x), 1)
#define C10_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define C10_RESTRICT __restrict__
#define C10_UNUSED [[maybe_unused]]
#define C10_LAUNCH_BOUNDS_0
#define C10_LAUNCH_BOUNDS_1(a)
#define C10_LAUNCH_BOUNDS_2(a, b)
#define TORCH_API

#define BICRL_CASE(enumerator, T, ...)   \
  case c10::ScalarType::enumerator: {    \
    using scalar_t [[maybe_unused]] = T; \
    return __VA_ARGS__();                \
  }
#define BICRL_DISPATCH(TYPE, NAME, ...)                                                                      \
  [&] {                                                                                                      \
    const c10::ScalarType bicrl_type = ::bicrl::scalar_type(TYPE);                                           \
    switch (bicrl_type) {                                                                                    \
      __VA_ARGS__                                                                                            \
      default:                                                                                               \
        ::bicrl::fail(__FILE__, __LINE__, "\"", NAME, "\" not implemented for '", c10::toString(bicrl_type), \
                      "'");                                                                                  \
    }                                                                                                        \
  }()
#define AT_DISPATCH_SWITCH(TYPE, NAME, ...) BICRL_DISPATCH(TYPE, NAME, __VA_ARGS__)
#define AT_DISPATCH_CASE(TYPE, ...)                                 \
  case TYPE: {                                                      \
    using scalar_t [[maybe_unused]] = ::bicrl::CppType<TYPE>::type; \
    return __VA_ARGS__();                                           \
  }
#define BICRL_FLOATING(...) BICRL_CASE(Double, double, __VA_ARGS__) BICRL_CASE(Float, float, __VA_ARGS__)
#define BICRL_INTEGRAL(...)              \
  BICRL_CASE(Byte, uint8_t, __VA_ARGS__) \
  BICRL_CASE(Char, int8_t, __VA_ARGS__)  \
  BICRL_CASE(Int, int, __VA_ARGS__)      \
  BICRL_CASE(Long, int64_t, __VA_ARGS__) BICRL_CASE(Short, int16_t, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES(...) BICRL_FLOATING(__VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...) BICRL_INTEGRAL(__VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...) BICRL_FLOATING(__VA_ARGS__) BICRL_INTEGRAL(__VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) BICRL_DISPATCH(TYPE, NAME, BICRL_FLOATING(__VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) BICRL_DISPATCH(TYPE, NAME, BICRL_INTEGRAL(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) \
  BICRL_DISPATCH(TYPE, NAME, BICRL_FLOATING(__VA_ARGS__) BICRL_INTEGRAL(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...) \
  BICRL_DISPATCH(TYPE, NAME, BICRL_FLOATING(__VA_ARGS__) BICRL_CASE(Half, c10::Half, __VA_ARGS__))
#define BICRL_EXTRA(TYPE, ...)                                      \
  case TYPE: {                                                      \
    using scalar_t [[maybe_unused]] = ::bicrl::CppType<TYPE>::type; \
    return __VA_ARGS__();                                           \
  }
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(TYPE, NAME, ...) \
  BICRL_DISPATCH(TYPE, NAME,                                \
                 BICRL_CASE(Half, c10::Half, __VA_ARGS__) BICRL_CASE(BFloat16, c10::BFloat16, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES_AND(E1, TYPE, NAME, ...) \
  BICRL_DISPATCH(TYPE, NAME, BICRL_INTEGRAL(__VA_ARGS__) BICRL_EXTRA(E1, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(EXTRA, TYPE, NAME, ...) \
  BICRL_DISPATCH(TYPE, NAME, BICRL_FLOATING(__VA_ARGS__) BICRL_EXTRA(EXTRA, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(E1, E2, TYPE, NAME, ...) \
  BICRL_DISPATCH(TYPE, NAME,                                     \
                 BICRL_FLOATING(__VA_ARGS__) BICRL_EXTRA(E1, __VA_ARGS__) BICRL_EXTRA(E2, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(EXTRA, TYPE, NAME, ...) \
  BICRL_DISPATCH(TYPE, NAME,                              \
                 BICRL_FLOATING(__VA_ARGS__) BICRL_INTEGRAL(__VA_ARGS__) BICRL_EXTRA(EXTRA, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(E1, E2, TYPE, NAME, ...)                                           \
  BICRL_DISPATCH(TYPE, NAME,                                                                          \
                 BICRL_FLOATING(__VA_ARGS__) BICRL_INTEGRAL(__VA_ARGS__) BICRL_EXTRA(E1, __VA_ARGS__) \
                     BICRL_EXTRA(E2, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(E1, E2, E3, TYPE, NAME, ...)                                       \
  BICRL_DISPATCH(TYPE, NAME,                                                                          \
                 BICRL_FLOATING(__VA_ARGS__) BICRL_INTEGRAL(__VA_ARGS__) BICRL_EXTRA(E1, __VA_ARGS__) \
                     BICRL_EXTRA(E2, __VA_ARGS__) BICRL_EXTRA(E3, __VA_ARGS__))

namespace bicrl {
template <c10::ScalarType>
struct CppType;
#define BICRL_CPP(enumerator, T)                \
  template <>                                   \
  struct CppType<c10::ScalarType::enumerator> { \
    using type = T;                             \
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

#pragma GCC visibility push(default)
namespace c10::cuda {
class CUDAStream {
 public:
  explicit CUDAStream(cudaStream_t handle = nullptr) : handle_(handle) {}
  cudaStream_t stream() const { return handle_; }
  operator cudaStream_t() const { return handle_; }
  bool operator==(const CUDAStream& other) const { return handle_ == other.handle_; }
  bool operator!=(const CUDAStream& other) const { return handle_ != other.handle_; }
  DeviceIndex device_index() const { return 0; }
  int64_t id() const { return reinterpret_cast<int64_t>(handle_); }
  bool query() const { return cudaStreamQuery(handle_) == cudaSuccess; }
  void synchronize() const { C10_CUDA_CHECK(cudaStreamSynchronize(handle_)); }

 private:
  cudaStream_t handle_;
};
inline CUDAStream getCurrentCUDAStream(DeviceIndex = -1) { return CUDAStream(::bicrl::current_stream()); }
inline CUDAStream getDefaultCUDAStream(DeviceIndex = -1) { return CUDAStream(); }
inline CUDAStream getStreamFromPool(bool = false, DeviceIndex = -1) {
  return CUDAStream(::bicrl::pool_stream());
}
inline CUDAStream getStreamFromPool(int, DeviceIndex = -1) { return CUDAStream(::bicrl::pool_stream()); }
inline CUDAStream getStreamFromExternal(cudaStream_t handle, DeviceIndex) { return CUDAStream(handle); }
inline void setCurrentCUDAStream(CUDAStream stream) { ::bicrl::set_current_stream(stream); }
inline DeviceIndex current_device() { return 0; }
inline DeviceIndex device_count() { return 1; }
inline void device_synchronize() { cudaDeviceSynchronize(); }
struct CUDAGuard {
  explicit CUDAGuard(Device) {}
  explicit CUDAGuard(DeviceIndex) {}
  void set_index(DeviceIndex) {}
};
struct OptionalCUDAGuard {
  OptionalCUDAGuard() {}
  template <class T>
  explicit OptionalCUDAGuard(const T&) {}
};
class CUDAStreamGuard {
 public:
  explicit CUDAStreamGuard(CUDAStream stream) : before_(getCurrentCUDAStream()) { reset_stream(stream); }
  CUDAStreamGuard(const CUDAStreamGuard&) = delete;
  ~CUDAStreamGuard() { setCurrentCUDAStream(before_); }
  void reset_stream(CUDAStream stream) { setCurrentCUDAStream(stream); }
  CUDAStream original_stream() const { return before_; }
  CUDAStream current_stream() const { return getCurrentCUDAStream(); }

 private:
  CUDAStream before_;
};
namespace CUDACachingAllocator {
// A device allocation that is freed with the object.
class DataPtr {
 public:
  explicit DataPtr(size_t bytes) { ::bicrl::allocate(&pointer_, bytes); }
  DataPtr(DataPtr&& other) noexcept : pointer_(other.pointer_) { other.pointer_ = nullptr; }
  ~DataPtr() { ::bicrl::release(pointer_); }
  void* get() const { return pointer_; }
  void* mutable_get() const { return pointer_; }

 private:
  void* pointer_ = nullptr;
};
struct Allocator {
  DataPtr allocate(size_t bytes) { return DataPtr(bytes); }
  void* raw_alloc(size_t bytes) {
    void* p = nullptr;
    ::bicrl::allocate(&p, bytes);
    return p;
  }
  void raw_delete(void* p) { ::bicrl::release(p); }
  void* raw_allocate(size_t bytes) { return raw_alloc(bytes); }
};
inline Allocator* get() {
  static Allocator one;
  return &one;
}
inline void* raw_alloc(size_t bytes) { return get()->raw_alloc(bytes); }
inline void raw_delete(void* p) { ::bicrl::release(p); }
inline void emptyCache() { ::bicrl::empty_cache(); }
}  // namespace CUDACachingAllocator
}  // namespace c10::cuda
namespace at {
namespace cuda {
using namespace c10::cuda;
inline bool is_available() { return true; }
const cudaDeviceProp* getCurrentDeviceProperties();
inline const cudaDeviceProp* getDeviceProperties(int) { return getCurrentDeviceProperties(); }
inline int warp_size() { return 32; }
namespace detail {
constexpr int CUDA_NUM_THREADS = 1024;
inline int GET_BLOCKS(int64_t n, int64_t threads = CUDA_NUM_THREADS) {
  TORCH_CHECK(n > 0, "CUDA kernel launch blocks must be positive");
  return static_cast<int>((n + threads - 1) / threads);
}
}  // namespace detail
class CUDAEvent {
 public:
  CUDAEvent() = default;
  explicit CUDAEvent(unsigned flags) : flags_(flags) {}
  CUDAEvent(CUDAEvent&& other) noexcept : flags_(other.flags_), event_(other.event_) {
    other.event_ = nullptr;
  }
  CUDAEvent& operator=(CUDAEvent&&) = delete;
  ~CUDAEvent() {
    if (event_) cudaEventDestroy(event_);
  }
  operator cudaEvent_t() const { return event_; }
  cudaEvent_t event() const { return event_; }
  bool isCreated() const { return event_ != nullptr; }
  void record() { record(getCurrentCUDAStream()); }
  void record(cudaStream_t stream) {
    if (!event_) C10_CUDA_CHECK(cudaEventCreateWithFlags(&event_, flags_));
    C10_CUDA_CHECK(cudaEventRecord(event_, stream));
  }
  void recordOnce(cudaStream_t stream) {
    if (!event_) record(stream);
  }
  void block(cudaStream_t stream) {
    if (event_) C10_CUDA_CHECK(cudaStreamWaitEvent(stream, event_, 0));
  }
  void synchronize() const {
    if (event_) C10_CUDA_CHECK(cudaEventSynchronize(event_));
  }
  bool query() const { return !event_ || cudaEventQuery(event_) == cudaSuccess; }
  float elapsed_time(const CUDAEvent& other) const {
    float ms = 0;
    C10_CUDA_CHECK(cudaEventElapsedTime(&ms, event_, other.event_));
    return ms;
  }

 private:
  unsigned flags_ = cudaEventDisableTiming;
  cudaEvent_t event_ = nullptr;
};
template <class T>
inline T ATenCeilDiv(T a, T b) {
  return (a + b - 1) / b;
}
}  // namespace cuda
template <class T>
inline T ceil_div(T a, T b) {
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
struct NoGradGuard {
  NoGradGuard() {}
};
struct InferenceMode {
  explicit InferenceMode(bool = true) {}
};
using c10::MemoryFormat;
}  // namespace at
namespace c10 {
using at::InferenceMode;
}
namespace torch {
using namespace at;
using NoGradGuard = at::NoGradGuard;
namespace cuda {
inline bool is_available() { return true; }
inline int device_count() { return 1; }
inline void synchronize(int64_t = -1) { cudaDeviceSynchronize(); }
}  // namespace cuda
}  // namespace torch
#pragma GCC visibility pop
