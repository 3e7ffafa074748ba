#include "sandbox/interpreter/ptx/lowering/slots.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <set>

#include "sandbox/interpreter/ptx/lowering/operand_roles.h"
#include "tests/ptx/ptx_text.h"
#include "tests/ptx/random_function.h"

namespace bicrl::ptx {
namespace {

using namespace testing;

// Walks the blocks at random and executes with tokens for values: once in registers, and once in the bytes
// that the slots give. Every read must find in the bytes what it finds in the register.
class Walk {
 public:
  Walk(const Function& function, RandomStream& random)
      : function_(function),
        flow_(make_control_flow(function)),
        slots_(assign_slots(function, flow_)),
        random_(random) {
    frame_.assign(slots_.bytes, -1);
    registers_.assign(function.registers.size(), -1);
    for (uint32_t reg : slots_.may_be_unwritten) write(reg, token_++);
  }

  void run() {
    for (uint32_t block = 0, steps = 0; steps < 60; ++steps) {
      const FlowBlock& now = flow_.blocks[block];
      for (uint32_t i = now.first; i < now.first + now.count; ++i) execute(function_.body[i]);
      if (now.successors.empty()) return;
      block = now.successors[random_.below(now.successors.size())];
    }
  }

 private:
  void execute(const Instruction& instruction) {
    // Guards hold or not, whatever the predicate says: liveness knows no values.
    const bool active = instruction.guard < 0 || random_.below(2);
    std::vector<uint32_t> reads, writes;
    for_each_read(instruction, [&](uint32_t reg) { reads.push_back(reg); });
    for_each_write(instruction, [&](uint32_t reg) { writes.push_back(reg); });
    for (uint32_t reg : reads) check(reg);
    const std::set<uint32_t> sources(reads.begin(), reads.end());
    std::map<uint32_t, int64_t> written;
    for (uint32_t reg : writes) {
      if (active) {
        write(reg, token_);
        written[reg] = token_++;
      }
      // Of several destinations none may lie where a source lies that is another register.
      if (writes.size() > 1)
        for (uint32_t source : sources)
          if (source != reg) REQUIRE(slots_.offsets[source] != slots_.offsets[reg]);
      if (instruction.guard >= 0 && static_cast<uint32_t>(instruction.guard) != reg)
        REQUIRE(slots_.offsets[instruction.guard] != slots_.offsets[reg]);
    }
    for (const auto& [reg, token] : written) REQUIRE(load(reg) == token);
  }

  uint32_t bytes(uint32_t reg) const { return slot_bytes(function_.registers[reg].type); }

  void write(uint32_t reg, int64_t token) {
    registers_[reg] = token;
    for (uint32_t i = 0; i < bytes(reg); ++i) frame_.at(slots_.offsets[reg] + i) = token;
  }

  int64_t load(uint32_t reg) const {
    const uint32_t at = slots_.offsets[reg];
    for (uint32_t i = 0; i < bytes(reg); ++i) REQUIRE(frame_.at(at + i) == frame_[at]);
    return frame_[at];
  }

  void check(uint32_t reg) const {
    INFO(function_.registers[reg].name);
    REQUIRE(registers_[reg] != -1);  // else it should have been among those that may be unwritten
    REQUIRE(load(reg) == registers_[reg]);
  }

  const Function& function_;
  const ControlFlow flow_;
  const RegisterSlots slots_;
  RandomStream& random_;
  std::vector<int64_t> frame_, registers_;
  int64_t token_ = 0;
};

RegisterSlots slots_of(const std::string& body) {
  const Function function = function_of(body);
  return assign_slots(function, make_control_flow(function));
}

}  // namespace

TEST_CASE("registers that are not needed at the same time share a place") {
  std::string chain = "mov.b32 %r0, 1;\n";
  for (int i = 1; i < 60; ++i) chain += concat("add.s32 %r", i, ", %r", i - 1, ", 1;\n");
  CHECK(slots_of(chain + "ret;").bytes == 4);
  CHECK(slots_of(chain + "add.s32 %r60, %r59, %r0; ret;").bytes == 8);
  // Sizes do not mix, and the frame is laid out so that all are aligned.
  const Function function =
      function_of("mov.b16 %h1, 1; mov.b32 %r1, 1; mov.b128 %q1, 5; mov.b64 %rd1, 1; mov.pred %p1, 1; ret;");
  const RegisterSlots slots = assign_slots(function, make_control_flow(function));
  CHECK(slots.bytes == 16 + 8 + 4 + 2);
  for (size_t reg = 0; reg < function.registers.size(); ++reg)
    CHECK(slots.offsets[reg] % slot_bytes(function.registers[reg].type) == 0);
}

TEST_CASE("a register that may be read before it is written shares with none") {
  const RegisterSlots slots =
      slots_of("mov.b32 %r1, 1; mov.b32 %r2, %r1; mov.b32 %r3, %r9; mov.b32 %r4, 1; mov.b32 %r5, %r4; ret;");
  REQUIRE(slots.may_be_unwritten.size() == 1);
  const uint32_t own = slots.offsets[slots.may_be_unwritten[0]];
  CHECK(std::count(slots.offsets.begin(), slots.offsets.end(), own) == 1);
}

TEST_CASE("values survive in shared places on random paths") {
  RandomStream random(mix_key({3, 4}));
  for (int round = 0; round < 1500; ++round) {
    const std::string body = random_body(random);
    INFO(body);
    const Function function = function_of(body);
    for (int walk = 0; walk < 6; ++walk) Walk(function, random).run();
  }
}

TEST_CASE("a function beyond the limit of liveness has a frame all the same") {
  // Every register is needed from the first block to the last, and there are many of both.
  std::string body = ".reg .b32 %x<12000>;\n";
  for (int i = 0; i < 12000; ++i) body += concat("mov.b32 %x", i, ", 1;\n");
  for (int i = 0; i < 12000; ++i) body += concat("@%p1 bra L", i, ";\nL", i, ":\n");
  for (int i = 0; i < 12000; ++i) body += concat("mov.b32 %r1, %x", i, ";\n");
  const RegisterSlots slots = slots_of(body + "ret;");
  CHECK(slots.bytes >= 12000 * 4);
  CHECK(slots.may_be_unwritten.size() > 1);
  std::set<uint32_t> places;
  for (uint32_t reg : slots.may_be_unwritten) CHECK(places.insert(slots.offsets[reg]).second);
}

}  // namespace bicrl::ptx
