// torch::Tensor and what belongs to it, as declarations; accessors work, because kernels take them by value.
#pragma once
#include "bicrl/core.h"
#include "bicrl/declared.h"
#include "bicrl/runtime.h"

namespace c10 {
struct Half;
struct BFloat16;
struct Float8_e4m3fn;
struct Float8_e5m2;

enum class ScalarType : int8_t {
  Byte,
  Char,
  Short,
  Int,
  Long,
  Half,
  Float,
  Double,
  ComplexHalf,
  ComplexFloat,
  ComplexDouble,
  Bool,
  QInt8,
  QUInt8,
  QInt32,
  BFloat16,
  Float8_e5m2 = 23,
  Float8_e4m3fn = 24,
  Undefined
};
constexpr ScalarType kByte = ScalarType::Byte, kUInt8 = ScalarType::Byte, kChar = ScalarType::Char,
                     kInt8 = ScalarType::Char, kShort = ScalarType::Short, kInt16 = ScalarType::Short,
                     kInt = ScalarType::Int, kInt32 = ScalarType::Int, kLong = ScalarType::Long,
                     kInt64 = ScalarType::Long, kHalf = ScalarType::Half, kFloat16 = ScalarType::Half,
                     kFloat = ScalarType::Float, kFloat32 = ScalarType::Float, kDouble = ScalarType::Double,
                     kFloat64 = ScalarType::Double, kBool = ScalarType::Bool,
                     kBFloat16 = ScalarType::BFloat16, kFloat8_e5m2 = ScalarType::Float8_e5m2,
                     kFloat8_e4m3fn = ScalarType::Float8_e4m3fn;
const char* toString(ScalarType);
size_t elementSize(ScalarType);
bool isFloatingType(ScalarType);
bool isIntegralType(ScalarType, bool);

enum class DeviceType : int8_t { CPU, CUDA };
using DeviceIndex = int8_t;
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA;
struct Device {
  constexpr Device(DeviceType, int = -1) {}
  Device(const char*);
  Device(const std::string&);
  DeviceType type() const;
  DeviceIndex index() const;
  bool is_cuda() const;
  bool is_cpu() const;
  std::string str() const;
  bool operator==(const Device&) const;
  bool operator!=(const Device&) const;
};
enum class Layout : int8_t { Strided };
constexpr Layout kStrided = Layout::Strided;
enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };
struct TensorOptions {
  constexpr TensorOptions() = default;
  constexpr TensorOptions(ScalarType) {}
  constexpr TensorOptions(Device) {}
  constexpr TensorOptions(DeviceType) {}
  TensorOptions(const char*);
  constexpr TensorOptions(MemoryFormat) {}
  TensorOptions dtype(ScalarType) const;
  TensorOptions device(Device) const;
  TensorOptions device(DeviceType, int = -1) const;
  TensorOptions device(const char*) const;
  TensorOptions layout(Layout) const;
  TensorOptions requires_grad(bool = true) const;
  TensorOptions memory_format(MemoryFormat) const;
  TensorOptions pinned_memory(bool) const;
  ScalarType dtype() const;
  Device device() const;
};
TensorOptions dtype(ScalarType);
TensorOptions device(Device);
TensorOptions requires_grad(bool = true);

class Scalar {
 public:
  constexpr Scalar() = default;
  template <class T>
  constexpr Scalar(T) {}
  bool isFloatingPoint() const;
  bool isIntegral(bool = false) const;
  bool isBoolean() const;
  template <class T>
  T to() const;
  float toFloat() const;
  double toDouble() const;
  int toInt() const;
  int64_t toLong() const;
  bool toBool() const;
};

