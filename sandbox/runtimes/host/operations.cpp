// What changes device memory besides kernels: fills, strided copies with conversion, uploads. Recorded as
// JSON; between host memory and host memory done at once.
#include <cmath>
#include <cstring>

#include "bicrl/half.h"
#include "graphs.h"
#include "runtime.h"
#include "streams.h"

namespace bicrl {
namespace {

using c10::ScalarType;

std::string list_json(const std::vector<int64_t>& list) {
  std::string text = "[";
  for (size_t i = 0; i < list.size(); ++i) text += (i ? "," : "") + std::to_string(list[i]);
  return text + "]";
}

struct Number {
  bool integral;
  double real;
  int64_t whole;
};

Number load(const unsigned char* p, ScalarType type) {
  const auto get = [p](auto value) {
    memcpy(&value, p, sizeof value);
    return value;
  };
  const auto whole = [](int64_t v) { return Number{true, static_cast<double>(v), v}; };
  const auto real = [](double v) { return Number{false, v, 0}; };
  switch (type) {
    case ScalarType::Float:
      return real(get(float{}));
    case ScalarType::Double:
      return real(get(double{}));
    case ScalarType::Half:
      return real(bicrl_half_to_float(get(uint16_t{})));
    case ScalarType::BFloat16:
      return real(bfloat_to_float(get(uint16_t{})));
    case ScalarType::Float8_e4m3fn:
      return real(bicrl_e4m3_to_float(get(uint8_t{})));
    case ScalarType::Float8_e5m2:
      return real(bicrl_e5m2_to_float(get(uint8_t{})));
    case ScalarType::Byte:
      return whole(get(uint8_t{}));
    case ScalarType::Char:
      return whole(get(int8_t{}));
    case ScalarType::Short:
      return whole(get(int16_t{}));
    case ScalarType::Int:
      return whole(get(int32_t{}));
    case ScalarType::Long:
      return whole(get(int64_t{}));
    default:
      return whole(get(uint8_t{}) != 0);
  }
}

// Out of range is what a C++ conversion on x86 gives, which is what PyTorch on a CPU gives.
int64_t to_whole(const Number& n) {
  if (n.integral) return n.whole;
  if (!(n.real > -9.3e18 && n.real < 9.2e18)) return INT64_MIN;
  return static_cast<int64_t>(n.real);
}

void store(unsigned char* p, ScalarType type, const Number& n) {
  const auto put = [p](auto value) { memcpy(p, &value, sizeof value); };
  switch (type) {
    case ScalarType::Float:
      return put(n.integral ? static_cast<float>(n.whole) : static_cast<float>(n.real));
    case ScalarType::Double:
      return put(n.real);
    case ScalarType::Half:
      return put(bicrl_float_to_half(static_cast<float>(n.real)));
    case ScalarType::BFloat16:
      return put(float_to_bfloat(static_cast<float>(n.real)));
    case ScalarType::Float8_e4m3fn:
      return put(bicrl_float_to_e4m3(static_cast<float>(n.real)));
    case ScalarType::Float8_e5m2:
      return put(bicrl_float_to_e5m2(static_cast<float>(n.real)));
    case ScalarType::Byte:
      return put(static_cast<uint8_t>(to_whole(n)));
    case ScalarType::Char:
      return put(static_cast<int8_t>(to_whole(n)));
    case ScalarType::Short:
      return put(static_cast<int16_t>(to_whole(n)));
    case ScalarType::Int:
      return put(static_cast<int32_t>(to_whole(n)));
    case ScalarType::Long:
      return put(to_whole(n));
    default:
      return put(static_cast<uint8_t>(n.integral ? n.whole != 0 : n.real != 0));
  }
}

// Calls visit(target offset, source offset), in elements, for each element in row-major order.
template <class Visit>
void for_each(const int64_t* sizes, size_t dims, const int64_t* a, const int64_t* b, Visit visit) {
  for (size_t d = 0; d < dims; ++d)
    if (sizes[d] == 0) return;
  std::vector<int64_t> index(dims, 0);
  int64_t pa = 0, pb = 0;
  for (;;) {
    visit(pa, pb);
    size_t d = dims;
    while (d > 0) {
      --d;
      pa += a[d];
      pb += b ? b[d] : 0;
      if (++index[d] < sizes[d]) break;
      pa -= a[d] * sizes[d];
      pb -= b ? b[d] * sizes[d] : 0;
      index[d] = 0;
      if (d == 0) return;
    }
    if (dims == 0) return;
  }
}

bool dense(const int64_t* sizes, const int64_t* strides, size_t dims) {
  int64_t expected = 1;
  for (size_t d = dims; d-- > 0;) {
    if (sizes[d] != 1 && strides[d] != expected) return false;
    expected *= sizes[d];
  }
  return true;
}

unsigned char* data_of(const View& view) {
  return reinterpret_cast<unsigned char*>(storage(view.storage).address) +
         view.offset * static_cast<int64_t>(c10::elementSize(view.type));
}

bool on_host(const View& view) { return storage(view.storage).kind == Storage::Kind::kHost; }

}  // namespace

const char* type_name(ScalarType type) {
  switch (type) {
    case ScalarType::Float:
      return "float32";
    case ScalarType::Double:
      return "float64";
    case ScalarType::Half:
      return "float16";
    case ScalarType::BFloat16:
      return "bfloat16";
    case ScalarType::Float8_e4m3fn:
      return "float8_e4m3fn";
    case ScalarType::Float8_e5m2:
      return "float8_e5m2";
    case ScalarType::Byte:
      return "uint8";
    case ScalarType::Char:
      return "int8";
    case ScalarType::Short:
      return "int16";
    case ScalarType::Int:
      return "int32";
    case ScalarType::Long:
      return "int64";
    default:
      return "bool";
  }
}

void copy_elements(unsigned char* target, const int64_t* target_strides, ScalarType target_type,
                   const unsigned char* source, const int64_t* source_strides, ScalarType source_type,
                   const int64_t* sizes, size_t dims) {
  const auto to = static_cast<int64_t>(c10::elementSize(target_type));
  const auto from = static_cast<int64_t>(c10::elementSize(source_type));
  if (target_type == source_type) {
    if (dense(sizes, target_strides, dims) && dense(sizes, source_strides, dims)) {
      int64_t count = 1;
      for (size_t d = 0; d < dims; ++d) count *= sizes[d];
      memmove(target, source, static_cast<size_t>(count * to));
      return;
    }
    for_each(sizes, dims, target_strides, source_strides, [&](int64_t t, int64_t s) {
      memcpy(target + t * to, source + s * from, static_cast<size_t>(to));
    });
    return;
  }
  for_each(sizes, dims, target_strides, source_strides, [&](int64_t t, int64_t s) {
    store(target + t * to, target_type, load(source + s * from, source_type));
  });
}

namespace {
void encode_scalar(const c10::Scalar& value, ScalarType type, unsigned char* bytes) {
  Number n{};
  n.integral = !value.isFloatingPoint();
  n.whole = n.integral ? value.toLong() : 0;
  n.real = value.toDouble();
  store(bytes, type, n);
}

bool within(const View& view, const Storage& s) {
  int64_t first = view.offset, last = view.offset;
  for (size_t d = 0; d < view.sizes.size(); ++d) {
    if (view.sizes[d] == 0) return true;
    (view.strides[d] < 0 ? first : last) += (view.sizes[d] - 1) * view.strides[d];
  }
  const uint64_t elements = s.bytes / c10::elementSize(view.type);
  return first >= 0 && static_cast<uint64_t>(last) < elements;
}
}  // namespace

std::string view_json(const View& view) {
  Storage& s = storage(view.storage);
  if (is_gone(s)) set_fault("illegal_access", "uses a tensor over memory that was freed");
  if (!within(view, s)) set_fault("illegal_access", "uses a tensor that reaches beyond its memory");
  return "{\"buffer\":" + std::to_string(buffer_index(s)) +
         ",\"offset\":" + std::to_string(view.offset * static_cast<int64_t>(c10::elementSize(view.type))) +
         ",\"shape\":" + list_json(view.sizes) + ",\"strides\":" + list_json(view.strides) + ",\"dtype\":\"" +
         type_name(view.type) + "\"}";
}

std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = step;
    step *= sizes[d] > 1 ? sizes[d] : 1;
  }
  return strides;
}

