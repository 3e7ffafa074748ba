// Results that nobody wants, and registers of a size that an instruction's result does not have.
#include <catch2/catch_test_macros.hpp>

#include "sandbox/interpreter/ptx/lowering/kernel.h"
#include "tests/ptx/kernel_runner.h"
#include "tests/ptx/ptx_text.h"

namespace bicrl::ptx {
namespace {

using testing::KernelRunner;

// Runs the instruction between registers that it must leave alone, and writes these out.
std::string kernel_around(const std::string& instruction) {
  return testing::kHead + testing::kernel_text(R"(
    ld.param.u64 %rd1, [k_param_0];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    add.u32 %r2, %r1, 100;
    setp.lt.u32 %p1, %r1, 7;
    cvt.u64.u32 %rd4, %r1;
    )" + instruction + R"(
    selp.u32 %r3, 1000, 0, %p1;
    add.u32 %r4, %r2, %r3;
    st.global.u32 [%rd3], %r4;
    ret;)");
}

std::string lowered(const std::string& instruction) {
  const Module module = testing::parsed(testing::kernel_text(instruction + "\nret;"));
  const auto kernel = lower_kernel(module, "k");
  return kernel.ok() ? "" : kernel.reason();
}

}  // namespace

TEST_CASE("a result that nobody wants is written nowhere") {
  for (const std::string instruction : {
           "vote.sync.ballot.b32 _, %p1, -1;",
           "vote.sync.any.pred _, %p1, -1;",
           "redux.sync.add.u32 _, %r2, -1;",
           "redux.sync.min.s32 _, %r2, -1;",
           "activemask.b32 _;",
           "match.any.sync.b32 _, %r1, -1;",
           "match.any.sync.b64 _, %rd4, -1;",
           "match.all.sync.b32 _|_, %r1, -1;",
           "match.all.sync.b32 %r5|_, %r1, -1;",
           "match.all.sync.b32 _|%p2, %r1, -1;",
           "elect.sync _|_, -1;",
           "elect.sync _|%p2, -1;",
           "shfl.sync.idx.b32 _|_, %r1, 3, 31, -1;",
           "shfl.sync.idx.b32 _|%p2, %r1, 3, 31, -1;",
           "barrier.cta.red.popc.aligned.u32 _, 0, %p1;",
           "isspacep.shared _, %rd1;",
           "isspacep.global _, %rd1;",
           "mov.u32 _, %clock;",
           "mov.u64 _, %clock64;",
       })
    for (const bool shadows : {false, true}) {
      INFO(instruction);
      KernelRunner runner(
          "", {.shadows = shadows, .compiler_options = {}, .limits = {}, .ptx = kernel_around(instruction)});
      const uint64_t out = runner.reserve(64 * 4);
      REQUIRE_FALSE(runner.launch("k", {1, 1, 1}, {64, 1, 1}, 0, out));
      const auto found = runner.download<uint32_t>(out);
      for (uint32_t t = 0; t < 64; ++t) CHECK(found[t] == t + 100 + (t < 7 ? 1000 : 0));
    }
}

TEST_CASE("the other of two results is correct if one is unwanted") {
  KernelRunner runner("", {.compiler_options = {}, .limits = {}, .ptx = kernel_around(R"(
    shfl.sync.up.b32 _|%p1, %r1, 3, 0x1800, -1;
    match.all.sync.b32 %r2|_, 7, -1;
    and.b32 %r2, %r2, 3;)")});
  const uint64_t out = runner.reserve(64 * 4);
  REQUIRE_FALSE(runner.launch("k", {1, 1, 1}, {64, 1, 1}, 0, out));
  const auto found = runner.download<uint32_t>(out);
  for (uint32_t t = 0; t < 64; ++t) CHECK(found[t] == 3U + (t % 8 >= 3 ? 1000 : 0));
}

TEST_CASE("lanes that part, and guards, get the wanted half of a value") {
  for (const bool shadows : {false, true})
    for (const std::string instructions : {
             "@%p1 bra small; bra end; small: mov.b64 {_, %r2}, %rd4; end:",
             "@%p1 mov.b64 {_, %r2}, %rd4;",
             "@%p1 mov.b64 {%r5, %r2}, %rd4;",
         }) {
      INFO(instructions);
      KernelRunner runner("", {.shadows = shadows,
                               .compiler_options = {},
                               .limits = {},
                               .ptx = kernel_around("shl.b64 %rd4, %rd4, 32;\n" + instructions)});
      const uint64_t out = runner.reserve(64 * 4);
      REQUIRE_FALSE(runner.launch("k", {1, 1, 1}, {64, 1, 1}, 0, out));
      const auto found = runner.download<uint32_t>(out);
      for (uint32_t t = 0; t < 64; ++t) CHECK(found[t] == (t < 7 ? t + 1000 : t + 100));
    }
}

TEST_CASE("results in registers of another size are refused") {
  for (const char* right : {
           "vote.sync.ballot.b32 %r1, %p1, -1;",
           "match.all.sync.b32 %r1|%p2, %r2, -1;",
           "elect.sync %r1|%p2, -1;",
           "shfl.sync.idx.b32 %r1|%p2, %r2, 3, 31, -1;",
           "barrier.cta.red.popc.aligned.u32 %r1, 0, %p1;",
           "isspacep.shared %p1, %rd1;",
       }) {
    INFO(right);
    CHECK(lowered(right) == "");
  }
  for (const char* invalid : {
           "vote.sync.ballot.b32 %rd1, %p1, -1;",
           "vote.sync.any.pred %h1, %p1, -1;",
           "redux.sync.add.u32 %rd1, %r1, -1;",
           "activemask.b32 %q1;",
           "match.any.sync.b32 %h1, %r1, -1;",
           "match.all.sync.b32 %r1|%h1, %r2, -1;",
           "match.all.sync.b32 _|%rd1, %r2, -1;",
           "elect.sync %r1|%h1, -1;",
           "elect.sync _|%rd1, -1;",
           "shfl.sync.idx.b32 %r1|%h1, %r2, 3, 31, -1;",
           "shfl.sync.idx.b32 %r1|%q1, %r2, 3, 31, -1;",
           "barrier.cta.red.popc.aligned.u32 %h1, 0, %p1;",
           "barrier.cta.red.or.aligned.pred %rd1, 0, %p1;",
           "isspacep.shared %h1, %rd1;",
           "isspacep.shared %rd1, %rd1;",
       }) {
    INFO(invalid);
    CHECK(lowered(invalid) != "");
  }
}

}  // namespace bicrl::ptx
