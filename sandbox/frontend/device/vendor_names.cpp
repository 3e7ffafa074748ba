#include "sandbox/frontend/device/vendor_names.h"

#include <algorithm>

namespace bicrl {
namespace {

struct LibraryPrefix {
  std::string_view prefix, library;
  bool refused;   // in what is left for the host
  bool declared;  // for NVRTC, as names of no known type
};
constexpr LibraryPrefix kLibraryPrefixes[] = {
    {"cublas", "cuBLAS", true, true},
    {"CUBLAS_", "cuBLAS", true, false},
    {"CUBLAS", "cuBLAS", false, true},
    {"cudnn", "cuDNN", true, true},
    {"CUDNN_", "cuDNN", true, true},
    {"cusparse", "cuSPARSE", true, true},
    {"CUSPARSE_", "cuSPARSE", false, true},
    {"cufft", "cuFFT", true, true},
    {"CUFFT_", "cuFFT", false, true},
    {"cusolver", "cuSOLVER", true, true},
    {"CUSOLVER_", "cuSOLVER", false, true},
    {"cutensor", "cuTENSOR", true, true},
    {"CUTENSOR_", "cuTENSOR", false, true},
    {"nccl", "NCCL", true, true},
    {"nvrtc", "NVRTC", true, false},
    {"nppi", "NPP", true, false},
    // The generators of the host; those of device code are the candidate's own to call.
    {"curandCreate", "cuRAND", true, false},
    {"curandDestroy", "cuRAND", true, false},
    {"curandGenerate", "cuRAND", true, false},
    {"curandSet", "cuRAND", true, false},
    {"curandGet", "cuRAND", true, false},
    {"CURAND_RNG_", "cuRAND", true, false}};

struct LibraryName {
  std::string_view name, library;
};
constexpr LibraryName kLibraryNames[] = {{"getCurrentCUDABlasHandle", "cuBLAS"},
                                         {"getCurrentCUDABlasLtHandle", "cuBLAS"},
                                         {"getCudnnHandle", "cuDNN"},
                                         {"AT_CUDNN_CHECK", "cuDNN"},
                                         {"TORCH_CUDABLAS_CHECK", "cuBLAS"}};
constexpr LibraryName kLibraryScopes[] = {{"thrust", "Thrust"}, {"cutlass", "CUTLASS"}, {"cute", "CuTe"}};

// clang-format off
// Of the C++ library proper. The C headers are small, and their names are used without std::.
constexpr std::string_view kStandardHeaders[] = {
    "algorithm", "any", "array", "atomic", "bitset", "chrono", "complex", "condition_variable", "deque",
    "exception", "fstream", "functional", "future", "initializer_list", "iomanip", "iostream", "istream",
    "iterator", "limits", "list", "map", "memory", "mutex", "new", "numeric", "optional", "ostream",
    "queue", "random", "ratio", "regex", "set", "sstream", "stack", "stdexcept", "string", "string_view",
    "thread", "tuple", "type_traits", "typeinfo", "unordered_map", "unordered_set", "utility", "valarray",
    "variant", "vector", "bits/stdc++.h"};

// Others that the prelude stands for.
constexpr std::string_view kCoveredFolders[] = {
    "torch/", "ATen/", "c10/", "caffe2/", "pybind11/", "thrust/", "bits/", "cutlass/", "cute/", "sys/",
    "arpa/", "linux/", "netinet/", "experimental/"};

constexpr std::string_view kCovered[] = {
    // C++ and C
    "assert.h", "cassert", "cctype", "cfloat", "charconv", "cinttypes", "climits", "cmath", "compare",
    "concepts", "cstdarg", "cstddef", "cstdint", "cstdio", "cstdlib", "cstring", "ctime", "ctype.h",
    "errno.h", "filesystem", "float.h", "forward_list", "inttypes.h", "ios", "iosfwd", "limits.h",
    "locale", "math.h", "numbers", "omp.h", "ranges", "shared_mutex", "span", "stdarg.h", "stdbool.h",
    "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h", "system_error", "time.h", "typeindex",
    "unistd.h", "version", "barrier", "bit", "cfenv", "clocale", "coroutine", "csetjmp", "csignal",
    "cuchar", "cwchar", "cwctype", "execution", "expected", "fenv.h", "format", "iso646.h", "latch",
    "locale.h", "memory_resource", "scoped_allocator", "semaphore", "setjmp.h", "signal.h",
    "source_location", "stop_token", "streambuf", "syncstream", "wchar.h", "wctype.h",
    // The system and the processor
    "alloca.h", "dirent.h", "dlfcn.h", "endian.h", "execinfo.h", "fcntl.h", "immintrin.h", "malloc.h",
    "poll.h", "pthread.h", "sched.h", "semaphore.h", "spawn.h", "strings.h", "x86intrin.h",
    // CUDA, as far as NVRTC has it built in
    "cuda.h", "cuda_runtime.h", "cuda_runtime_api.h", "cuda_device_runtime_api.h",
    "device_launch_parameters.h", "driver_types.h", "vector_types.h", "vector_functions.h",
    "device_functions.h", "device_atomic_functions.h", "host_defines.h", "crt/host_defines.h",
    "math_functions.h", "sm_20_intrinsics.h", "sm_30_intrinsics.h", "sm_32_intrinsics.h",
    "sm_35_intrinsics.h", "sm_60_atomic_functions.h", "builtin_types.h", "cuda_profiler_api.h",
    "texture_types.h", "surface_types.h", "texture_fetch_functions.h", "helper_cuda.h",
    "helper_functions.h",
    // Libraries
    "cublas_v2.h", "cublas.h", "cublasLt.h", "cublasXt.h", "cudnn.h", "cusparse.h", "cufft.h",
    "cusolverDn.h", "curand.h", "nccl.h", "nvrtc.h", "nvToolsExt.h", "nvtx3/nvToolsExt.h", "cutensor.h",
    "Python.h"};

constexpr std::string_view kDeviceBeginnings[] = {
    "cu", "nv", "nccl", "thrust/", "mma.h", "crt/", "cooperative_groups", "torch/", "ATen/", "c10/",
    "caffe2/", "pybind11/", "device_", "driver_types.h", "vector_types.h", "vector_functions.h",
    "builtin_types.h", "host_defines.h", "math_functions.h", "math_constants.h", "sm_", "texture_",
    "surface_", "helper_"};
// clang-format on

// Covered for those who have them; they come neither with torch nor with the toolkit.
constexpr std::string_view kNotInstalled[] = {"cutlass/", "cute/", "helper_", "cutensor", "format"};

template <class Names>
bool contains(const Names& names, std::string_view wanted) {
  return std::find(std::begin(names), std::end(names), wanted) != std::end(names);
}

template <class Names>
bool has_beginning(const Names& beginnings, std::string_view text) {
  return std::any_of(std::begin(beginnings), std::end(beginnings),
                     [&](std::string_view beginning) { return text.starts_with(beginning); });
}

// Interfaces of libraries go on with a capital: cublasSgemm, and not cublas_style_kernel.
bool is_of(std::string_view word, std::string_view prefix) {
  if (!word.starts_with(prefix)) return false;
  const std::string_view rest = word.substr(prefix.size());
  const auto is_capital = [](char c) { return c >= 'A' && c <= 'Z'; };
  if (rest.empty()) return std::any_of(prefix.begin(), prefix.end(), is_capital);
  return prefix.back() == '_' || is_capital(rest.front());
}

}  // namespace

std::string_view library_of_prefix(std::string_view word) {
  for (const LibraryPrefix& row : kLibraryPrefixes)
    if (row.refused && is_of(word, row.prefix)) return row.library;
  return {};
}

std::string_view library_of_name(std::string_view word) {
  for (const LibraryName& row : kLibraryNames)
    if (word == row.name) return row.library;
  return {};
}

std::string_view library_of_scope(std::string_view word) {
  for (const LibraryName& row : kLibraryScopes)
    if (word == row.name) return row.library;
  return {};
}

bool is_declared_library_name(std::string_view word) {
  return std::any_of(std::begin(kLibraryPrefixes), std::end(kLibraryPrefixes), [&](const LibraryPrefix& row) {
    return row.declared && word.starts_with(row.prefix) && word.size() > row.prefix.size();
  });
}

bool is_thrust_functor(std::string_view name) {
  for (const std::string_view functor :
       {"plus",         "minus",       "multiplies", "divides",       "modulus", "maximum",
        "minimum",      "equal_to",    "greater",    "less",          "negate",  "identity",
        "not_equal_to", "square",      "less_equal", "greater_equal", "bit_and", "bit_or",
        "bit_xor",      "logical_and", "logical_or", "logical_not"})
    if (name == functor) return true;
  return false;
}

bool is_standard_header(std::string_view path) { return contains(kStandardHeaders, path); }

bool needs_real_math(std::string_view header) {
  return header == "complex" || header == "random" || header == "valarray" || header == "bits/stdc++.h" ||
         header == "regex" || header == "future" || header == "condition_variable";
}

bool is_device_header(std::string_view path) { return has_beginning(kDeviceBeginnings, path); }

bool has_covered_name(std::string_view path) {
  return is_standard_header(path) || contains(kCovered, path) || has_beginning(kCoveredFolders, path);
}

bool is_rarely_installed(std::string_view path) { return has_beginning(kNotInstalled, path); }

}  // namespace bicrl
