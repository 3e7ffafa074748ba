// Tensors: life, geometry, data pointers, allocation, fills and copies.
#include <cstring>

#include "bicrl/check.h"
#include "runtime.h"

namespace bicrl {

View view_of(const at::Tensor& tensor) {
  const TensorImpl& t = *tensor.impl();
  return {t.storage, t.offset, t.type, t.sizes, t.strides};
}

namespace {

int64_t count_of(const std::vector<int64_t>& sizes) {
  int64_t count = 1;
  for (const int64_t n : sizes) {
    if (n < 0) fail("", 0, "negative size ", n, " in a tensor's shape");
    if (__builtin_mul_overflow(count, n, &count)) fail("", 0, "a tensor's shape is too large");
  }
  return count;
}

int64_t span_of(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  int64_t span = 1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return 0;
    span += (sizes[d] - 1) * strides[d];
  }
  return span;
}

at::Tensor allocate_tensor(std::vector<int64_t> sizes, std::vector<int64_t> strides,
                           const c10::TensorOptions& o) {
  auto* impl = new TensorImpl;
  count_of(sizes);
  const auto bytes = static_cast<uint64_t>(span_of(sizes, strides)) * c10::elementSize(o.dtype_);
  impl->sizes = std::move(sizes);
  impl->strides = std::move(strides);
  impl->type = o.dtype_;
  impl->storage = o.device_.is_cuda() ? new_tensor_storage(bytes) : new_storage(Storage::Kind::kHost, bytes);
  retain_storage(impl->storage);
  return at::Tensor(impl);
}

std::vector<int64_t> vec(c10::IntArrayRef list) { return {list.begin(), list.end()}; }

c10::TensorOptions merged(c10::TensorOptions base, const c10::TensorOptions& given) {
  if (given.has_dtype_) base = base.dtype(given.dtype_);
  if (given.has_device_) base = base.device(given.device_);
  return base;
}

// Non-overlapping and dense: empty_like and clone keep such strides.
bool keeps_strides(const TensorImpl& t) {
  int64_t count = 1;
  for (const int64_t n : t.sizes) count *= n;
  return span_of(t.sizes, t.strides) == count;
}

}  // namespace
}  // namespace bicrl

