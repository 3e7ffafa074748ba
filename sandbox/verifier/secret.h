// Random numbers that nobody can foresee or derive from each other: straight from the kernel. Thread-safe.
#pragma once
#include <cstdint>
#include <string>

namespace bicrl {

uint64_t secret_number();
std::string secret_text();  // 128 bits as 32 hexadecimal digits

}  // namespace bicrl
