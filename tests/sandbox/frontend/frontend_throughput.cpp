// How long the compile step takes for the quickstart's programs. Run by hand: test_sandbox "[throughput]".
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <iostream>

#include "common/clock.h"
#include "sandbox/frontend/candidate_compiler.h"
#include "tasks/synthetic/synthesiser.h"
#include "tests/sandbox/service/service_support.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

constexpr size_t kPrograms = 60;

// The n-th text in triple quotes of a synthesised program: its CUDA source, its C++ source.
std::string quoted(const std::string& program, int n) {
  size_t open = 0, close = 0;
  for (int i = 0; i <= n; ++i) {
    open = program.find("\"\"\"", close + (i ? 3 : 0)) + 3;
    close = program.find("\"\"\"", open);
  }
  return program.substr(open, close - open);
}

void report(const std::string& title, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::cout << title << ": p50 " << values[values.size() / 2] << " ms, p95 "
            << values[values.size() * 95 / 100] << "\n";
}

}  // namespace

TEST_CASE("Milliseconds of the compile step", "[.throughput]") {
  const PythonInstall python = PythonInstall::find(testing::test_python());
  BoxHost& host = testing::box_host();
  const Stopwatch start;
  FrontendProcess frontend(host, python, DeviceToolchain::find(python), {});
  REQUIRE(frontend.begin({{""}, {""}, {}}, false).ok());
  std::cout << "start until the first child: " << start.ms() << " ms\n";
  CandidateCompiler compiler(host, python, {});
  HostModules modules(host, python, {});
  const std::vector<Task> tasks = synthesise({}).train;
  std::vector<double> box, split, device, frontend_total, host_part, both;
  for (size_t i = 0; i < kPrograms; ++i) {
    const std::string& text = tasks[i].cuda_code;
    const CudaProgram program{{quoted(text, 0)}, {quoted(text, 1)}, {"forward_cuda"}};
    const Stopwatch total;
    Stopwatch part;
    auto job = frontend.begin(program, true);
    REQUIRE(job.ok());
    box.push_back(part.ms());
    part.restart();
    const FrontendSplit units = job.value().split();
    split.push_back(part.ms());
    part.restart();
    const FrontendDevice code = job.value().device();
    device.push_back(part.ms());
    frontend_total.push_back(total.ms());
    frontend.dismiss(std::move(job.value()));
    INFO(code.fault.reason);
    REQUIRE_FALSE(code.fault);
    part.restart();
    REQUIRE(modules.compile(units.program).bytes);
    host_part.push_back(part.ms());
    part.restart();
    const CompileResult result = compiler.compile(program);
    both.push_back(part.ms());
    REQUIRE(result.ptx);
  }
  report("fork and box", box);
  report("split", split);
  report("device code", device);
  report("the front end's part", frontend_total);
  report("g++ alone", host_part);
  report("the compile step, both beside each other", both);
}

}  // namespace bicrl