namespace at {
using namespace bicrl;

Tensor::Tensor(const Tensor& other) noexcept : impl_(other.impl_) {
  if (impl_) ++impl_->references;
}
Tensor::~Tensor() {
  if (impl_ && --impl_->references == 0) {
    release_storage(impl_->storage);
    delete impl_;
  }
}
Tensor& Tensor::operator=(const Tensor& other) noexcept {
  Tensor copy(other);
  std::swap(impl_, copy.impl_);
  return *this;
}
Tensor& Tensor::operator=(Tensor&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}

namespace {
const TensorImpl& get(const TensorImpl* impl) {
  if (!impl) fail("", 0, "the tensor is undefined");
  return *impl;
}
size_t wrap(int64_t dim, size_t dims) {
  const auto n = static_cast<int64_t>(dims);
  if (dim < -n || dim >= n)
    fail("", 0, "Dimension out of range (expected to be in range of [", -n, ", ", n - 1, "], but got ", dim,
         ")");
  return static_cast<size_t>(dim < 0 ? dim + n : dim);
}
}  // namespace

int64_t Tensor::dim() const { return static_cast<int64_t>(get(impl_).sizes.size()); }
int64_t Tensor::numel() const { return count_of(get(impl_).sizes); }
int64_t Tensor::size(int64_t dim) const { return get(impl_).sizes[wrap(dim, impl_->sizes.size())]; }
int64_t Tensor::stride(int64_t dim) const { return get(impl_).strides[wrap(dim, impl_->sizes.size())]; }
IntArrayRef Tensor::sizes() const { return IntArrayRef(get(impl_).sizes.data(), impl_->sizes.size()); }
IntArrayRef Tensor::strides() const { return IntArrayRef(get(impl_).strides.data(), impl_->strides.size()); }
int64_t Tensor::storage_offset() const { return get(impl_).offset; }
int64_t Tensor::element_size() const { return static_cast<int64_t>(elementSize(get(impl_).type)); }
ScalarType Tensor::scalar_type() const { return get(impl_).type; }
bool Tensor::is_cuda() const { return storage(get(impl_).storage).kind != Storage::Kind::kHost; }
Device Tensor::device() const { return is_cuda() ? Device(kCUDA, 0) : Device(kCPU); }
TensorOptions Tensor::options() const { return TensorOptions(scalar_type()).device(device()); }
void Tensor::check_dim(int64_t dims) const {
  if (dim() != dims) fail("", 0, "expected ", dims, " dims but tensor has ", dim());
}

bool Tensor::is_contiguous(MemoryFormat format) const {
  if (format == MemoryFormat::ChannelsLast) {
    if (dim() != 4) return false;
    const auto& n = get(impl_).sizes;
    const int64_t expected[4] = {n[1] * n[2] * n[3], 1, n[1] * n[3], n[1]};
    for (size_t d = 0; d < 4; ++d)
      if (n[d] != 1 && impl_->strides[d] != expected[d]) return false;
    return true;
  }
  const auto& t = get(impl_);
  int64_t step = 1;
  for (size_t d = t.sizes.size(); d-- > 0;) {
    if (t.sizes[d] == 0) return true;
    if (t.sizes[d] != 1 && t.strides[d] != step) return false;
    step *= t.sizes[d];
  }
  return true;
}

void* Tensor::data_ptr() const {
  const auto& t = get(impl_);
  const Storage& s = storage(t.storage);
  if (s.bytes == 0) return nullptr;
  return reinterpret_cast<void*>(s.address + static_cast<uintptr_t>(t.offset) * elementSize(t.type));
}

void* Tensor::typed_data(ScalarType type) const {
  if (get(impl_).type != type)
    fail("", 0, "expected scalar type ", toString(type), " but found ", toString(impl_->type));
  return data_ptr();
}

void Tensor::share_memory_with_streams() const { storage(get(impl_).storage).pooled = false; }

Scalar Tensor::item() const {
  if (numel() != 1) fail("", 0, "a Tensor with ", numel(), " elements cannot be converted to Scalar");
  const auto& t = get(impl_);
  const Storage& s = storage(t.storage);
  const auto at = static_cast<size_t>(t.offset) * elementSize(t.type);
  const unsigned char* from =
      s.kind == Storage::Kind::kHost ? reinterpret_cast<const unsigned char*>(s.address) : readable_values(s);
  if (!from) raise_fault("host_read", "the host part reads device data (item)");
  const int64_t none = 0;
  if (isFloatingType(t.type)) {
    double value;
    copy_elements(reinterpret_cast<unsigned char*>(&value), &none, kDouble, from + at, &none, t.type, &none,
                  0);
    return Scalar(value);
  }
  int64_t value;
  copy_elements(reinterpret_cast<unsigned char*>(&value), &none, kLong, from + at, &none, t.type, &none, 0);
  return t.type == kBool ? Scalar(value != 0) : Scalar(value);
}

Tensor& Tensor::fill_(const Scalar& value) {
  if (numel() > 0) operate_fill(view_of(*this), value);
  return *this;
}
Tensor& Tensor::zero_() { return fill_(Scalar(0)); }

Tensor& Tensor::copy_(const Tensor& source, bool) {
  const Tensor spread = source.sizes() == sizes() ? source : source.expand(sizes());
  if (numel() > 0) operate_copy(view_of(*this), view_of(spread));
  return *this;
}

Tensor Tensor::contiguous(MemoryFormat format) const {
  if (is_contiguous(format)) return *this;
  return clone(format);
}

Tensor Tensor::clone(MemoryFormat format) const {
  const auto& t = get(impl_);
  std::vector<int64_t> strides = contiguous_strides(t.sizes);
  if (format == MemoryFormat::Preserve && keeps_strides(t)) strides = t.strides;
  if (format == MemoryFormat::ChannelsLast && dim() == 4)
    strides = {t.sizes[1] * t.sizes[2] * t.sizes[3], 1, t.sizes[1] * t.sizes[3], t.sizes[1]};
  Tensor copy = allocate_tensor(t.sizes, strides, options());
  copy.copy_(*this);
  return copy;
}

Tensor Tensor::to(ScalarType type, bool, bool copy) const {
  if (type == scalar_type() && !copy) return *this;
  Tensor out = empty_like(*this, options().dtype(type));
  out.copy_(*this);
  return out;
}
Tensor Tensor::to(Device target, bool) const {
  if (target.type() == device().type()) return *this;
  Tensor out = allocate_tensor(get(impl_).sizes, contiguous_strides(impl_->sizes), options().device(target));
  out.copy_(*this);
  return out;
}
Tensor Tensor::to(Device target, ScalarType type, bool, bool) const { return to(type).to(target); }
Tensor Tensor::to(const TensorOptions& o) const {
  Tensor out = o.has_dtype_ ? to(o.dtype_) : *this;
  return o.has_device_ ? out.to(o.device_) : out;
}
Tensor Tensor::new_empty(IntArrayRef sizes, const TensorOptions& o) const {
  return empty(sizes, merged(options(), o));
}
Tensor Tensor::new_zeros(IntArrayRef sizes, const TensorOptions& o) const {
  return zeros(sizes, merged(options(), o));
}

Tensor empty(IntArrayRef sizes, const TensorOptions& o) {
  return allocate_tensor(vec(sizes), contiguous_strides(vec(sizes)), o);
}
Tensor empty(IntArrayRef sizes, const TensorOptions& o, MemoryFormat format) {
  const auto n = vec(sizes);
  if (format == MemoryFormat::ChannelsLast && n.size() == 4)
    return allocate_tensor(n, {n[1] * n[2] * n[3], 1, n[1] * n[3], n[1]}, o);
  return empty(sizes, o);
}
Tensor empty_like(const Tensor& like, const TensorOptions& o) {
  const TensorImpl& t = get(like.impl());
  return allocate_tensor(t.sizes, keeps_strides(t) ? t.strides : contiguous_strides(t.sizes),
                         merged(like.options(), o));
}
Tensor empty_like(const Tensor& like) { return empty_like(like, {}); }
Tensor empty_like(const Tensor& like, const TensorOptions& o, MemoryFormat format) {
  if (format == MemoryFormat::Preserve) return empty_like(like, o);
  return empty(like.sizes(), merged(like.options(), o), format);
}
Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides, const TensorOptions& o) {
  if (sizes.size() != strides.size()) fail("", 0, "empty_strided: sizes and strides differ in length");
  return allocate_tensor(vec(sizes), vec(strides), o);
}
Tensor full(IntArrayRef sizes, const Scalar& value, const TensorOptions& o) {
  TensorOptions chosen = o;
  if (!o.has_dtype_ && !value.isFloatingPoint()) chosen.dtype_ = value.isBoolean() ? kBool : kLong;
  Tensor out = empty(sizes, chosen);
  return out.fill_(value);
}
Tensor zeros(IntArrayRef sizes, const TensorOptions& o) {
  Tensor out = empty(sizes, o);
  return out.zero_();
}
Tensor ones(IntArrayRef sizes, const TensorOptions& o) {
  Tensor out = empty(sizes, o);
  return out.fill_(Scalar(1));
}
Tensor full_like(const Tensor& like, const Scalar& value, const TensorOptions& o) {
  Tensor out = empty_like(like, o);
  return out.fill_(value);
}
Tensor full_like(const Tensor& like, const Scalar& value) { return full_like(like, value, {}); }
Tensor zeros_like(const Tensor& like) { return full_like(like, Scalar(0), {}); }
Tensor zeros_like(const Tensor& like, const TensorOptions& o) { return full_like(like, Scalar(0), o); }
Tensor ones_like(const Tensor& like) { return full_like(like, Scalar(1), {}); }
Tensor ones_like(const Tensor& like, const TensorOptions& o) { return full_like(like, Scalar(1), o); }

Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& o) {
  const Storage* s = find_storage(data);
  if (!s) {
    Tensor host = empty(sizes, TensorOptions(o.dtype_));
    if (host.nbytes() > 0) memcpy(host.data_ptr(), data, host.nbytes());
    return host;
  }
  auto* impl = new TensorImpl;
  impl->storage = s->id;
  impl->type = o.dtype_;
  impl->offset =
      static_cast<int64_t>((reinterpret_cast<uintptr_t>(data) - s->address) / elementSize(o.dtype_));
  impl->sizes = vec(sizes);
  impl->strides = contiguous_strides(impl->sizes);
  retain_storage(impl->storage);
  return Tensor(impl);
}

