#include "sandbox/device/device_headers.h"

#include <algorithm>
#include <array>

namespace bicrl {
namespace {

bool starts_with(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }
bool ends_with(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

constexpr std::string_view kCoveredFolders[] = {"torch/", "ATen/", "c10/",   "caffe2/", "pybind11/",
                                                "thrust/", "bits/", "cutlass/", "cute/",   "sys/"};
constexpr std::string_view kCovered[] = {
    // C++ and C
    "algorithm", "any", "array", "assert.h", "atomic", "bitset", "cassert", "cctype", "cfloat", "charconv", "chrono",
    "cinttypes", "climits", "cmath", "compare", "complex", "concepts", "condition_variable", "cstdarg", "cstddef",
    "cstdint", "cstdio", "cstdlib", "cstring", "ctime", "ctype.h", "deque", "errno.h", "exception", "filesystem",
    "float.h", "forward_list", "fstream", "functional", "future", "inttypes.h", "initializer_list", "iomanip", "ios",
    "iosfwd", "iostream", "istream", "iterator", "limits", "limits.h", "list", "locale", "map", "math.h", "memory",
    "mutex", "new", "numbers", "numeric", "omp.h", "optional", "ostream", "queue", "random", "ranges", "ratio",
    "set", "shared_mutex", "span", "sstream", "stack", "stdarg.h", "stdbool.h", "stddef.h", "stdexcept", "stdint.h",
    "stdio.h", "stdlib.h", "string", "string.h", "string_view", "system_error", "thread", "time.h", "tuple",
    "type_traits", "typeindex", "typeinfo", "unistd.h", "unordered_map", "unordered_set", "utility", "valarray",
    "variant", "vector", "version",
    // CUDA, as far as NVRTC has it built in
    "cuda.h", "cuda_runtime.h", "cuda_runtime_api.h", "cuda_device_runtime_api.h", "device_launch_parameters.h",
    "driver_types.h", "vector_types.h", "vector_functions.h", "device_functions.h", "device_atomic_functions.h",
    "host_defines.h", "crt/host_defines.h", "math_functions.h", "sm_20_intrinsics.h", "sm_30_intrinsics.h",
    "sm_32_intrinsics.h", "sm_35_intrinsics.h", "sm_60_atomic_functions.h", "builtin_types.h", "cuda_profiler_api.h",
    "texture_types.h", "surface_types.h", "texture_fetch_functions.h", "helper_cuda.h", "helper_functions.h",
    // Libraries
    "cublas_v2.h", "cublas.h", "cublasLt.h", "cublasXt.h", "cudnn.h", "cusparse.h", "cufft.h", "cusolverDn.h",
    "curand.h", "nccl.h", "nvrtc.h", "nvToolsExt.h", "nvtx3/nvToolsExt.h", "cutensor.h", "Python.h"};

constexpr std::string_view kLibraryPrefixes[] = {"cublas",  "CUBLAS",   "cudnn",    "CUDNN_",   "cusparse", "CUSPARSE_",
                                                 "cufft",   "CUFFT_",   "cusolver", "CUSOLVER_", "cutensor", "CUTENSOR_",
                                                 "nccl"};

struct NamedHeader {
  std::string_view name, header;
};
constexpr NamedHeader kCub[] = {{"BlockReduce", "block/block_reduce"},
                                {"BlockScan", "block/block_scan"},
                                {"BlockLoad", "block/block_load"},
                                {"BlockStore", "block/block_store"},
                                {"BlockExchange", "block/block_exchange"},
                                {"BlockHistogram", "block/block_histogram"},
                                {"BlockRadixSort", "block/block_radix_sort"},
                                {"BlockMergeSort", "block/block_merge_sort"},
                                {"BlockDiscontinuity", "block/block_discontinuity"},
                                {"BlockAdjacentDifference", "block/block_adjacent_difference"},
                                {"BlockShuffle", "block/block_shuffle"},
                                {"WarpReduce", "warp/warp_reduce"},
                                {"WarpScan", "warp/warp_scan"},
                                {"WarpMergeSort", "warp/warp_merge_sort"},
                                {"WarpLoad", "warp/warp_load"},
                                {"WarpStore", "warp/warp_store"},
                                {"WarpExchange", "warp/warp_exchange"},
                                {"KeyValuePair", "util_type"},
                                {"ArgMax", "thread/thread_operators"},
                                {"ArgMin", "thread/thread_operators"},
                                {"Max", "thread/thread_operators"},
                                {"Min", "thread/thread_operators"},
                                {"Sum", "thread/thread_operators"}};

std::set<std::string_view> identifiers(const TokenText& source) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < source.size(); ++i)
    if (source.is_identifier(i)) names.insert(source.at(i));
  return names;
}

bool contains(const std::set<std::string_view>& names, std::initializer_list<std::string_view> wanted) {
  return std::any_of(wanted.begin(), wanted.end(), [&](std::string_view name) { return names.count(name) > 0; });
}

}  // namespace

