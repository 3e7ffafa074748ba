// Functions that the fuzz targets share. Each target_NAME.cpp defines LLVMFuzzerTestOneInput() and nothing
// else that is visible: it feeds the bytes to one reader of outside input and checks what came out. An
// InputError is a fine answer; any other exception, a broken property, a sanitizer's report, a hang or too
// much memory is a finding.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace bicrl::fuzz {

inline std::string_view as_text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Several files in one input: parts with a line "%%" between. At least one part, at most `most`; the last one
// holds the rest.
inline std::vector<std::string> split_parts(std::string_view text, size_t most) {
  constexpr std::string_view kSeparator = "\n%%\n";
  std::vector<std::string> parts;
  while (parts.size() + 1 < most) {
    const size_t at = text.find(kSeparator);
    if (at == text.npos) break;
    parts.emplace_back(text.substr(0, at));
    text.remove_prefix(at + kSeparator.size());
  }
  parts.emplace_back(text);
  return parts;
}

// Whether `read` went through; false if it refused its input as a reader should.
template <class Read>
bool accepts(const Read& read) {
  try {
    read();
    return true;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace bicrl::fuzz
