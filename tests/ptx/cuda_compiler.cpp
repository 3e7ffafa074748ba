#include "tests/ptx/cuda_compiler.h"

#include <catch2/catch_test_macros.hpp>

#include "sandbox/frontend/device/device_compiler.h"
#include "tests/support/cuda_wheel.h"

namespace bicrl::ptx::testing {
namespace {

const DeviceCompiler& compiler() {
  static const DeviceCompiler loaded = [] {
    const auto wheel = bicrl::testing::cuda_wheel();
    DeviceCompilerOptions options;
    options.library = wheel.compiler.string();
    options.include_folders = {wheel.headers.string(), wheel.template_headers.string()};
    options.architecture = "compute_90a";
    const auto result = DeviceCompiler::load(options);
    REQUIRE((result.ok() ? "" : result.reason()) == "");
    return result.value();
  }();
  return loaded;
}

}  // namespace

std::string compile_cuda(const std::string& text, const std::vector<std::string>& options) {
  std::vector<std::string> flags = {"-std=c++17", "-lineinfo"};
  flags.insert(flags.end(), options.begin(), options.end());
  const DeviceCode code = compiler().compile(text, flags);
  INFO(code.log);
  REQUIRE(code.ok);
  return code.ptx;
}

}  // namespace bicrl::ptx::testing
