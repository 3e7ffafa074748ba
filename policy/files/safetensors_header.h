// The header of a safetensors file and the index of a sharded folder, read and checked without touching a
// tensor's bytes. Plain values and pure functions; broken input throws InputError naming file, tensor and
// field.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace bicrl {

struct SafetensorsEntry {
  std::string dtype;  // one of the format's names, "F32"
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;  // bytes from the start of the data
};

struct SafetensorsHeader {
  std::map<std::string, SafetensorsEntry> entries;
  std::map<std::string, std::string> metadata;
  uint64_t data_begin = 0;  // bytes from the start of the file
};

// `file` is the whole file. Checks sizes, types, shapes, and that the tensors cover the file without gap or
// overlap.
SafetensorsHeader parse_safetensors_header(std::string_view file, const std::string& name);

// model.safetensors.index.json: from each tensor to the file in the same folder that holds it.
std::map<std::string, std::string> parse_safetensors_index(const std::string& text, const std::string& name);

}  // namespace bicrl
