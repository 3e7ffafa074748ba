// Content hashes (XXH3, 128 bit) for caches and checksums. Not cryptographic.
#pragma once
#include <string>
#include <string_view>

namespace bicrl {

// 32 lower-case hexadecimal digits.
std::string hash_hex(std::string_view bytes);

// Hash of several parts; the boundaries between the parts count.
std::string hash_hex(std::initializer_list<std::string_view> parts);

}  // namespace bicrl
