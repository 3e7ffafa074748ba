// Scalar types, devices, options, scalars and array references of the tensor interface.
#pragma once
#include <initializer_list>
#include <iosfwd>

#include "bicrl/base.h"

#pragma GCC visibility push(default)
namespace c10 {

struct Half;
struct BFloat16;
struct Float8_e4m3fn;
struct Float8_e5m2;

enum class ScalarType : int8_t {
  Byte = 0,
  Char = 1,
  Short = 2,
  Int = 3,
  Long = 4,
  Half = 5,
  Float = 6,
  Double = 7,
  ComplexFloat = 9,
  ComplexDouble = 10,
  Bool = 11,
  BFloat16 = 15,
  Float8_e5m2 = 23,
  Float8_e4m3fn = 24,
  Undefined = 44
};
constexpr ScalarType kByte = ScalarType::Byte, kUInt8 = ScalarType::Byte, kChar = ScalarType::Char,
                     kInt8 = ScalarType::Char, kShort = ScalarType::Short, kInt16 = ScalarType::Short,
                     kInt = ScalarType::Int, kInt32 = ScalarType::Int, kLong = ScalarType::Long,
                     kInt64 = ScalarType::Long, kHalf = ScalarType::Half, kFloat16 = ScalarType::Half,
                     kFloat = ScalarType::Float, kFloat32 = ScalarType::Float, kDouble = ScalarType::Double,
                     kFloat64 = ScalarType::Double, kBool = ScalarType::Bool,
                     kBFloat16 = ScalarType::BFloat16, kFloat8_e5m2 = ScalarType::Float8_e5m2,
                     kFloat8_e4m3fn = ScalarType::Float8_e4m3fn;
const char* toString(ScalarType type);
size_t elementSize(ScalarType type);
bool isFloatingType(ScalarType type);
bool isIntegralType(ScalarType type, bool with_bool);

template <class T>
struct CppTypeToScalarType;
#define BICRL_SCALAR(T, name)                             \
  template <>                                             \
  struct CppTypeToScalarType<T> {                         \
    static constexpr ScalarType value = ScalarType::name; \
  };
BICRL_SCALAR(unsigned char, Byte)
BICRL_SCALAR(signed char, Char)
BICRL_SCALAR(short, Short)
BICRL_SCALAR(int, Int)
BICRL_SCALAR(long, Long)
BICRL_SCALAR(float, Float)
BICRL_SCALAR(double, Double)
BICRL_SCALAR(bool, Bool)
BICRL_SCALAR(Half, Half)
BICRL_SCALAR(BFloat16, BFloat16)
BICRL_SCALAR(Float8_e4m3fn, Float8_e4m3fn)
BICRL_SCALAR(Float8_e5m2, Float8_e5m2)
#undef BICRL_SCALAR

enum class DeviceType : int8_t { CPU = 0, CUDA = 1 };
using DeviceIndex = int8_t;
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA;
struct Device {
  DeviceType type_;
  DeviceIndex index_;
  constexpr Device(DeviceType type, int index = -1) : type_(type), index_(static_cast<DeviceIndex>(index)) {}
  Device(const char* text);
  constexpr DeviceType type() const { return type_; }
  constexpr DeviceIndex index() const { return index_; }
  constexpr bool is_cuda() const { return type_ == DeviceType::CUDA; }
  constexpr bool is_cpu() const { return type_ == DeviceType::CPU; }
  constexpr bool operator==(const Device& o) const { return type_ == o.type_ && index_ == o.index_; }
  constexpr bool operator!=(const Device& o) const { return !(*this == o); }
  const char* str() const { return is_cuda() ? "cuda:0" : "cpu"; }
};

enum class Layout : int8_t { Strided };
constexpr Layout kStrided = Layout::Strided;
enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

struct alignas(2) TensorOptions {
  ScalarType dtype_ = ScalarType::Float;
  Device device_ = Device(DeviceType::CPU);
  bool has_dtype_ = false, has_device_ = false;
  int8_t layout_and_flags_[3] = {};  // as large as torch's
  constexpr TensorOptions() = default;
  constexpr TensorOptions(ScalarType type) : dtype_(type), has_dtype_(true) {}
  constexpr TensorOptions(Device device) : device_(device), has_device_(true) {}
  constexpr TensorOptions(DeviceType device) : device_(device), has_device_(true) {}
  TensorOptions(const char* device) : device_(device), has_device_(true) {}
  constexpr TensorOptions(Layout) {}
  constexpr TensorOptions(MemoryFormat) {}
  constexpr TensorOptions dtype(ScalarType type) const {
    TensorOptions o = *this;
    o.dtype_ = type;
    o.has_dtype_ = true;
    return o;
  }
  constexpr TensorOptions device(Device device) const {
    TensorOptions o = *this;
    o.device_ = device;
    o.has_device_ = true;
    return o;
  }
  constexpr TensorOptions device(DeviceType type, int index = -1) const {
    return device(Device(type, index));
  }
  constexpr TensorOptions layout(Layout) const { return *this; }
  constexpr TensorOptions requires_grad(bool = true) const { return *this; }
  constexpr TensorOptions memory_format(MemoryFormat) const { return *this; }
  constexpr TensorOptions pinned_memory(bool) const { return *this; }
  constexpr ScalarType dtype() const { return dtype_; }
  constexpr Device device() const { return device_; }
};
inline TensorOptions dtype(ScalarType type) { return TensorOptions(type); }
inline TensorOptions device(Device d) { return TensorOptions(d); }
inline TensorOptions requires_grad(bool = true) { return TensorOptions(); }

class Scalar {
 public:
  Scalar() = default;
  template <class T>
  Scalar(T v) : kind_(T(0.5) == T(0) ? 1 : 0), d_(static_cast<double>(v)), i_(static_cast<int64_t>(v)) {}
  Scalar(bool v) : kind_(2), d_(v), i_(v) {}
  bool isFloatingPoint() const { return kind_ == 0; }
  bool isIntegral(bool with_bool = false) const { return kind_ == 1 || (with_bool && kind_ == 2); }
  bool isBoolean() const { return kind_ == 2; }
  template <class T>
  T to() const {
    return kind_ ? static_cast<T>(i_) : static_cast<T>(d_);
  }
  float toFloat() const { return to<float>(); }
  double toDouble() const { return to<double>(); }
  int toInt() const { return to<int>(); }
  int64_t toLong() const { return to<int64_t>(); }
  bool toBool() const { return to<bool>(); }

