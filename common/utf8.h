// Text from outside made fit for messages that allow nothing but UTF-8.
#pragma once
#include <string>

namespace bicrl {

// The text with every byte that is not part of well-formed UTF-8 replaced by U+FFFD: Protobuf refuses the
// rest.
std::string to_utf8(const std::string& bytes);

}  // namespace bicrl
