// What went wrong, for a person: torch's own errors without the stack that they carry.
#pragma once
#include <exception>
#include <string>

namespace bicrl {

std::string words_of(const std::exception& error);

}  // namespace bicrl