std::string header_path(std::string_view line) {
  const size_t open = line.find_first_of("<\"");
  if (open == std::string_view::npos) return "";
  const size_t close = line.find(line[open] == '<' ? '>' : '"', open + 1);
  return close == std::string_view::npos ? "" : std::string(line.substr(open + 1, close - open - 1));
}

bool is_covered_header(const std::string& path) {
  return std::any_of(std::begin(kCoveredFolders), std::end(kCoveredFolders),
                     [&](std::string_view folder) { return starts_with(path, folder); }) ||
         std::find(std::begin(kCovered), std::end(kCovered), path) != std::end(kCovered);
}

std::string needed_includes(const TokenText& source) {
  const std::set<std::string_view> names = identifiers(source);
  bool half = false, bfloat16 = false;
  for (const std::string_view name : names) {
    half |= starts_with(name, "__half") || ends_with(name, "2half") || ends_with(name, "2half_rn") ||
            ends_with(name, "2half2_rn");
    bfloat16 |= starts_with(name, "__nv_bfloat16") || starts_with(name, "nv_bfloat16") ||
                name.find("2bfloat16") != std::string_view::npos || starts_with(name, "__bfloat16");
  }
  half |= contains(names, {"half", "half2", "half8", "__float2half"});
  std::string text;
  if (half) text += "#include <cuda_fp16.h>\n";
  if (bfloat16) text += "#include <cuda_bf16.h>\n";
  if (contains(names, {"cub"})) {
    std::set<std::string_view> headers;
    for (const NamedHeader& one : kCub)
      if (names.count(one.name)) headers.insert(one.header);
    for (const std::string_view header : headers) text += "#include <cub/" + std::string(header) + ".cuh>\n";
  }
  return text;
}

std::string library_declarations(const TokenText& source) {
  std::set<std::string_view> names = identifiers(source);
  // What the text defines itself.
  for (size_t i = 0; i < source.size(); ++i) {
    const bool defines = source.is(i, "struct") || source.is(i, "class") || source.is(i, "enum") ||
                         source.is(i, "define") || source.is(i, "namespace");
    const size_t name = source.next(i);
    if (!defines || !source.is_identifier(name)) continue;
    const size_t after = source.next(name);
    if (!source.is(i, "struct") || source.is(after, "{") || source.is(after, ":") || source.is(after, ";"))
      names.erase(source.at(name));
  }
  std::string text;
  for (const std::string_view name : names) {
    if (std::none_of(std::begin(kLibraryPrefixes), std::end(kLibraryPrefixes), [&](std::string_view prefix) {
          return starts_with(name, prefix) && name.size() > prefix.size();
        }))
      continue;
    const std::string word(name);
    if (ends_with(name, "_t") || ends_with(name, "Struct")) {
      text += "using " + word + " = ::bicrl::Opaque; ";
    } else if (name[0] < 'a') {
      text += "constexpr ::bicrl::Opaque " + word + "{}; ";
    } else if (name.size() > 6 && std::any_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; })) {
      text += "template <class... A> ::bicrl::Opaque " + word + "(A&&...); ";
    }
  }
  return text;
}

}  // namespace bicrl