template <class T>
class ArrayRef {
 public:
  constexpr ArrayRef() = default;
  ArrayRef(const T*, size_t);
  ArrayRef(const T&);
  ArrayRef(std::initializer_list<T>);
  template <class C,
            class = decltype(static_cast<const C*>(nullptr)->data() == static_cast<const T*>(nullptr))>
  ArrayRef(const C&);
  template <size_t n>
  ArrayRef(const T (&)[n]);
  const T* data() const;
  size_t size() const;
  bool empty() const;
  const T* begin() const;
  const T* end() const;
  const T& operator[](size_t) const;
  const T& at(size_t) const;
  const T& front() const;
  const T& back() const;
  ArrayRef slice(size_t, size_t) const;
  ArrayRef slice(size_t) const;
  std::vector<T> vec() const;
  operator std::vector<T>() const;
  bool equals(ArrayRef) const;
};
template <class T>
bool operator==(ArrayRef<T>, ArrayRef<T>);
template <class T>
bool operator!=(ArrayRef<T>, ArrayRef<T>);
using IntArrayRef = ArrayRef<int64_t>;
template <class T>
using optional = std::optional<T>;
using std::nullopt;
using std::nullopt_t;
template <class T>
struct CppTypeToScalarType {
  static constexpr ScalarType value = ScalarType::Undefined;
};

}  // namespace c10

