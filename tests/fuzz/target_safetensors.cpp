// A whole safetensors file; an input that begins with '{' is an index of shards.
#include "policy/files/safetensors_header.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bicrl;
  const std::string_view bytes = fuzz::as_text(data, size);
  if (bytes.starts_with('{')) {
    fuzz::accepts([&] {
      for (const auto& [tensor, file] : parse_safetensors_index(std::string(bytes), "fuzz.index.json"))
        BICRL_CHECK(!file.empty() && file.find('/') == file.npos, tensor);
    });
    return 0;
  }
  SafetensorsHeader header;
  if (!fuzz::accepts([&] { header = parse_safetensors_header(bytes, "fuzz.safetensors"); })) return 0;
  // Whoever loads a tensor copies this span without looking again.
  uint64_t covered = 0;
  for (const auto& [name, entry] : header.entries) {
    BICRL_CHECK(entry.begin <= entry.end && entry.end <= bytes.size() - header.data_begin, name);
    BICRL_CHECK(entry.shape.size() <= 64, name);
    covered += entry.end - entry.begin;
  }
  BICRL_CHECK(header.data_begin + covered == bytes.size(), header.data_begin, " ", covered);
  return 0;
}
