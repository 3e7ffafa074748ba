#include "tests/ptx/cuda_compiler.h"

#include <dlfcn.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>

#include "tests/support/support.h"

namespace bicrl::ptx::testing {
namespace {

namespace fs = std::filesystem;

// The part of NVRTC's interface that is used here; source: its documentation.
using Program = void*;
struct Nvrtc {
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*log_size)(Program, size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*ptx_size)(Program, size_t*) = nullptr;
  int (*ptx)(Program, char*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  std::vector<std::string> include_options;
};

// Below the interpreter's site-packages; empty if it has none. BICRL_CUDA_WHEEL (.../nvidia/cu13) goes first.
fs::path find_wheel() {
  if (const char* named = getenv("BICRL_CUDA_WHEEL")) return named;
  const fs::path root = fs::path(BICRL_TEST_PYTHON).parent_path().parent_path() / "lib";
  std::error_code failure;
  for (const auto& version : fs::directory_iterator(root, failure))
    if (const fs::path wheel = version.path() / "site-packages" / "nvidia" / "cu13";
        fs::exists(wheel / "lib"))
      return wheel;
  return {};
}

const Nvrtc& nvrtc() {
  static const Nvrtc loaded = [] {
    Nvrtc n;
    const fs::path wheel = find_wheel();
    void* library = wheel.empty() ? nullptr : dlopen((wheel / "lib" / "libnvrtc.so.13").c_str(), RTLD_NOW);
    if (!library) return n;
    const auto get = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    };
    get(n.create, "nvrtcCreateProgram");
    get(n.compile, "nvrtcCompileProgram");
    get(n.log_size, "nvrtcGetProgramLogSize");
    get(n.log, "nvrtcGetProgramLog");
    get(n.ptx_size, "nvrtcGetPTXSize");
    get(n.ptx, "nvrtcGetPTX");
    get(n.destroy, "nvrtcDestroyProgram");
    for (const fs::path& folder : {wheel / "include", wheel / "include" / "cccl"})
      n.include_options.push_back("-I" + folder.string());
    return n;
  }();
  if (!loaded.create) SKIP("no NVRTC in the Python environment");
  return loaded;
}

}  // namespace

std::string compile_cuda(const std::string& text, const std::vector<std::string>& options) {
  const Nvrtc& n = nvrtc();
  Program program = nullptr;
  REQUIRE(n.create(&program, text.c_str(), "test.cu", 0, nullptr, nullptr) == 0);
  std::vector<std::string> words = {"-arch=compute_90a", "-std=c++17", "-default-device", "-lineinfo"};
  words.insert(words.end(), n.include_options.begin(), n.include_options.end());
  words.insert(words.end(), options.begin(), options.end());
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  const int failed = n.compile(program, static_cast<int>(pointers.size()), pointers.data());
  size_t bytes = 0;
  std::string result;
  if (failed) {
    n.log_size(program, &bytes);
    result.resize(bytes);
    n.log(program, result.data());
    FAIL(result);
  }
  n.ptx_size(program, &bytes);
  result.resize(bytes);
  n.ptx(program, result.data());
  n.destroy(&program);
  result.resize(result.find('\0') == std::string::npos ? bytes : result.find('\0'));
  return result;
}

}  // namespace bicrl::ptx::testing
