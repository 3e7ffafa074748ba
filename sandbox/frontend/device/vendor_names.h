// Names of headers and of vendors' libraries that CUDA texts use: the tables by which the splitter and the
// preparation of device code decide. Pure functions.
#pragma once
#include <string_view>

namespace bicrl {

// The library ("cuBLAS") whose interface a word belongs to, or empty: by how it begins, by itself, or as a
// namespace.
std::string_view library_of_prefix(std::string_view word);
std::string_view library_of_name(std::string_view word);
std::string_view library_of_scope(std::string_view word);
// Whether NVRTC must get a declaration of the name, as a thing of no known type.
bool is_declared_library_name(std::string_view word);
bool is_thrust_functor(std::string_view name);

bool is_standard_header(std::string_view path);
// Real <cmath> comes with it.
bool needs_real_math(std::string_view path);
// Of torch, CUDA or a library of theirs: the prelude or find_standard_use() brings what host code needs of
// it.
bool is_device_header(std::string_view path);
// Of the C++ library, torch, the CUDA runtime or a library that runs on the host: the prelude of device code
// stands for it.
bool has_covered_name(std::string_view path);
// Covered, but neither torch nor the toolkit brings it.
bool is_rarely_installed(std::string_view path);

}  // namespace bicrl
