#include "sandbox/gpu/launch_registers.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace bicrl;
using Catch::Matchers::ContainsSubstring;

namespace {

Trace launches(uint32_t x, uint32_t y = 1) {
  TraceOp op;
  op.entry = "_Z3sumPf";
  op.block[0] = x;
  op.block[1] = y;
  Trace trace;
  trace.ops = {op};
  return trace;
}

std::string problem(uint32_t threads, uint32_t registers) {
  return register_problem(launches(threads), {{"_Z3sumPf", {registers, 0}}}, *find_device_table("h100"));
}

}  // namespace

TEST_CASE("so many registers that a block does not fit") {
  // 65,536 in units of 256 for a warp: 64 for each of 1024 threads, 128 for 512.
  CHECK(problem(1024, 64).empty());
  CHECK_THAT(problem(1024, 65), ContainsSubstring("sum(float*): 65 registers in each of 1024 threads"));
  CHECK(problem(512, 128).empty());
  CHECK_FALSE(problem(512, 129).empty());
  CHECK(problem(256, 255).empty());
  CHECK(problem(1000, 64).empty());
  CHECK(problem(1024, 0).empty());  // not known
  CHECK(register_problem(launches(1024), {}, *find_device_table("h100")).empty());
}

TEST_CASE("blocks whose threads fit with any registers need not be looked at") {
  const DeviceTable& device = *find_device_table("h100");
  CHECK_FALSE(registers_may_run_out(launches(256), device));
  CHECK(registers_may_run_out(launches(16, 32), device));
}
