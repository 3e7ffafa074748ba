#include "tests/sandbox/service/service_support.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>

#include "common/error.h"

namespace bicrl::testing {
namespace {

// Made once; skips the test with the reason if the machine lacks what it needs.
template <class T, class Make>
T& made_once(Make make) {
  static const auto made = [&]() -> std::pair<std::unique_ptr<T>, std::string> {
    try {
      return {make(), ""};
    } catch (const Error& error) {
      return {nullptr, error.what()};
    }
  }();
  if (!made.first) SKIP(made.second);
  return *made.first;
}

std::unique_ptr<Pipeline> make_pipeline(double compile_s, double record_s, uint64_t lane_operations) {
  PipelineOptions options;
  options.python = test_python();
  options.compile.cpu_s = compile_s;
  options.record.wall_s = record_s;
  options.execute.lane_operations = lane_operations;
  options.oracle.cpu_s = 3600;
  options.compile.memory_bytes = 1ull << 30;
  options.record.memory_bytes = 512ull << 20;
  options.execute.memory_bytes = 1024ull << 20;
  return std::make_unique<Pipeline>(options);
}

}  // namespace

BoxHost& box_host() {
  return made_once<BoxHost>([] { return std::make_unique<BoxHost>(); });
}

Pipeline& pipeline() {
  return made_once<Pipeline>([] { return make_pipeline(600, 600, uint64_t{1} << 33); });
}

Pipeline& impatient_pipeline() {
  return made_once<Pipeline>([] { return make_pipeline(6, 3, uint64_t{1} << 28); });
}

}  // namespace bicrl::testing
