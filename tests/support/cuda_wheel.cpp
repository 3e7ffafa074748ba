#include "tests/support/cuda_wheel.h"
#include "tests/support/support.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>

namespace bicrl::testing {
namespace {

namespace fs = std::filesystem;

const fs::path kCompiler = fs::path("lib") / "libnvrtc.so.13";

// Empty if there is none.
fs::path find_wheel() {
  if (const char* named = getenv("BICRL_CUDA_WHEEL")) return named;
  const fs::path root = fs::path(testing::test_python()).parent_path().parent_path() / "lib";
  std::error_code failure;
  for (const auto& version : fs::directory_iterator(root, failure))
    if (const fs::path wheel = version.path() / "site-packages" / "nvidia" / "cu13";
        fs::exists(wheel / kCompiler))
      return wheel;
  return {};
}

}  // namespace

CudaWheel cuda_wheel() {
  const fs::path wheel = find_wheel();
  if (wheel.empty()) SKIP("no NVRTC in the Python environment");
  return {wheel / kCompiler, wheel / "include", wheel / "include" / "cccl"};
}

}  // namespace bicrl::testing