Tensor tensor_of(const void* values, ScalarType type, size_t count, bool scalar, const TensorOptions& o) {
  std::vector<int64_t> sizes;
  if (!scalar) sizes.push_back(static_cast<int64_t>(count));
  Tensor host = empty(IntArrayRef(sizes.data(), sizes.size()), TensorOptions(type));
  if (count > 0) memcpy(host.data_ptr(), values, count * elementSize(type));
  return host.to(o);
}

}  // namespace at

namespace c10 {

const char* toString(ScalarType type) {
  switch (type) {
    case ScalarType::Byte:
      return "Byte";
    case ScalarType::Char:
      return "Char";
    case ScalarType::Short:
      return "Short";
    case ScalarType::Int:
      return "Int";
    case ScalarType::Long:
      return "Long";
    case ScalarType::Half:
      return "Half";
    case ScalarType::Float:
      return "Float";
    case ScalarType::Double:
      return "Double";
    case ScalarType::Bool:
      return "Bool";
    case ScalarType::BFloat16:
      return "BFloat16";
    case ScalarType::Float8_e4m3fn:
      return "Float8_e4m3fn";
    case ScalarType::Float8_e5m2:
      return "Float8_e5m2";
    default:
      return "Undefined";
  }
}

size_t elementSize(ScalarType type) {
  switch (type) {
    case ScalarType::Short:
    case ScalarType::Half:
    case ScalarType::BFloat16:
      return 2;
    case ScalarType::Int:
    case ScalarType::Float:
      return 4;
    case ScalarType::Long:
    case ScalarType::Double:
      return 8;
    default:
      return 1;
  }
}

bool isFloatingType(ScalarType type) {
  return type == ScalarType::Float || type == ScalarType::Double || type == ScalarType::Half ||
         type == ScalarType::BFloat16 || type == ScalarType::Float8_e4m3fn || type == ScalarType::Float8_e5m2;
}
bool isIntegralType(ScalarType type, bool with_bool) {
  return type == ScalarType::Bool ? with_bool : !isFloatingType(type);
}

Device::Device(const char* text) : type_(DeviceType::CPU), index_(-1) {
  if (strncmp(text, "cuda", 4) == 0) {
    type_ = DeviceType::CUDA;
    index_ = 0;
  } else if (strcmp(text, "cpu") != 0) {
    bicrl::fail("", 0, "unknown device ", text);
  }
}

void raise_index(size_t index, size_t size) {
  bicrl::fail("", 0, "ArrayRef: invalid index Index = ", index, "; Length = ", size);
}

}  // namespace c10
