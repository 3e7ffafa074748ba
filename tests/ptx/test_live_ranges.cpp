#include "sandbox/interpreter/ptx/lowering/live_ranges.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <set>

#include "sandbox/interpreter/ptx/lowering/operand_roles.h"
#include "tests/ptx/ptx_text.h"
#include "tests/ptx/random_function.h"

namespace bicrl::ptx {
namespace {

using namespace testing;

// Instructions that can come after instruction i; body.size() is the end. Needs no blocks.
std::vector<size_t> next_of(const Function& function, size_t i) {
  const Instruction& instruction = function.body[i];
  std::vector<size_t> next;
  const bool leaves =
      instruction.opcode == "bra" || instruction.opcode == "brx" || instruction.opcode == "ret";
  if (!leaves || instruction.guard >= 0) next.push_back(i + 1);
  if (instruction.opcode == "bra") next.push_back(function.labels[instruction.operands[0].index]);
  if (instruction.opcode == "brx")
    for (uint32_t label : function.branch_targets[instruction.operands[1].index])
      next.push_back(function.labels[label]);
  return next;
}

template <class Each>
std::set<uint32_t> registers_of(const Each& each) {
  std::set<uint32_t> out;
  each([&](uint32_t reg) { out.insert(reg); });
  return out;
}

// Live before each instruction, by the textbook's equations until nothing changes.
std::vector<std::set<uint32_t>> live_before(const Function& function) {
  std::vector<std::set<uint32_t>> live(function.body.size() + 1);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = function.body.size(); i-- > 0;) {
      const Instruction& instruction = function.body[i];
      std::set<uint32_t> now;
      for (size_t next : next_of(function, i)) now.insert(live[next].begin(), live[next].end());
      if (instruction.guard < 0)
        for (uint32_t reg : registers_of([&](auto work) { for_each_write(instruction, work); }))
          now.erase(reg);
      for (uint32_t reg : registers_of([&](auto work) { for_each_read(instruction, work); })) now.insert(reg);
      if (now != live[i]) changed = true;
      live[i] = std::move(now);
    }
  }
  return live;
}

std::vector<LiveRange> expected_ranges(const Function& function) {
  const auto live = live_before(function);
  std::vector<LiveRange> ranges(function.registers.size());
  const auto add = [&](uint32_t reg, uint64_t point) {
    LiveRange& range = ranges[reg];
    if (range.begin > range.end) range.begin = range.end = point;
    range.begin = std::min(range.begin, point);
    range.end = std::max(range.end, point);
  };
  for (size_t i = 0; i < function.body.size(); ++i) {
    const Instruction& instruction = function.body[i];
    for (uint32_t reg : live[i]) add(reg, 2 * i);
    for (size_t next : next_of(function, i))
      for (uint32_t reg : live[next]) add(reg, 2 * i + 1);
    const auto writes = registers_of([&](auto work) { for_each_write(instruction, work); });
    for (uint32_t reg : writes) add(reg, 2 * i + 1);
    if (instruction.guard >= 0 && !writes.empty()) add(instruction.guard, 2 * i + 1);
  }
  for (uint32_t reg : live[0]) ranges[reg] = {0, 2 * function.body.size() + 1, true};
  return ranges;
}

LiveRange range_of(const std::string& body, const std::string& name) {
  const Function function = function_of(body);
  const auto ranges = find_live_ranges(function, make_control_flow(function));
  for (size_t i = 0; i < ranges.size(); ++i)
    if (function.registers[i].name == name) return ranges[i];
  FAIL("no register " << name);
  return {};
}

}  // namespace

TEST_CASE("live ranges of straight and looping text") {
  const std::string loop =
      "mov.b32 %r1, 0;\nmov.b32 %r2, 8;\nL: add.s32 %r3, %r1, 1;\nmov.b32 %r1, %r3;\nsetp.lt.s32 %p1, %r1, "
      "%r2;\n@%p1 bra L;\nmov.b32 %r4, "
      "%r1;\nret;";
  CHECK(range_of(loop, "%r1").begin == 1);
  CHECK(range_of(loop, "%r1").end == 12);
  CHECK(range_of(loop, "%r2").begin == 3);
  CHECK(range_of(loop, "%r2").end == 11);  // for the next round
  CHECK(range_of(loop, "%r3").begin == 5);
  CHECK(range_of(loop, "%r3").end == 6);
  CHECK(range_of(loop, "%r4").begin == 13);
  CHECK(range_of(loop, "%r4").end == 13);
  CHECK_FALSE(range_of(loop, "%r1").may_be_unwritten);
}

TEST_CASE("registers that may be read before they are written") {
  CHECK(range_of("mov.b32 %r1, %r2; ret;", "%r2").may_be_unwritten);
  CHECK(range_of("setp.eq.s32 %p1, %r2, 0; @%p1 mov.b32 %r1, 5; mov.b32 %r3, %r1; ret;", "%r1")
            .may_be_unwritten);
  CHECK(range_of("add.s32 %r1, %r1, 1; ret;", "%r1").may_be_unwritten);
  const std::string one_branch = "mov.pred %p1, 1; @%p1 bra L; mov.b32 %r1, 5; L: mov.b32 %r2, %r1; ret;";
  CHECK(range_of(one_branch, "%r1").may_be_unwritten);
  CHECK(range_of(one_branch, "%r1").end == 11);
  const std::string both =
      "mov.pred %p1, 1; @%p1 bra L; mov.b32 %r1, 5; bra M; L: mov.b32 %r1, 6; M: mov.b32 %r2, %r1; ret;";
  CHECK_FALSE(range_of(both, "%r1").may_be_unwritten);
  CHECK_FALSE(range_of("ret; mov.b32 %r1, %r2; ret;", "%r2").may_be_unwritten);  // never reached
}

TEST_CASE("live ranges are those of the textbook's equations") {
  RandomStream random(mix_key({1, 2}));
  for (int round = 0; round < 3000; ++round) {
    const std::string body = random_body(random);
    INFO(body);
    const Function function = function_of(body);
    const auto ranges = find_live_ranges(function, make_control_flow(function));
    const auto expected = expected_ranges(function);
    REQUIRE(ranges.size() == expected.size());
    for (size_t reg = 0; reg < ranges.size(); ++reg) {
      INFO(function.registers[reg].name);
      REQUIRE(ranges[reg].may_be_unwritten == expected[reg].may_be_unwritten);
      REQUIRE(ranges[reg].begin == expected[reg].begin);
      REQUIRE(ranges[reg].end == expected[reg].end);
    }
  }
}

}  // namespace bicrl::ptx
