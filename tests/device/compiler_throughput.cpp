// How long NVRTC takes for the published programs. Run by hand: test_device "[throughput]".
#include <time.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <iostream>

#include "sandbox/frontend/device/device_flags.h"
#include "sandbox/frontend/device/device_text.h"
#include "tests/device/device_support.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// The least of several.
double measure(const DeviceCompiler& compiler, const std::string& text,
               const std::vector<std::string>& flags) {
  double least = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double begin = cpu_ms();
    REQUIRE(compiler.compile(text, flags).ok);
    least = std::min(least, cpu_ms() - begin);
  }
  return least;
}

void report(const std::string& title, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::cout << title << ": " << values.size() << " programs, CPU ms median " << values[values.size() / 2]
            << ", p95 " << values[values.size() * 95 / 100] << ", max " << values.back() << "\n";
}

}  // namespace

TEST_CASE("Milliseconds of NVRTC a program", "[.throughput]") {
  const std::vector<std::string> flags = read_device_flags({}).options;
  const std::string prelude = "#include \"bicrl/device_prelude.h\"\n",
                    kernel = "__global__ void k(float* x) { x[0] = 1; }";
  const DeviceCompiler& plain = testing::device_compiler();
  const testing::TemporaryFolder folder;
  DeviceCompiler ready = testing::limited_compiler(DeviceCompilerOptions().max_ptx_bytes);
  std::vector<double> whole, cut;
  for (const auto& program : testing::published_programs()) {
    if (program.text.empty()) continue;
    const std::string text = whole_device_text(program.text);
    cut.push_back(measure(plain, cut_device_text(program.text), flags));
    if (plain.compile(text, flags).ok) whole.push_back(measure(plain, text, flags));
  }
  report("whole text", whole);
  report("cut text", cut);
  std::cout << "one empty kernel: " << measure(plain, kernel, flags) << ", with the shim "
            << measure(plain, prelude + kernel, flags) << "\n";
  REQUIRE(ready.precompile(prelude, flags, folder.path().string()) == "");
  std::cout << "with the shim precompiled: " << measure(ready, prelude + kernel, flags) << "\n";
  const std::vector<std::string> expensive = {
      "#include <curand_kernel.h>\n",
      "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n",
      "#include <cub/block/block_reduce.cuh>\n"};
  for (const std::string& header : expensive) {
    const double before = measure(plain, prelude + header + kernel, flags);
    REQUIRE(ready.precompile(prelude + header, flags, folder.path().string()) == "");
    std::cout << header << before << ", precompiled " << measure(ready, prelude + header + kernel, flags)
              << "\n";
  }
}

}  // namespace bicrl