void operate_fill(const View& target, const c10::Scalar& value) {
  unsigned char element[8];
  encode_scalar(value, target.type, element);
  const size_t bytes = c10::elementSize(target.type);
  if (on_host(target)) {
    for_each(target.sizes.data(), target.sizes.size(), target.strides.data(), nullptr,
             [&](int64_t at, int64_t) {
               memcpy(data_of(target) + at * static_cast<int64_t>(bytes), element, bytes);
             });
    return;
  }
  storage(target.storage).changed = true;
  const std::string hex = hex_of({reinterpret_cast<const char*>(element), bytes});
  record_operation("{\"op\":\"fill\",\"target\":" + view_json(target) + ",\"value\":\"" + hex + "\"}");
}

namespace {
// From host memory: gathered here, uploaded densely, which the host waits for, and spread by a recorded copy
// if the target is strided.
void upload_view(const View& target, const View& source) {
  int64_t count = 1;
  for (const int64_t n : target.sizes) count *= n;
  View dense_source;
  dense_source.type = target.type;
  dense_source.sizes = target.sizes;
  dense_source.strides = contiguous_strides(target.sizes);
  const size_t width = c10::elementSize(target.type);
  std::string bytes(static_cast<size_t>(count) * width, '\0');
  copy_elements(reinterpret_cast<unsigned char*>(bytes.data()), dense_source.strides.data(), target.type,
                data_of(source), source.strides.data(), source.type, target.sizes.data(),
                target.sizes.size());
  if (target.strides == dense_source.strides) {
    operate_upload(target.storage, static_cast<uint64_t>(target.offset) * width, bytes.data(), bytes.size());
    if (!is_captured(stream_in_effect())) ask_stream(stream_in_effect(), Host::kWaits);
    return;
  }
  dense_source.storage = new_storage(Storage::Kind::kAllocation, bytes.size());
  retain_storage(dense_source.storage);
  operate_upload(dense_source.storage, 0, bytes.data(), bytes.size());
  if (!is_captured(stream_in_effect())) ask_stream(stream_in_effect(), Host::kWaits);
  operate_copy(target, dense_source);
  release_storage(dense_source.storage);
}
}  // namespace

