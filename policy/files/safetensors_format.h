// Names of the element types in a safetensors header.
#pragma once
#include <c10/core/ScalarType.h>

#include <optional>
#include <string_view>

namespace bicrl {

struct SafetensorsType {
  std::string_view name;
  c10::ScalarType type;
};

inline constexpr SafetensorsType kSafetensorsTypes[] = {
    {"BOOL", c10::ScalarType::Bool},
    {"U8", c10::ScalarType::Byte},
    {"I8", c10::ScalarType::Char},
    {"F8_E5M2", c10::ScalarType::Float8_e5m2},
    {"F8_E4M3", c10::ScalarType::Float8_e4m3fn},
    {"I16", c10::ScalarType::Short},
    {"U16", c10::ScalarType::UInt16},
    {"F16", c10::ScalarType::Half},
    {"BF16", c10::ScalarType::BFloat16},
    {"I32", c10::ScalarType::Int},
    {"U32", c10::ScalarType::UInt32},
    {"F32", c10::ScalarType::Float},
    {"F64", c10::ScalarType::Double},
    {"I64", c10::ScalarType::Long},
    {"U64", c10::ScalarType::UInt64},
    {"C64", c10::ScalarType::ComplexFloat},
};

inline std::optional<c10::ScalarType> safetensors_type(std::string_view name) {
  for (const auto& entry : kSafetensorsTypes)
    if (entry.name == name) return entry.type;
  return std::nullopt;
}

inline std::optional<std::string_view> safetensors_name(c10::ScalarType type) {
  for (const auto& entry : kSafetensorsTypes)
    if (entry.type == type) return entry.name;
  return std::nullopt;
}

}  // namespace bicrl
