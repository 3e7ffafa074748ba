// An exception's message without the stack that torch's own errors carry.
#pragma once
#include <exception>
#include <string>

namespace bicrl {

std::string words_of(const std::exception& error);

}  // namespace bicrl