namespace at {
using namespace c10;

template <class T>
struct DefaultPtrTraits {
  using PtrType = T*;
};
template <class T>
struct RestrictPtrTraits {
  using PtrType = T* __restrict__;
};
template <class T, size_t n, template <class> class P = DefaultPtrTraits, class I = int64_t>
class TensorAccessor {
 public:
  T* data_;
  const I* sizes_;
  const I* strides_;
  I size(int i) const { return sizes_[i]; }
  I stride(int i) const { return strides_[i]; }
  T* data() const { return data_; }
  decltype(auto) operator[](I i) const {
    if constexpr (n == 1)
      return data_[strides_[0] * i];
    else
      return TensorAccessor<T, n - 1, P, I>{data_ + strides_[0] * i, sizes_ + 1, strides_ + 1};
  }
};
template <class T, size_t n, template <class> class P = DefaultPtrTraits, class I = int64_t>
class GenericPackedTensorAccessor {
 public:
  T* data_;
  I sizes_[n];
  I strides_[n];
  I size(int i) const { return sizes_[i]; }
  I stride(int i) const { return strides_[i]; }
  T* data() const { return data_; }
  decltype(auto) operator[](I i) const {
    if constexpr (n == 1)
      return data_[strides_[0] * i];
    else
      return TensorAccessor<T, n - 1, P, I>{data_ + strides_[0] * i, sizes_ + 1, strides_ + 1};
  }
};
template <class T, size_t n, template <class> class P = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, n, P, int32_t>;
template <class T, size_t n, template <class> class P = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, n, P, int64_t>;

class Tensor {
 public:
  constexpr Tensor() = default;
  bool defined() const;
  int64_t dim() const;
  int64_t ndimension() const;
  int64_t numel() const;
  int64_t size(int64_t) const;
  int64_t stride(int64_t) const;
  IntArrayRef sizes() const;
  IntArrayRef strides() const;
  int64_t storage_offset() const;
  int64_t element_size() const;
  int64_t itemsize() const;
  size_t nbytes() const;
  ScalarType scalar_type() const;
  ScalarType dtype() const;
  ScalarType type() const;
  Device device() const;
  DeviceIndex get_device() const;
  Layout layout() const;
  TensorOptions options() const;
  bool is_cuda() const;
  bool is_cpu() const;
  bool is_contiguous(MemoryFormat = MemoryFormat::Contiguous) const;
  bool is_floating_point() const;
  bool is_same(const Tensor&) const;
  bool is_sparse() const;
  bool requires_grad() const;
  const Tensor& set_requires_grad(bool) const;
  const Tensor& requires_grad_(bool = true) const;
  Tensor detach() const;
  void* data_ptr() const;
  const void* const_data_ptr() const;
  void* mutable_data_ptr() const;
  template <class T>
  T* data_ptr() const;
  template <class T>
  T* mutable_data_ptr() const;
  template <class T>
  const T* const_data_ptr() const;
  template <class T>
  T* data() const;
  Scalar item() const;
  template <class T>
  T item() const;
  Tensor contiguous(MemoryFormat = MemoryFormat::Contiguous) const;
  Tensor clone(MemoryFormat = MemoryFormat::Preserve) const;
  Tensor view(IntArrayRef) const;
  Tensor view(ScalarType) const;
  Tensor reshape(IntArrayRef) const;
  Tensor view_as(const Tensor&) const;
  Tensor reshape_as(const Tensor&) const;
  Tensor flatten(int64_t = 0, int64_t = -1) const;
  Tensor unflatten(int64_t, IntArrayRef) const;
  Tensor squeeze() const;
  Tensor squeeze(int64_t) const;
  Tensor unsqueeze(int64_t) const;
  Tensor transpose(int64_t, int64_t) const;
  Tensor t() const;
  Tensor permute(IntArrayRef) const;
  Tensor expand(IntArrayRef, bool = false) const;
  Tensor expand_as(const Tensor&) const;
  Tensor select(int64_t, int64_t) const;
  Tensor operator[](int64_t) const;
  Tensor slice(int64_t, int64_t, int64_t, int64_t = 1) const;
  Tensor narrow(int64_t, int64_t, int64_t) const;
  Tensor as_strided(IntArrayRef, IntArrayRef) const;
  Tensor as_strided(IntArrayRef, IntArrayRef, int64_t) const;
  Tensor to(ScalarType, bool = false, bool = false) const;
  Tensor to(Device, ScalarType, bool = false, bool = false) const;
  Tensor to(const TensorOptions&, bool = false, bool = false) const;
  Tensor to(const Tensor&) const;
  Tensor toType(ScalarType) const;
  Tensor cuda() const;
  Tensor cpu() const;
  Tensor& fill_(const Scalar&);
  Tensor& zero_();
  Tensor& copy_(const Tensor&, bool = false);
  Tensor& resize_(IntArrayRef);
  Tensor new_empty(IntArrayRef, const TensorOptions& = {}) const;
  Tensor new_zeros(IntArrayRef, const TensorOptions& = {}) const;
  template <class T, size_t n>
  TensorAccessor<T, n> accessor() const;
  template <class T, size_t n, template <class> class P = DefaultPtrTraits>
  GenericPackedTensorAccessor<T, n, P, int32_t> packed_accessor32() const;
  template <class T, size_t n, template <class> class P = DefaultPtrTraits>
  GenericPackedTensorAccessor<T, n, P, int64_t> packed_accessor64() const;
};

Tensor empty(IntArrayRef, const TensorOptions& = {});
Tensor empty(IntArrayRef, const TensorOptions&, MemoryFormat);
Tensor empty_like(const Tensor&);
Tensor empty_like(const Tensor&, const TensorOptions&);
Tensor empty_like(const Tensor&, const TensorOptions&, MemoryFormat);
Tensor empty_strided(IntArrayRef, IntArrayRef, const TensorOptions& = {});
Tensor zeros(IntArrayRef, const TensorOptions& = {});
Tensor zeros_like(const Tensor&);
Tensor zeros_like(const Tensor&, const TensorOptions&);
Tensor ones(IntArrayRef, const TensorOptions& = {});
Tensor ones_like(const Tensor&);
Tensor ones_like(const Tensor&, const TensorOptions&);
Tensor full(IntArrayRef, const Scalar&, const TensorOptions& = {});
Tensor full_like(const Tensor&, const Scalar&);
Tensor full_like(const Tensor&, const Scalar&, const TensorOptions&);
Tensor from_blob(void*, IntArrayRef, const TensorOptions& = {});
template <class T>
Tensor tensor(std::initializer_list<T>, const TensorOptions& = {});
template <class T>
Tensor tensor(const T&, const TensorOptions& = {});
bool is_same_size(const Tensor&, const Tensor&);
int64_t numel(const Tensor&);
Device device_of(const Tensor&);
using TensorList = ArrayRef<Tensor>;

}  // namespace at
