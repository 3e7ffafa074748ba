// PTX text, which may be forged: read, divided into blocks, registers put into a frame.
#include "sandbox/interpreter/ptx/lowering/operand_roles.h"
#include "sandbox/interpreter/ptx/lowering/slots.h"
#include "sandbox/interpreter/ptx/syntax/parser.h"
#include "tests/fuzz/fuzz_target.h"

namespace bicrl::fuzz {
namespace {

using namespace ptx;

void check_operand(const Module& module, const Function& function, const Operand& operand) {
  using Kind = Operand::Kind;
  const auto within = [&](Kind kind, size_t size) {
    BICRL_CHECK(operand.kind != kind || operand.index < size, operand.index);
  };
  within(Kind::kRegister, function.registers.size());
  within(Kind::kVariable, module.variables.size());
  within(Kind::kFunction, module.functions.size());
  within(Kind::kLabel, function.labels.size());
  within(Kind::kTargets, function.branch_targets.size());
  BICRL_CHECK(operand.kind != Kind::kAddress || operand.elements.size() == 1);
  BICRL_CHECK(operand.kind != Kind::kPair || operand.elements.size() == 2);
  for (const Operand& element : operand.elements) check_operand(module, function, element);
}

void check_prototype(const Module& module, const Prototype& prototype) {
  for (const auto* list : {&prototype.returns, &prototype.parameters})
    for (const uint32_t variable : *list) BICRL_CHECK(module.variables.at(variable).space == Space::kParam);
}

void check_function(const Module& module, const Function& function) {
  check_prototype(module, function.prototype);
  for (const Prototype& prototype : function.prototypes) check_prototype(module, prototype);
  for (const uint32_t label : function.labels) BICRL_CHECK(label <= function.body.size());
  for (const auto& targets : function.branch_targets)
    for (const uint32_t label : targets) BICRL_CHECK(label < function.labels.size());
  for (const Instruction& instruction : function.body) {
    BICRL_CHECK(instruction.guard < static_cast<int64_t>(function.registers.size()));
    BICRL_CHECK(instruction.prototype < static_cast<int64_t>(function.prototypes.size()));
    BICRL_CHECK(instruction.source.line == 0 || instruction.source.file < module.files.size());
    BICRL_CHECK(destination_count(instruction) <= instruction.operands.size());
    for (const Operand& operand : instruction.operands) check_operand(module, function, operand);
  }
  const ControlFlow flow = make_control_flow(function);
  uint32_t next = 0;
  for (const FlowBlock& block : flow.blocks) {
    BICRL_CHECK(block.first == next);
    next += block.count;
    for (const uint32_t to : block.successors) BICRL_CHECK(to < flow.blocks.size());
  }
  BICRL_CHECK(next == function.body.size());
  const RegisterSlots slots = assign_slots(function, flow);
  for (size_t reg = 0; reg < slots.offsets.size(); ++reg)
    BICRL_CHECK(slots.offsets[reg] == RegisterSlots::kNone ||
                slots.offsets[reg] + slot_bytes(function.registers[reg].type) <= slots.bytes);
}

}  // namespace
}  // namespace bicrl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bicrl;
  const auto module = ptx::parse_module(fuzz::as_text(data, size));
  if (!module.ok()) return 0;
  for (const ptx::Variable& variable : module.value().variables) {
    BICRL_CHECK(variable.initial.size() <= variable.bytes);
    for (const auto& relocation : variable.relocations) {
      BICRL_CHECK(relocation.offset + uint64_t{8} <= variable.initial.size());
      BICRL_CHECK(relocation.target < (relocation.to_function ? module.value().functions.size()
                                                              : module.value().variables.size()));
    }
  }
  for (const ptx::Function& function : module.value().functions)
    fuzz::check_function(module.value(), function);
  return 0;
}
