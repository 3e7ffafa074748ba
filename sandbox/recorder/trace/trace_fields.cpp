#include "sandbox/recorder/trace/trace_fields.h"

#include <algorithm>

namespace bicrl {
namespace trace_fields {

void refuse(const std::string& reason) { throw Malformed{reason}; }

const json& field(const json& object, const char* name) {
  if (!object.is_object()) refuse(concat("an object with '", name, "' is missing"));
  const auto found = object.find(name);
  if (found == object.end()) refuse(concat("'", name, "' is missing"));
  return *found;
}

uint64_t whole(const json& value, const char* name, uint64_t most) {
  if (!value.is_number_unsigned() && !(value.is_number_integer() && value.get<int64_t>() >= 0))
    refuse(concat("'", name, "' is no whole number"));
  const auto number = value.get<uint64_t>();
  if (number > most) refuse(concat("'", name, "' is out of range"));
  return number;
}
uint64_t whole(const json& object, const char* name, const char* at, uint64_t most) {
  return whole(field(object, at), name, most);
}

const json& list(const json& object, const char* name, size_t most) {
  const json& value = field(object, name);
  if (!value.is_array() || value.size() > most) refuse(concat("'", name, "' is no list of allowed length"));
  return value;
}

std::string text(const json& object, const char* name, size_t most) {
  const json& value = field(object, name);
  if (!value.is_string() || value.get_ref<const std::string&>().size() > most)
    refuse(concat("'", name, "' is no text of allowed length"));
  return value.get<std::string>();
}

std::string unhex(const std::string& hex) {
  if (hex.size() % 2) refuse("odd number of hexadecimal digits");
  const auto digit = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    refuse("bad hexadecimal digit");
  };
  std::string bytes(hex.size() / 2, '\0');
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(digit(hex[2 * i]) * 16 + digit(hex[2 * i + 1]));
  return bytes;
}

std::string hexed(const std::string& bytes) {
  std::string hex;
  for (const char c : bytes) {
    hex += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    hex += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
  }
  return hex;
}

TensorLayout tensor_layout(const json& spec) {
  TensorLayout layout;
  auto dtype = parse_dtype(text(spec, "dtype", 40));
  if (!dtype) refuse(dtype.reason());
  layout.dtype = dtype.value();
  const json& shape = list(spec, "shape", kMaxDims);
  for (const json& n : shape) layout.sizes.push_back(static_cast<int64_t>(whole(n, "shape", kMaxBytes)));
  if (spec.contains("strides")) {
    for (const json& s : list(spec, "strides", kMaxDims))
      layout.strides.push_back(static_cast<int64_t>(whole(s, "strides", kMaxBytes)));
    if (layout.strides.size() != layout.sizes.size()) refuse("shape and strides differ in length");
  } else {
    layout.strides.assign(layout.sizes.size(), 1);
    for (size_t d = layout.sizes.size(); d-- > 1;)
      if (__builtin_mul_overflow(layout.strides[d], std::max<int64_t>(layout.sizes[d], 1),
                                 &layout.strides[d - 1]) ||
          static_cast<uint64_t>(layout.strides[d - 1]) > kMaxBytes)
        refuse("a tensor is too large");
  }
  uint64_t count = 1, last = 0;
  for (size_t d = 0; d < layout.sizes.size(); ++d) {
    const auto n = static_cast<uint64_t>(layout.sizes[d]), stride = static_cast<uint64_t>(layout.strides[d]);
    uint64_t step = 0;
    if (__builtin_mul_overflow(count, n, &count) || __builtin_mul_overflow(n ? n - 1 : 0, stride, &step) ||
        __builtin_add_overflow(last, step, &last) || count > kMaxBytes || last > kMaxBytes)
      refuse("a tensor is too large");
  }
  return layout;
}

json tensor_json(const TensorLayout& t) {
  return {{"t", "tensor"}, {"shape", t.sizes}, {"strides", t.strides}, {"dtype", to_string(t.dtype)}};
}

}  // namespace trace_fields

Result<TensorLayout> parse_tensor_layout(const nlohmann::json& spec) {
  try {
    return trace_fields::tensor_layout(spec);
  } catch (const trace_fields::Malformed& m) {
    return Result<TensorLayout>::failure(m.reason);
  }
}

}  // namespace bicrl
