// A tokenizer.json of the 256 bytes alone (id = byte), to which tests add what they need.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace bicrl::testing {

inline nlohmann::json tiny_tokenizer_json() {
  nlohmann::json vocabulary = nlohmann::json::object();
  int next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    const int code = printable ? byte : next++;
    const std::string spelling =
        code < 0x80 ? std::string(1, static_cast<char>(code))
                    : std::string{static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
    vocabulary[spelling] = byte;
  }
  return {
      {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", nlohmann::json::array()}}},
      {"normalizer", nullptr},
      {"pre_tokenizer",
       {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}}},
      {"decoder",
       {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}}},
      {"added_tokens", nlohmann::json::array()}};
}

}  // namespace bicrl::testing