void operate_copy(const View& target, const View& source) {
  if (on_host(target)) {
    const unsigned char* from = data_of(source);
    if (!on_host(source)) {
      from = readable_values(storage(source.storage));
      if (!from) raise_fault("host_read", "the host part reads device data (a copy to the host)");
      from += source.offset * static_cast<int64_t>(c10::elementSize(source.type));
    }
    copy_elements(data_of(target), target.strides.data(), target.type, from, source.strides.data(),
                  source.type, target.sizes.data(), target.sizes.size());
    return;
  }
  if (on_host(source)) return upload_view(target, source);
  storage(target.storage).changed = true;
  record_operation("{\"op\":\"copy\",\"target\":" + view_json(target) + ",\"source\":" + view_json(source) +
                   "}");
}

void operate_upload(int64_t id, uint64_t offset_bytes, const void* bytes, size_t size) {
  Storage& s = storage(id);
  s.changed = true;
  PointerScan scan(bytes, size);
  // Where words can be pointers: device memory is aligned, whatever the bytes' own address is.
  scan.all_words((8 - offset_bytes % 8) % 8, size);
  const std::string relocations = scan.relocations();
  record_operation("{\"op\":\"upload\",\"buffer\":" + std::to_string(buffer_index(s)) +
                   ",\"offset\":" + std::to_string(offset_bytes) +
                   ",\"blob\":" + std::to_string(add_blob(scan.bytes().data(), size)) +
                   (relocations == "[]" ? "" : ",\"relocations\":" + relocations) + "}");
}

}  // namespace bicrl
