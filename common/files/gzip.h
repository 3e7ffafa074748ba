// Compressed text, as gzip, zcat and Python's gzip module read it. Pure functions.
#pragma once
#include <string>
#include <string_view>

namespace bicrl {

// The same bytes for the same text: the header names no file and no time.
std::string gzip(std::string_view text);
// What was compressed. Throws InputError if it is no such text or is cut off.
std::string gunzip(std::string_view packed);

}  // namespace bicrl
