#include "sandbox/interpreter/ptx/lowering/control_flow.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <tuple>

#include "sandbox/interpreter/ptx/lowering/operand_roles.h"
#include "tests/ptx/ptx_text.h"

namespace bicrl::ptx {
namespace {

using namespace testing;
using Blocks = std::vector<std::vector<uint32_t>>;

// {first, count, successors...} of every block.
Blocks shape(const std::string& body) {
  Blocks out;
  for (const FlowBlock& block : make_control_flow(function_of(body)).blocks) {
    out.push_back({block.first, block.count});
    out.back().insert(out.back().end(), block.successors.begin(), block.successors.end());
  }
  return out;
}

// Names of the registers that an instruction writes, then of those that it reads.
std::pair<std::vector<std::string>, std::vector<std::string>> roles(const std::string& text) {
  const Function function = function_of(text);
  std::pair<std::vector<std::string>, std::vector<std::string>> out;
  for_each_write(function.body.at(0),
                 [&](uint32_t reg) { out.first.push_back(function.registers[reg].name); });
  for_each_read(function.body.at(0),
                [&](uint32_t reg) { out.second.push_back(function.registers[reg].name); });
  return out;
}
using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("blocks end at branches, returns and calls") {
  CHECK(shape("mov.b32 %r1, 1;\nret;") == Blocks{{0, 2}});
  CHECK(shape("L: @%p1 bra L;\nret;") == Blocks{{0, 1, 0, 1}, {1, 1}});
  CHECK(shape("bra L;\nmov.b32 %r1, 1;\nL: exit;") == Blocks{{0, 1, 2}, {1, 1, 2}, {2, 1}});
  CHECK(shape("@!%p1 ret;\n@%p1 exit;\ntrap;") == Blocks{{0, 1, 1}, {1, 1, 2}, {2, 1}});
  CHECK(shape("{ call k; }\nmov.b32 %r1, 1;\nret;") == Blocks{{0, 1, 1}, {1, 2}});
  CHECK(shape("ts: .branchtargets B, A, B; brx.idx %r1, ts;\nA: ret;\nB: ret;") ==
        Blocks{{0, 1, 1, 2}, {1, 1}, {2, 1}});
  CHECK(shape("ts: .branchtargets B; @%p1 brx.idx %r1, ts;\nret;\nB: ret;") ==
        Blocks{{0, 1, 1, 2}, {1, 1}, {2, 1}});
}

TEST_CASE("labels that no branch names begin no block") {
  CHECK(shape("mov.b32 %r1, 1;\nL0: mov.b32 %r1, 2;\nL1: bra L0;\n") == Blocks{{0, 1, 1}, {1, 2, 1}});
  const ControlFlow flow =
      make_control_flow(function_of("mov.b32 %r1, 1;\nL0: mov.b32 %r1, 2;\nL1: bra L0;\n"));
  CHECK(flow.label_blocks == std::vector<uint32_t>{1, kNoBlock});
  CHECK(shape("ts: .branchtargets A; mov.b32 %r1, 2;\nA: ret;") == Blocks{{0, 2}});
}

TEST_CASE("the end of the body is a block if it can be reached") {
  CHECK(shape("") == Blocks{{0, 0}});
  CHECK(shape("mov.b32 %r1, 1;") == Blocks{{0, 1, 1}, {1, 0}});
  CHECK(shape("@%p1 bra L;\nret;\nL:") == Blocks{{0, 1, 1, 2}, {1, 1}, {2, 0}});
  CHECK(shape("@%p1 ret;") == Blocks{{0, 1, 1}, {1, 0}});
  CHECK(shape("L: bra L;") == Blocks{{0, 1, 0}});
}

TEST_CASE("an operation that lanes can wait at begins a block") {
  const char* kBlocking[] = {"bar.sync 0;",
                             "@%p1 bar.red.popc.u32 %r1, 0, %p2;",
                             "barrier.cta.sync 1, 64;",
                             "bar.warp.sync -1;",
                             "shfl.sync.idx.b32 %r1|%p1, %r2, 0, 31, -1;",
                             "vote.sync.any.pred %p1, %p2, -1;",
                             "match.any.sync.b32 %r1, %r2, -1;",
                             "redux.sync.add.s32 %r1, %r2, -1;",
                             "activemask.b32 %r1;",
                             "elect.sync %r1|%p1, -1;",
                             "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r1}, {%r2}, {%r3}, {%r4};",
                             "wmma.store.d.sync.aligned.row.f32 [%rd1], {%r1};",
                             "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];",
                             "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;"};
  for (const char* text : kBlocking) {
    INFO(text);
    const ControlFlow flow = make_control_flow(
        function_of(concat("mov.b32 %r9, 1;\n", text, "\n", text, "\nmov.b32 %r9, 2; ret;")));
    REQUIRE(flow.blocks.size() == 3);
    CHECK_FALSE(flow.blocks[0].blocking);
    CHECK(flow.blocks[1].blocking);
    CHECK(flow.blocks[1].count == 1);
    CHECK(flow.blocks[2].blocking);
    CHECK(flow.blocks[2].count == 3);
  }
  CHECK(shape("mov.b32 %r1, 1;\nmbarrier.try_wait.shared.b64 %p1, [%r1], %rd1;\nret;") == Blocks{{0, 3}});
}

TEST_CASE("which registers instructions write and read") {
  const std::tuple<const char*, Names, Names> kRoles[] = {
      {"add.s32 %r1, %r2, 3;", {"%r1"}, {"%r2"}},
      {"@%p1 add.s32 %r1, %r1, %r2;", {"%r1"}, {"%p1", "%r1", "%r2"}},
      {"setp.lt.s32 %p1|%p2, %r1, %r2;", {"%p1", "%p2"}, {"%r1", "%r2"}},
      {"setp.lt.and.s32 %p1, %r1, %r2, !%p3;", {"%p1"}, {"%r1", "%r2", "%p3"}},
      {"shfl.sync.idx.b32 %r1|%p1, %r2, %r3, 31, -1;", {"%r1", "%p1"}, {"%r2", "%r3"}},
      {"ld.global.v2.b32 {%r1, %r2}, [%rd1+8];", {"%r1", "%r2"}, {"%rd1"}},
      {"st.global.v2.b32 [%rd1], {%r1, %r2};", {}, {"%rd1", "%r1", "%r2"}},
      {"mov.b64 {%r1, _}, %rd1;", {"%r1"}, {"%rd1"}},
      {"mov.b64 %rd1, {%r1, %r2};", {"%rd1"}, {"%r1", "%r2"}},
      {"atom.global.cas.b32 %r1, [%rd1], %r2, %r3;", {"%r1"}, {"%rd1", "%r2", "%r3"}},
      {"atom.global.add.u32 _, [%rd1], %r2;", {}, {"%rd1", "%r2"}},
      {"red.global.add.u32 [%rd1], %r2;", {}, {"%rd1", "%r2"}},
      {"bar.sync %r1, %r2;", {}, {"%r1", "%r2"}},
      {"bar.red.or.pred %p1, %r1, %p2;", {"%p1"}, {"%r1", "%p2"}},
      {"barrier.sync %r1;", {}, {"%r1"}},
      {"nanosleep.u32 %r1;", {}, {"%r1"}},
      {"ts: .branchtargets L; brx.idx %r1, ts; L:", {}, {"%r1"}},
      {"wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1, %r2}, [%rd1], %r3;",
       {"%r1", "%r2"},
       {"%rd1", "%r3"}},
      {"wmma.store.d.sync.aligned.row.m16n16k16.f32 [%rd1], {%r1, %r2}, %r3;",
       {},
       {"%rd1", "%r1", "%r2", "%r3"}},
      {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r1, %r2}, {%r3}, {%r4}, {%r1, %r2};",
       {"%r1", "%r2"},
       {"%r3", "%r4", "%r1", "%r2"}},
      {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r1}, %rd1, %rd2, 1;",
       {"%r1"},
       {"%r1", "%rd1", "%rd2"}},
      {"cp.async.ca.shared.global [%r1], [%rd1], 4, %r2;", {}, {"%r1", "%rd1", "%r2"}},
      {"cp.async.wait_group 0;", {}, {}},
      {"vote.sync.ballot.b32 %r1, %p1, %r2;", {"%r1"}, {"%p1", "%r2"}},
      {"prefetch.global.L2 [%rd1];", {}, {"%rd1"}},
      {"mbarrier.arrive.shared.b64 %rd1, [%r1];", {"%rd1"}, {"%r1"}},
      {"mbarrier.init.shared.b64 [%r1], %r2;", {}, {"%r1", "%r2"}},
      {"P: .callprototype (.param .b32 _) _ (.param .b32 _); call (%r1), %rd1, (%r2), P;",
       {"%r1"},
       {"%rd1", "%r2"}},
      {"ret;", {}, {}},
  };
  for (const auto& [text, writes, reads] : kRoles) {
    INFO(text);
    CHECK(roles(text).first == writes);
    CHECK(roles(text).second == reads);
  }
}

}  // namespace bicrl::ptx
