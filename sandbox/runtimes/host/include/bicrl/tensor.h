// torch::Tensor as a view: geometry, data pointers, allocation, fills and copies. No tensor mathematics: what
// is not here does not compile. Bodies are in libbicrl_host.so.
#pragma once
#include "bicrl/framework_members.h"
#include "bicrl/launch.h"
#include "bicrl/types.h"

#pragma GCC visibility push(default)
namespace bicrl {
struct TensorImpl;
// An operator that the framework computes was called: ends the run.
[[noreturn]] void framework_call(const char* name);
}  // namespace bicrl
namespace at {
using namespace c10;

// Sizes, strides and pointer, to be passed to kernels by value.
template <class T>
struct DefaultPtrTraits {
  using PtrType = T*;
};
template <class T>
struct RestrictPtrTraits {
  using PtrType = T* __restrict__;
};
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t>
struct TensorAccessor {
  T* data_;
  const Index* sizes_;
  const Index* strides_;
  Index size(int i) const { return sizes_[i]; }
  Index stride(int i) const { return strides_[i]; }
  T* data() const { return data_; }
  decltype(auto) operator[](Index i) const {
    if constexpr (N == 1)
      return (data_[strides_[0] * i]);
    else
      return TensorAccessor<T, N - 1, Traits, Index>{data_ + strides_[0] * i, sizes_ + 1, strides_ + 1};
  }
};
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t>
struct GenericPackedTensorAccessor {
  T* data_;
  Index sizes_[N];
  Index strides_[N];
  Index size(int i) const { return sizes_[i]; }
  Index stride(int i) const { return strides_[i]; }
  T* data() const { return data_; }
  decltype(auto) operator[](Index i) const {
    return TensorAccessor<T, N, Traits, Index>{data_, sizes_, strides_}[i];
  }
};
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, Traits, int>;
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, Traits, int64_t>;

// What Tensor::type() gives: an element type that knows where its tensors lie.
class DeprecatedTypeProperties {
 public:
  DeprecatedTypeProperties(ScalarType type, bool cuda) : type_(type), cuda_(cuda) {}
  ScalarType scalarType() const { return type_; }
  bool is_cuda() const { return cuda_; }
  operator ScalarType() const { return type_; }
  operator TensorOptions() const { return TensorOptions(type_).device(cuda_ ? kCUDA : kCPU); }

