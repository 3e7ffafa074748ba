// Names of kernel instances. g++ (whose symbols the recorder reads) and NVRTC (whose entries the PTX has)
// give one instance the same mangled name, but for this: g++ marks internal linkage by an `L` before the
// name, and NVRTC names an unnamed namespace after the file, and puts static functions that are templates'
// arguments in such a scope.
#pragma once
#include <string>
#include <string_view>

namespace bicrl {

// The same for all names of one instance. Linear time; any text has a key.
std::string entry_key(std::string_view mangled);

// "void relu<float>(float*)", cut where it is longer than a message should hold; what is no mangled name
// stays as it is.
std::string readable_name(const std::string& mangled);

}  // namespace bicrl
