// Decides which headers of a candidate are covered, and which ones its text needs.
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/frontend/device/token_text.h"

namespace bicrl {

// The header's path in an #include line, "" if it is no plain one.
std::string header_path(std::string_view include_line);

// The prelude stands for it, or needed_includes() brings it: the C++ library, torch, the CUDA runtime,
// libraries that run on the host.
bool is_covered_header(const std::string& path);

// Of `__has_include(<...>)`, which the folders of a box would answer otherwise than an installation: yes, for
// headers that are covered.
void answer_include_questions(const TokenText& source, TextEdits& edits);

// The include lines that `source` needs: the prelude, parts of the shim whose names it has, cuda_fp16.h if it
// names __half, and the single headers of CUB in place of <cub/cub.cuh>, which NVRTC does not take.
std::string needed_includes(const TokenText& source);

// A beginning of what needed_includes() gives, for DeviceCompiler::precompile().
struct CommonIncludes {
  std::string word;  // texts that need it contain this word; "" for what is cheap and serves most texts
  std::string lines;
};
std::vector<CommonIncludes> common_includes();

// Declarations of the names of libraries (cublasHandle_t, CUDNN_DATA_FLOAT, cudnnCreate) as things of no
// known type, so that host functions which use them are read.
std::string library_declarations(const TokenText& source);

}  // namespace bicrl
