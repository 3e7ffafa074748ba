// Runs kernels of a CUDA text under the eyes of the counting observer.
#pragma once
#include <string>
#include <vector>

#include "sandbox/cost/cost_model.h"
#include "sandbox/cost/cost_report.h"
#include "sandbox/interpreter/counting/launch_counting.h"
#include "tests/ptx/kernel_runner.h"

namespace bicrl::testing {

struct CountedKernel {
  explicit CountedKernel(const std::string& text, uint64_t seed = 0)
      : runner(text, {.shadows = false, .seed = seed, .compiler_options = {}, .limits = {}, .ptx = ""}) {
    runner.observer = &counting;
  }
  // Floats that are all 0.5.
  uint64_t floats(uint64_t count) { return runner.upload(std::vector<float>(count, 0.5F)); }

  template <class... Arguments>
  const LaunchCounters& launch(const std::string& kernel, ptx::Dim3 grid, ptx::Dim3 block,
                               Arguments... arguments) {
    const auto fault = runner.launch(kernel, grid, block, 0, arguments...);
    if (fault) throw Error(ptx::testing::fault_text(fault));
    static const LaunchCounters kNone;
    return runner.observer ? counting.launches().back() : kNone;
  }
  double modelled_ms(const std::string& device = "h100") const {
    return model_program(counting.launches(), *find_device_table(device)).modelled_ms;
  }

  std::string report(const std::string& device = "h100") const {
    std::vector<std::string> names;
    for (const LaunchCounters& launch : counting.launches()) names.push_back(launch.name);
    return cost_report(counting.launches(), names, *find_device_table(device));
  }

  LaunchCounting counting;
  ptx::testing::KernelRunner runner;
};

}  // namespace bicrl::testing