 private:
  ScalarType type_;
  bool cuda_;
};

class Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor& other) noexcept;
  Tensor(Tensor&& other) noexcept : impl_(other.impl_) { other.impl_ = nullptr; }
  explicit Tensor(bicrl::TensorImpl* impl) : impl_(impl) {}  // takes over one reference
  ~Tensor();
  Tensor& operator=(const Tensor& other) noexcept;
  Tensor& operator=(Tensor&& other) noexcept;

  bool defined() const { return impl_ != nullptr; }
  int64_t dim() const;
  int64_t ndimension() const { return dim(); }
  int64_t numel() const;
  int64_t size(int64_t dim) const;
  int64_t stride(int64_t dim) const;
  IntArrayRef sizes() const;
  IntArrayRef strides() const;
  int64_t storage_offset() const;
  int64_t element_size() const;
  int64_t itemsize() const { return element_size(); }
  size_t nbytes() const { return static_cast<size_t>(numel() * element_size()); }
  ScalarType scalar_type() const;
  ScalarType dtype() const { return scalar_type(); }
  DeprecatedTypeProperties type() const { return DeprecatedTypeProperties(scalar_type(), is_cuda()); }
  Device device() const;
  DeviceIndex get_device() const { return 0; }
  Layout layout() const { return kStrided; }
  TensorOptions options() const;
  bool is_cuda() const;
  bool is_cpu() const { return !is_cuda(); }
  bool is_contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
  MemoryFormat suggest_memory_format() const {
    return is_contiguous(MemoryFormat::ChannelsLast) && !is_contiguous() ? MemoryFormat::ChannelsLast
                                                                         : MemoryFormat::Contiguous;
  }
  bool is_floating_point() const { return isFloatingType(scalar_type()); }
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }
  bool requires_grad() const { return false; }
  const Tensor& set_requires_grad(bool) const { return *this; }
  const Tensor& requires_grad_(bool = true) const { return *this; }
  Tensor detach() const { return *this; }
  // Another stream uses it: its memory goes to nobody before that one is done.
  template <class Stream>
  void record_stream(const Stream&) const {
    share_memory_with_streams();
  }

  void* data_ptr() const;
  const void* const_data_ptr() const { return data_ptr(); }
  void* mutable_data_ptr() const { return data_ptr(); }
  template <class T>
  T* data_ptr() const {
    return static_cast<T*>(typed_data(CppTypeToScalarType<typename bicrl::Decay<T>::type>::value));
  }
  template <class T>
  T* mutable_data_ptr() const {
    return data_ptr<T>();
  }
  template <class T>
  const T* const_data_ptr() const {
    return data_ptr<typename bicrl::Decay<T>::type>();
  }
  template <class T>
  T* data() const {
    return data_ptr<T>();
  }
  Scalar item() const;
  template <class T>
  T item() const {
    return item().to<T>();
  }

  Tensor contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
  Tensor clone(MemoryFormat format = MemoryFormat::Preserve) const;
  Tensor view(IntArrayRef sizes) const;
  Tensor view(ScalarType type) const;
  Tensor reshape(IntArrayRef sizes) const;
  Tensor view_as(const Tensor& other) const { return view(other.sizes()); }
  Tensor reshape_as(const Tensor& other) const { return reshape(other.sizes()); }
  Tensor flatten(int64_t from = 0, int64_t to = -1) const;
  Tensor unflatten(int64_t dim, IntArrayRef sizes) const;
  Tensor squeeze() const;
  Tensor squeeze(int64_t dim) const;
  Tensor unsqueeze(int64_t dim) const;
  Tensor transpose(int64_t a, int64_t b) const;
  Tensor t() const;
  Tensor permute(IntArrayRef order) const;
  Tensor expand(IntArrayRef sizes, bool implicit = false) const;
  Tensor expand_as(const Tensor& other) const { return expand(other.sizes()); }
  Tensor select(int64_t dim, int64_t index) const;
  Tensor operator[](int64_t index) const { return select(0, index); }
  Tensor slice(int64_t dim, int64_t from, int64_t to, int64_t step = 1) const;
  Tensor narrow(int64_t dim, int64_t from, int64_t count) const { return slice(dim, from, from + count); }
  Tensor as_strided(IntArrayRef sizes, IntArrayRef strides) const;
  Tensor as_strided(IntArrayRef sizes, IntArrayRef strides, int64_t storage_offset) const;

  Tensor to(ScalarType type, bool non_blocking = false, bool copy = false) const;
  Tensor to(Device device, bool non_blocking = false) const;
  Tensor to(DeviceType device, bool = false) const { return to(Device(device)); }
  Tensor to(Device device, ScalarType type, bool = false, bool = false) const;
  Tensor to(const Tensor& like) const { return to(like.device(), like.scalar_type()); }
  Tensor to(const TensorOptions& options) const;
  Tensor toType(ScalarType type) const { return to(type); }
  Tensor cuda() const { return to(Device(kCUDA, 0)); }
  Tensor cpu() const { return to(Device(kCPU)); }

  Tensor& fill_(const Scalar& value);
  Tensor& zero_();
  Tensor& copy_(const Tensor& source, bool non_blocking = false);
  Tensor new_empty(IntArrayRef sizes, const TensorOptions& options = {}) const;
  Tensor new_zeros(IntArrayRef sizes, const TensorOptions& options = {}) const;

  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  GenericPackedTensorAccessor<T, N, Traits, int> packed_accessor32() const {
    return packed<T, N, Traits, int>();
  }
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  GenericPackedTensorAccessor<T, N, Traits, int64_t> packed_accessor64() const {
    return packed<T, N, Traits, int64_t>();
  }
  // For CPU tensors; through one of the device's the host part reads device data.
  template <class T, size_t N>
  TensorAccessor<T, N> accessor() const {
    check_dim(N);
    return {data_ptr<T>(), sizes().data(), strides().data()};
  }
  Tensor pin_memory() const { return *this; }
  bool is_pinned() const { return false; }
  bool is_sparse() const { return false; }
  bool is_complex() const { return false; }
  bool is_non_overlapping_and_dense() const { return is_contiguous(); }

  BICRL_FRAMEWORK_MEMBERS(BICRL_MEMBER)
