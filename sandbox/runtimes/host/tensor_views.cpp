// Views: new geometry on the same storage.
#include <algorithm>

#include "bicrl/check.h"
#include "runtime.h"

namespace at {
using namespace bicrl;
namespace {

Tensor make_view(const Tensor& base, std::vector<int64_t> sizes, std::vector<int64_t> strides,
                 int64_t offset) {
  auto* impl = new TensorImpl;
  impl->storage = base.impl()->storage;
  impl->offset = offset;
  impl->sizes = std::move(sizes);
  impl->strides = std::move(strides);
  impl->type = base.impl()->type;
  retain_storage(impl->storage);
  return Tensor(impl);
}

size_t wrap(int64_t dim, size_t dims) {
  const auto n = static_cast<int64_t>(dims ? dims : 1);
  if (dim < -n || dim >= n)
    fail("", 0, "Dimension out of range (expected to be in range of [", -n, ", ", n - 1, "], but got ", dim,
         ")");
  return static_cast<size_t>(dim < 0 ? dim + n : dim);
}

std::vector<int64_t> resolve_sizes(const Tensor& t, IntArrayRef wanted) {
  std::vector<int64_t> sizes(wanted.begin(), wanted.end());
  int64_t known = 1, open = -1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == -1 && open < 0) {
      open = static_cast<int64_t>(d);
    } else if (sizes[d] < 0) {
      fail("", 0, "invalid shape dimension ", sizes[d]);
    } else {
      known *= sizes[d];
    }
  }
  const int64_t count = t.numel();
  if (open >= 0 && known > 0 && count % known == 0) {
    sizes[static_cast<size_t>(open)] = count / known;
    known = count;
  }
  if (known != count || (open >= 0 && sizes[static_cast<size_t>(open)] < 0))
    fail("", 0, "shape '", wanted, "' is invalid for input of size ", count);
  return sizes;
}

// Strides of a view with other sizes; false if the elements do not lie so.
bool view_strides(const TensorImpl& t, const std::vector<int64_t>& sizes, std::vector<int64_t>& strides) {
  strides.assign(sizes.size(), 1);
  int64_t count = 1;
  for (const int64_t n : sizes) count *= n;
  if (count == 0 || t.sizes.empty()) {
    strides = contiguous_strides(sizes);
    return true;
  }
  auto left = static_cast<int64_t>(sizes.size()) - 1;
  int64_t chunk_stride = t.strides.back(), chunk = 1, filled = 1;
  for (size_t d = t.sizes.size(); d-- > 0;) {
    chunk *= t.sizes[d];
    if (d != 0 && (t.sizes[d - 1] == 1 || t.strides[d - 1] == chunk * chunk_stride)) continue;
    while (left >= 0 && (filled < chunk || sizes[static_cast<size_t>(left)] == 1)) {
      strides[static_cast<size_t>(left)] = filled * chunk_stride;
      filled *= sizes[static_cast<size_t>(left--)];
    }
    if (filled != chunk) return false;
    if (d > 0) {
      chunk_stride = t.strides[d - 1];
      chunk = filled = 1;
    }
  }
  return left == -1;
}

}  // namespace

Tensor Tensor::view(IntArrayRef wanted) const {
  const auto sizes = resolve_sizes(*this, wanted);
  std::vector<int64_t> strides;
  if (!view_strides(*impl_, sizes, strides))
    fail("", 0,
         "view size is not compatible with input tensor's size and stride. Use .reshape(...) instead.");
  return make_view(*this, sizes, strides, impl_->offset);
}

Tensor Tensor::view(ScalarType type) const {
  if (elementSize(type) != elementSize(scalar_type())) fail("", 0, "view(dtype) between element sizes");
  Tensor out = make_view(*this, impl_->sizes, impl_->strides, impl_->offset);
  out.impl_->type = type;
  return out;
}

Tensor Tensor::reshape(IntArrayRef wanted) const {
  const auto sizes = resolve_sizes(*this, wanted);
  std::vector<int64_t> strides;
  if (view_strides(*impl_, sizes, strides)) return make_view(*this, sizes, strides, impl_->offset);
  return contiguous().view(wanted);
}

Tensor Tensor::flatten(int64_t from, int64_t to) const {
  if (dim() == 0) return reshape(IntArrayRef(int64_t{1}));
  const size_t a = wrap(from, impl_->sizes.size()), b = wrap(to, impl_->sizes.size());
  if (a > b) fail("", 0, "flatten() has invalid args: start_dim cannot come after end_dim");
  std::vector<int64_t> sizes(impl_->sizes.begin(), impl_->sizes.begin() + static_cast<long>(a));
  int64_t middle = 1;
  for (size_t d = a; d <= b; ++d) middle *= impl_->sizes[d];
  sizes.push_back(middle);
  sizes.insert(sizes.end(), impl_->sizes.begin() + static_cast<long>(b) + 1, impl_->sizes.end());
  return reshape(IntArrayRef(sizes.data(), sizes.size()));
}

Tensor Tensor::unflatten(int64_t dim, IntArrayRef inner) const {
  const size_t d = wrap(dim, impl_->sizes.size());
  std::vector<int64_t> sizes(impl_->sizes.begin(), impl_->sizes.begin() + static_cast<long>(d));
  sizes.insert(sizes.end(), inner.begin(), inner.end());
  sizes.insert(sizes.end(), impl_->sizes.begin() + static_cast<long>(d) + 1, impl_->sizes.end());
  return view(IntArrayRef(sizes.data(), sizes.size()));
}

