#include "tests/ptx/kernel_runner.h"

#include <catch2/catch_test_macros.hpp>

#include "sandbox/interpreter/ptx/syntax/parser.h"

namespace bicrl::ptx::testing {

KernelRunner::KernelRunner(const std::string& cuda, const RunnerOptions& options)
    : options_(options),
      memory_({.max_bytes = uint64_t{1} << 30, .seed = options.seed, .shadows = options.shadows}) {
  ptx_ = options.ptx.empty() ? compile_cuda(cuda, options.compiler_options) : options.ptx;
  mirror_ = GpuMirror::make(ptx_, memory_);
  auto module = parse_module(ptx_);
  REQUIRE((module.ok() ? "" : module.reason()) == "");
  module_ = std::make_unique<Module>(std::move(module.value()));
  auto loaded = LoadedModule::load(*module_, memory_);
  REQUIRE((loaded.ok() ? "" : loaded.reason()) == "");
  loaded_ = std::move(loaded.value());
}

uint64_t KernelRunner::reserve(uint64_t bytes, DeviceMemory::Permission permission) {
  const auto id = memory_.allocate(bytes, permission);
  REQUIRE(id.ok());
  const uint64_t address = memory_.buffer(id.value()).address;
  by_address_[address] = id.value();
  return address;
}

std::string fault_text(const std::optional<KernelFault>& fault) {
  if (!fault) return "";
  const std::string what = to_string(fault->fault_class) + ": " + fault->message;
  return fault->place.empty() ? what : what + " (" + fault->place + ")";
}

std::optional<KernelFault> KernelRunner::run(const std::string& name, const LaunchConfig& config) {
  if (!kernels_.contains(name)) {
    auto kernel = lower_kernel(*module_, name);
    REQUIRE((kernel.ok() ? "" : kernel.reason()) == "");
    kernels_.emplace(name, std::move(kernel.value()));
  }
  Grid grid(kernels_.at(name), *loaded_, memory_, config, options_.limits, {},
            {options_.seed, options_.warps_apart}, observer);
  if (clock) clock->add(name, config, memory_, by_address_);
  if (mirror_) mirror_->keep(by_address_);
  const auto fault = grid.run();
  if (mirror_ && !fault) mirror_->run(name, config);
  counters_ = grid.counters();
  printed_.emplace(grid.printed());
  return fault;
}

}  // namespace bicrl::ptx::testing