#ifdef BICRL_STD
#define BICRL_PAIR_MEMBER(name)                                                             \
  Tensor name() const { ::bicrl::framework_call(#name); }                                   \
  Tensor name(const Tensor&) const { ::bicrl::framework_call(#name); }                      \
  std::tuple<Tensor, Tensor> name(int64_t, int64_t = 0, bool = false, bool = false) const { \
    ::bicrl::framework_call(#name);                                                         \
  }
#else
#define BICRL_PAIR_MEMBER(name) BICRL_MEMBER(name)
#endif
  BICRL_PAIR_MEMBER(max)
  BICRL_PAIR_MEMBER(min)
  BICRL_PAIR_MEMBER(sort)
  BICRL_PAIR_MEMBER(topk)
#undef BICRL_PAIR_MEMBER
#ifdef BICRL_STD
  std::vector<Tensor> split(int64_t, int64_t = 0) const { ::bicrl::framework_call("split"); }
  std::vector<Tensor> chunk(int64_t, int64_t = 0) const { ::bicrl::framework_call("chunk"); }
#endif
  bicrl::TensorImpl* impl() const { return impl_; }

 private:
  void* typed_data(ScalarType type) const;
  void share_memory_with_streams() const;
  void check_dim(int64_t dim) const;
  template <class T, size_t N, template <class> class Traits, class Index>
  GenericPackedTensorAccessor<T, N, Traits, Index> packed() const {
    check_dim(N);
    GenericPackedTensorAccessor<T, N, Traits, Index> a{data_ptr<T>(), {}, {}};
    for (size_t i = 0; i < N; ++i) {
      a.sizes_[i] = static_cast<Index>(size(static_cast<int64_t>(i)));
      a.strides_[i] = static_cast<Index>(stride(static_cast<int64_t>(i)));
    }
    return a;
  }
  bicrl::TensorImpl* impl_ = nullptr;
};

Tensor empty(IntArrayRef sizes, const TensorOptions& options = {});
Tensor empty(IntArrayRef sizes, const TensorOptions& options, MemoryFormat format);
Tensor empty_like(const Tensor& like);
Tensor empty_like(const Tensor& like, const TensorOptions& options);
Tensor empty_like(const Tensor& like, const TensorOptions& options, MemoryFormat format);
Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {});
Tensor zeros(IntArrayRef sizes, const TensorOptions& options = {});
Tensor zeros_like(const Tensor& like);
Tensor zeros_like(const Tensor& like, const TensorOptions& options);
Tensor ones(IntArrayRef sizes, const TensorOptions& options = {});
Tensor ones_like(const Tensor& like);
Tensor ones_like(const Tensor& like, const TensorOptions& options);
Tensor full(IntArrayRef sizes, const Scalar& value, const TensorOptions& options = {});
Tensor full_like(const Tensor& like, const Scalar& value);
Tensor full_like(const Tensor& like, const Scalar& value, const TensorOptions& options);
Tensor tensor_of(const void* values, ScalarType type, size_t count, bool scalar,
                 const TensorOptions& options);
template <class T>
inline Tensor tensor(ArrayRef<T> values, const TensorOptions& options = {}) {
  return tensor_of(values.data(), CppTypeToScalarType<T>::value, values.size(), false, options);
}
template <class T>
inline Tensor tensor(std::initializer_list<T> values, const TensorOptions& options = {}) {
  return tensor_of(values.begin(), CppTypeToScalarType<T>::value, values.size(), false, options);
}
#ifdef BICRL_STD
template <class T>
inline Tensor tensor(const std::vector<T>& values, const TensorOptions& options = {}) {
  return tensor_of(values.data(), CppTypeToScalarType<T>::value, values.size(), false, options);
}
#endif
inline Tensor tensor(float v, const TensorOptions& o = {}) { return tensor_of(&v, kFloat, 1, true, o); }
inline Tensor tensor(double v, const TensorOptions& o = {}) {
  const float single = static_cast<float>(v);
  return o.has_dtype_ ? tensor_of(&v, kDouble, 1, true, o) : tensor_of(&single, kFloat, 1, true, o);
}
inline Tensor tensor(int v, const TensorOptions& o = {}) { return tensor_of(&v, kInt, 1, true, o); }
inline Tensor tensor(int64_t v, const TensorOptions& o = {}) { return tensor_of(&v, kLong, 1, true, o); }

Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {});
inline bool is_same_size(const Tensor& a, const Tensor& b) { return a.sizes() == b.sizes(); }
inline int64_t numel(const Tensor& a) { return a.numel(); }
inline Device device_of(const Tensor& a) { return a.device(); }

}  // namespace at
#undef BICRL_FRAMEWORK_MEMBERS
#undef BICRL_MEMBER
#pragma GCC visibility pop
