// Stands for torch and the CUDA headers where g++ compiles instances.cu.
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>
#define __global__ __attribute__((used))
#define __device__
#define __shared__
namespace c10 {
struct Half {
  unsigned short x;
};
struct BFloat16 {
  unsigned short x;
};
template <class T>
class ArrayRef {};
}  // namespace c10
namespace at {
using namespace c10;
class Tensor {};
template <class T>
struct DefaultPtrTraits {};
template <class T>
struct RestrictPtrTraits {};
template <class T, size_t n, template <class> class P = DefaultPtrTraits, class I = int64_t>
class GenericPackedTensorAccessor {
  T* data_;
};
template <class T, size_t n, template <class> class P = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, n, P, int32_t>;
}  // namespace at
namespace torch {
using namespace at;
}
#line 1 "instances.cu"
