// The metadata of machine code, as NVRTC makes it for each architecture of the device tables.
#include "sandbox/frontend/device/cubin_resources.h"

#include <catch2/catch_test_macros.hpp>

#include "sandbox/frontend/device/device_flags.h"
#include "sandbox/frontend/device/device_text.h"
#include "tests/device/device_support.h"

namespace bicrl {

using testing::device_compiler;

TEST_CASE("registers and stacks of kernels are read from machine code") {
  const std::string text = R"(
    template <int kBytes> __global__ void spread(float* x, int at) {
      float own[kBytes];
      for (int i = 0; i < kBytes; ++i) own[i * at % kBytes] = x[i];
      x[at] = own[at];
    }
    template __global__ void spread<100>(float*, int);
    extern "C" __global__ void small(float* x) { x[threadIdx.x] = 1; }
    extern "C" __global__ void __launch_bounds__(1024) bounded(float* x, int n) {
      float v[80];
      for (int i = 0; i < 80; ++i) v[i] = x[i * n];
      for (int r = 0; r < n; ++r) for (int i = 0; i < 80; ++i) v[i] = v[i] * v[(i + 7) % 80] + x[r];
      for (int i = 0; i < 80; ++i) x[i * n] = v[i];
    })";
  const std::vector<std::string> flags = read_device_flags({}).options;
  for (const char* architecture : {"sm_80", "sm_89", "sm_90"}) {
    INFO(architecture);
    const DeviceCode code = device_compiler().compile(whole_device_text(text), flags, architecture);
    REQUIRE(code.log == "");
    const auto read = read_cubin_resources(code.machine_code);
    REQUIRE((read.ok() ? "" : read.reason()) == "");
    const auto& kernels = read.value();
    REQUIRE(kernels.size() == 3);
    CHECK(kernels.at("small").registers >= 4);
    CHECK(kernels.at("small").registers <= 16);
    CHECK(kernels.at("small").stack_bytes == 0);
    CHECK(kernels.at("_Z6spreadILi100EEvPfi").stack_bytes >= 400);
    // 65536 registers for 1024 threads.
    CHECK(kernels.at("bounded").registers <= 64);
    CHECK(kernels.at("bounded").registers >= 32);
    CHECK(kernels.at("bounded").stack_bytes > 0);
    // Cut off or changed anywhere, it is refused or read, and nothing worse.
    std::string broken = code.machine_code;
    for (size_t bytes = 0; bytes < broken.size(); bytes += 97) read_cubin_resources(broken.substr(0, bytes));
    for (size_t at = 0; at < broken.size(); at += 31) {
      broken[at] = static_cast<char>(broken[at] ^ 0x55);
      read_cubin_resources(broken);
    }
  }
  CHECK_FALSE(read_cubin_resources("").ok());
  CHECK_FALSE(read_cubin_resources(std::string(64, '\0')).ok());
}

TEST_CASE("text that does not compile has no machine code") {
  const DeviceCode code =
      device_compiler().compile("__global__ void f( {", read_device_flags({}).options, "sm_90");
  CHECK_FALSE(code.ok);
  CHECK(code.machine_code.empty());
}

TEST_CASE("inline assembly that the assembler refuses is reported") {
  const std::vector<std::string> flags = read_device_flags({}).options;
  const auto made = [&](const std::string& assembly) {
    const std::string text = "__global__ void k(float* x) { float a, b, c; asm volatile(\"" + assembly +
                             "\" : \"=f\"(a), \"=f\"(b), \"=f\"(c) : \"l\"(x)); x[0] = a + b + c; }";
    REQUIRE(device_compiler().compile(whole_device_text(text), flags).ok);
    return device_compiler().compile(whole_device_text(text), flags, "sm_90a").log;
  };
  CHECK(made("mov.f32 %0, 0f3f800000; mov.f32 %1, %0; ld.global.f32 %2, [%3];") == "");
  CHECK(made("ld.global.v3.f32 {%0, %1, %2}, [%3];").find("ptxas") != std::string::npos);
  CHECK(made("mov.b64 %0, %3; mov.f32 %1, %0; mov.f32 %2, %0;").find("ptxas") != std::string::npos);
}

}  // namespace bicrl