 private:
  int kind_ = 1;
  double d_ = 0;
  int64_t i_ = 0;
};

[[noreturn]] void raise_index(size_t index, size_t size);

template <class T>
class ArrayRef {
 public:
  constexpr ArrayRef() = default;
  constexpr ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
  constexpr ArrayRef(const T& one) : data_(&one), size_(1) {}
  constexpr ArrayRef(const std::initializer_list<T>& list) : data_(list.begin()), size_(list.size()) {}
  template <class C,
            class = decltype(static_cast<const C*>(nullptr)->data() == static_cast<const T*>(nullptr))>
  constexpr ArrayRef(const C& container) : data_(container.data()), size_(container.size()) {}
  template <size_t N>
  constexpr ArrayRef(const T (&array)[N]) : data_(array), size_(N) {}
  constexpr const T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
  const T& operator[](size_t i) const {
    if (i >= size_) raise_index(i, size_);
    return data_[i];
  }
  const T& at(size_t i) const { return (*this)[i]; }
  const T& front() const { return (*this)[0]; }
  const T& back() const { return (*this)[size_ - 1]; }
  ArrayRef slice(size_t from, size_t count) const { return {data_ + from, count}; }
  ArrayRef slice(size_t from) const { return {data_ + from, size_ - from}; }
#ifdef BICRL_STD
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
  operator std::vector<T>() const { return vec(); }
#endif
  friend bool operator==(ArrayRef a, ArrayRef b) {
    if (a.size_ != b.size_) return false;
    for (size_t i = 0; i < a.size_; ++i)
      if (!(a.data_[i] == b.data_[i])) return false;
    return true;
  }
  friend bool operator!=(ArrayRef a, ArrayRef b) { return !(a == b); }
  bool equals(ArrayRef other) const { return *this == other; }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};
using IntArrayRef = ArrayRef<int64_t>;

// For programs that include <iostream>.
template <class C, class Traits>
std::basic_ostream<C, Traits>& operator<<(std::basic_ostream<C, Traits>& out, ScalarType type) {
  return out << toString(type);
}
template <class C, class Traits>
std::basic_ostream<C, Traits>& operator<<(std::basic_ostream<C, Traits>& out, const Device& device) {
  return out << device.str();
}
template <class C, class Traits, class T>
std::basic_ostream<C, Traits>& operator<<(std::basic_ostream<C, Traits>& out, const ArrayRef<T>& list) {
  out << "[";
  for (size_t i = 0; i < list.size(); ++i) out << (i ? ", " : "") << list[i];
  return out << "]";
}
#ifdef BICRL_STD
template <class T>
using optional = std::optional<T>;
using std::nullopt;
using nullopt_t = std::nullopt_t;
#endif

}  // namespace c10
namespace bicrl {
Message& operator<<(Message& m, c10::ScalarType type);
Message& operator<<(Message& m, c10::Device device);
Message& operator<<(Message& m, c10::IntArrayRef list);
}  // namespace bicrl
#pragma GCC visibility pop
