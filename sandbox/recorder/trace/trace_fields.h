// Checked reading of the JSON fields of a trace, which may be forged: what is missing, of another type or out
// of range throws Malformed. Internal to the reading and writing of traces. Pure functions.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "sandbox/recorder/trace/trace.h"

namespace bicrl::trace_fields {

using nlohmann::json;

constexpr size_t kMaxOps = 250000, kMaxDims = 64, kMaxOutputs = 4096;
constexpr uint64_t kMaxBytes = uint64_t{1} << 40;  // of one buffer

// Never leaves the functions of trace.h: parsing has many ways to fail and one way out.
struct Malformed {
  std::string reason;
};
[[noreturn]] void refuse(const std::string& reason);

const json& field(const json& object, const char* name);
uint64_t whole(const json& value, const char* name, uint64_t most);
uint64_t whole(const json& object, const char* name, const char* at, uint64_t most);  // of the field `at`
const json& list(const json& object, const char* name, size_t most);
std::string text(const json& object, const char* name, size_t most);

std::string unhex(const std::string& hex);
std::string hexed(const std::string& bytes);

TensorLayout tensor_layout(const json& spec);
json tensor_json(const TensorLayout& tensor);

}  // namespace bicrl::trace_fields
