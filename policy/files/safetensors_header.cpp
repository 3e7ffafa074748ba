#include "policy/files/safetensors_header.h"

#include <algorithm>
#include <set>

#include "common/error.h"
#include "common/json.h"
#include "policy/files/json_reader.h"

namespace bicrl {
namespace {

constexpr uint64_t kPrefixBytes = 8;
// The format's own bound.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
// More than any tensor operation takes.
constexpr size_t kMaxDimensions = 64;

// 0 for a name that the format does not have.
uint64_t element_bytes(std::string_view dtype) {
  static constexpr std::pair<std::string_view, uint64_t> kTypes[] = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},   {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"I16", 2},
      {"U16", 2},  {"F16", 2}, {"BF16", 2}, {"I32", 4},     {"U32", 4},     {"F32", 4},
      {"F64", 8},  {"I64", 8}, {"U64", 8},  {"C64", 8}};
  for (const auto& [name, bytes] : kTypes)
    if (name == dtype) return bytes;
  return 0;
}

// A key that occurs twice would hide one of two tensors.
nlohmann::json parse_header(std::string_view text, const std::string& name) {
  std::vector<std::set<std::string>> open_objects;
  const auto watch = [&](int, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    if (event == nlohmann::json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == nlohmann::json::parse_event_t::object_end) open_objects.pop_back();
    if (event == nlohmann::json::parse_event_t::key &&
        !open_objects.back().insert(value.get<std::string>()).second)
      throw InputError(concat(name, ": header: ", value.get<std::string>(), " occurs twice"));
    return true;
  };
  if (is_too_deep_json(text)) throw InputError(concat(name, ": header is not valid JSON: nested too deeply"));
  try {
    return nlohmann::json::parse(text, watch);
  } catch (const nlohmann::json::exception& error) {
    throw InputError(concat(name, ": header is not valid JSON: ", std::string(error.what()).substr(0, 300)));
  }
}

// Bytes of a tensor; throws if the product does not fit. Empty extents count as 1 in that check, as
// strides do.
uint64_t checked_bytes(const JsonReader& json, const SafetensorsEntry& entry) {
  uint64_t bytes = element_bytes(entry.dtype);
  bool empty = false;
  for (const int64_t extent : entry.shape) {
    empty |= extent == 0;
    const uint64_t factor = extent == 0 ? 1 : static_cast<uint64_t>(extent);
    if (__builtin_mul_overflow(bytes, factor, &bytes) || bytes > INT64_MAX)
      json.reject("shape", "more bytes than a tensor can have");
  }
  return empty ? 0 : bytes;
}

SafetensorsEntry parse_entry(const JsonReader& json) {
  SafetensorsEntry entry;
  entry.dtype = json.text("dtype");
  if (element_bytes(entry.dtype) == 0) json.reject("dtype", "unknown element type");
  if (json.list("shape").size() > kMaxDimensions)
    json.reject("shape", concat("more than ", kMaxDimensions, " dimensions"));
  for (const auto& extent : json.list("shape")) {
    if (!extent.is_number_unsigned() || extent.get<uint64_t>() > INT64_MAX)
      json.reject("shape", "expected sizes of at least 0");
    entry.shape.push_back(extent.get<int64_t>());
  }
  const auto& offsets = json.list("data_offsets");
  if (offsets.size() != 2 || !offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned())
    json.reject("data_offsets", "expected [begin, end]");
  entry.begin = offsets[0].get<uint64_t>();
  entry.end = offsets[1].get<uint64_t>();
  if (entry.begin > entry.end || entry.end - entry.begin != checked_bytes(json, entry))
    json.reject("data_offsets", concat("the span does not hold ", checked_bytes(json, entry), " bytes"));
  return entry;
}

void check_coverage(const std::map<std::string, SafetensorsEntry>& entries, uint64_t data_bytes,
                    const std::string& name) {
  std::vector<std::pair<const SafetensorsEntry*, const std::string*>> order;
  for (const auto& [tensor, entry] : entries) order.emplace_back(&entry, &tensor);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first->begin, a.first->end) < std::pair(b.first->begin, b.first->end);
  });
  uint64_t reached = 0;
  for (const auto& [entry, tensor] : order) {
    if (entry->begin != reached)
      throw InputError(concat(name, ": ", *tensor, ": data_offsets: begins at ", entry->begin,
                              ", the tensor before ends at ", reached));
    reached = entry->end;
  }
  if (reached != data_bytes)
    throw InputError(
        concat(name, ": the header describes ", reached, " bytes of data, the file has ", data_bytes));
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view file, const std::string& name) {
  if (file.size() < kPrefixBytes)
    throw InputError(concat(name, ": too short for a header: ", file.size(), " bytes"));
  uint64_t header_bytes = 0;
  for (int i = 7; i >= 0; --i) header_bytes = header_bytes << 8 | static_cast<unsigned char>(file[i]);
  if (header_bytes > kMaxHeaderBytes || header_bytes > file.size() - kPrefixBytes)
    throw InputError(concat(name, ": header length ", header_bytes, " exceeds the file (", file.size(),
                            " bytes) or the format's bound (", kMaxHeaderBytes, ")"));
  const std::string_view text = file.substr(kPrefixBytes, header_bytes);
  if (text.empty() || text.front() != '{') throw InputError(concat(name, ": header does not begin with '{'"));
  SafetensorsHeader header;
  const nlohmann::json document = parse_header(text, name);
  for (const auto& [tensor, value] : document.items()) {
    const JsonReader json(value, concat(name, ": ", tensor));
    if (tensor == "__metadata__") {
      for (const auto& item : value.items()) header.metadata[item.key()] = json.text(item.key());
    } else {
      header.entries[tensor] = parse_entry(json);
    }
  }
  header.data_begin = kPrefixBytes + header_bytes;
  check_coverage(header.entries, file.size() - header.data_begin, name);
  return header;
}

std::map<std::string, std::string> parse_safetensors_index(const std::string& text, const std::string& name) {
  const nlohmann::json document = parse_json(text, name);
  const JsonReader weight_map = JsonReader(document, name).object("weight_map");
  std::map<std::string, std::string> shards;
  for (const auto& item : document.at("weight_map").items()) {
    const std::string shard = weight_map.text(item.key());
    if (shard.empty() || shard == "." || shard == ".." || shard.find('/') != std::string::npos ||
        shard.find('\0') != std::string::npos)
      weight_map.reject(item.key(), "expected the name of a file in the same folder");
    shards[item.key()] = shard;
  }
  return shards;
}

}  // namespace bicrl