Tensor Tensor::squeeze() const {
  std::vector<int64_t> sizes, strides;
  for (size_t d = 0; d < impl_->sizes.size(); ++d) {
    if (impl_->sizes[d] == 1) continue;
    sizes.push_back(impl_->sizes[d]);
    strides.push_back(impl_->strides[d]);
  }
  return make_view(*this, sizes, strides, impl_->offset);
}

Tensor Tensor::squeeze(int64_t dim) const {
  auto sizes = impl_->sizes, strides = impl_->strides;
  const size_t d = wrap(dim, sizes.size());
  if (!sizes.empty() && sizes[d] == 1) {
    sizes.erase(sizes.begin() + static_cast<long>(d));
    strides.erase(strides.begin() + static_cast<long>(d));
  }
  return make_view(*this, sizes, strides, impl_->offset);
}

Tensor Tensor::unsqueeze(int64_t dim) const {
  auto sizes = impl_->sizes, strides = impl_->strides;
  const size_t d = wrap(dim, sizes.size() + 1);
  const int64_t stride = d < sizes.size() ? sizes[d] * strides[d] : 1;
  sizes.insert(sizes.begin() + static_cast<long>(d), 1);
  strides.insert(strides.begin() + static_cast<long>(d), stride);
  return make_view(*this, sizes, strides, impl_->offset);
}

Tensor Tensor::transpose(int64_t a, int64_t b) const {
  auto sizes = impl_->sizes, strides = impl_->strides;
  if (!sizes.empty()) {
    const size_t i = wrap(a, sizes.size()), j = wrap(b, sizes.size());
    std::swap(sizes[i], sizes[j]);
    std::swap(strides[i], strides[j]);
  }
  return make_view(*this, sizes, strides, impl_->offset);
}

Tensor Tensor::t() const {
  if (dim() > 2) fail("", 0, "t() expects a tensor with <= 2 dimensions, but self is ", dim(), "D");
  return dim() < 2 ? *this : transpose(0, 1);
}

Tensor Tensor::permute(IntArrayRef order) const {
  const size_t dims = impl_->sizes.size();
  if (order.size() != dims) fail("", 0, "permute: number of dimensions does not match");
  std::vector<int64_t> sizes(dims), strides(dims);
  std::vector<bool> seen(dims);
  for (size_t d = 0; d < dims; ++d) {
    const size_t from = wrap(order[d], dims);
    if (seen[from]) fail("", 0, "permute: duplicate dims are not allowed");
    seen[from] = true;
    sizes[d] = impl_->sizes[from];
    strides[d] = impl_->strides[from];
  }
  return make_view(*this, sizes, strides, impl_->offset);
}

Tensor Tensor::expand(IntArrayRef wanted, bool) const {
  const size_t dims = impl_->sizes.size();
  if (wanted.size() < dims) fail("", 0, "expand: fewer sizes than dimensions");
  std::vector<int64_t> sizes(wanted.begin(), wanted.end()), strides(wanted.size(), 0);
  const size_t lead = wanted.size() - dims;
  for (size_t d = 0; d < dims; ++d) {
    int64_t& n = sizes[lead + d];
    if (n == -1) n = impl_->sizes[d];
    if (n == impl_->sizes[d]) {
      strides[lead + d] = impl_->strides[d];
    } else if (impl_->sizes[d] != 1) {
      fail("", 0, "The expanded size of the tensor (", n, ") must match the existing size (", impl_->sizes[d],
           ") at non-singleton dimension ", lead + d);
    }
  }
  return make_view(*this, sizes, strides, impl_->offset);
}

Tensor Tensor::select(int64_t dim, int64_t index) const {
  auto sizes = impl_->sizes, strides = impl_->strides;
  if (sizes.empty()) fail("", 0, "select() cannot be applied to a 0-dim tensor.");
  const size_t d = wrap(dim, sizes.size());
  if (index < -sizes[d] || index >= sizes[d])
    fail("", 0, "select(): index ", index, " out of range for tensor of size ", sizes[d]);
  if (index < 0) index += sizes[d];
  const int64_t offset = impl_->offset + index * strides[d];
  sizes.erase(sizes.begin() + static_cast<long>(d));
  strides.erase(strides.begin() + static_cast<long>(d));
  return make_view(*this, sizes, strides, offset);
}

Tensor Tensor::slice(int64_t dim, int64_t from, int64_t to, int64_t step) const {
  auto sizes = impl_->sizes, strides = impl_->strides;
  const size_t d = wrap(dim, sizes.size());
  if (step <= 0) fail("", 0, "slice step must be positive");
  const int64_t n = sizes.empty() ? 0 : sizes[d];
  const auto clamp = [n](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n); };
  from = clamp(from);
  to = std::max(clamp(to), from);
  sizes[d] = (to - from + step - 1) / step;
  const int64_t offset = impl_->offset + from * strides[d];
  strides[d] *= step;
  return make_view(*this, sizes, strides, offset);
}

Tensor Tensor::as_strided(IntArrayRef sizes, IntArrayRef strides) const {
  return as_strided(sizes, strides, impl_->offset);
}

Tensor Tensor::as_strided(IntArrayRef sizes, IntArrayRef strides, int64_t offset) const {
  if (sizes.size() != strides.size() || offset < 0) fail("", 0, "as_strided: bad geometry");
  int64_t last = offset;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] < 0 || strides[d] < 0) fail("", 0, "as_strided: negative size or stride");
    last += sizes[d] > 0 ? (sizes[d] - 1) * strides[d] : 0;
  }
  const uint64_t bytes = (static_cast<uint64_t>(last) + 1) * elementSize(scalar_type());
  if (bytes > storage(impl_->storage).bytes) fail("", 0, "as_strided: out of bounds for the storage");
  return make_view(*this, {sizes.begin(), sizes.end()}, {strides.begin(), strides.end()}, offset);
}

}  // namespace at
