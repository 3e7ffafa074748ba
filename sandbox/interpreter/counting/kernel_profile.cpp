#include "sandbox/interpreter/counting/kernel_profile.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "sandbox/interpreter/counting/instruction_cost.h"
#include "sandbox/interpreter/ptx/lowering/operand_roles.h"

namespace bicrl {
namespace {

constexpr uint64_t kNominalAccessCycles = 500;

using Instructions = std::unordered_map<uint32_t, const ptx::Instruction*>;  // by line of the text

DependenceChain later(const DependenceChain& a, const DependenceChain& b) {
  return nominal_cycles(a) < nominal_cycles(b) ? b : a;
}

// When results of one basic block are there, in the order of its instructions.
class ChainFinder {
 public:
  void add(const ptx::Instruction& instruction, const InstructionCost& cost) {
    DependenceChain start;
    ptx::for_each_read(instruction, [&](uint32_t reg) {
      if (const auto known = ready_.find(reg); known != ready_.end()) start = later(start, known->second);
    });
    const bool loads = instruction.opcode == "ld" || instruction.opcode == "ldu";
    const bool accesses = cost.kind == InstructionKind::kGlobal || cost.kind == InstructionKind::kShared;
    // A load may be of what was stored before, unless the text says that nobody writes there (nc).
    DependenceChain& stored = cost.kind == InstructionKind::kShared ? stored_shared_ : stored_global_;
    if (accesses && loads && !instruction.has("nc")) start = later(start, stored);
    if (accesses && !loads) stored = later(stored, start);
    DependenceChain end = start;
    end.cycles += cost.cycles;
    end.accesses += cost.waits_for_memory;
    ptx::for_each_write(instruction, [&](uint32_t reg) { ready_[reg] = end; });
    longest_ = later(longest_, end);
  }
  const DependenceChain& longest() const { return longest_; }

 private:
  std::unordered_map<uint32_t, DependenceChain> ready_;  // by register
  DependenceChain stored_global_, stored_shared_, longest_;
};

}  // namespace

uint64_t nominal_cycles(const DependenceChain& chain) {
  return chain.accesses * kNominalAccessCycles + chain.cycles;
}

KernelProfile profile_kernel(const ptx::Kernel& kernel) {
  Instructions instructions;
  for (const ptx::Function& function : kernel.module->functions)
    for (const ptx::Instruction& instruction : function.body)
      instructions.emplace(instruction.text_line, &instruction);
  KernelProfile profile;
  profile.slots_of_operations.resize(kernel.operations.size());
  for (const ptx::BasicBlock& block : kernel.blocks) {
    BlockProfile& of_block = profile.blocks.emplace_back();
    ChainFinder chains;
    uint32_t last_line = 0;
    for (uint32_t i = block.first; i < block.first + block.count; ++i) {
      const uint32_t line = kernel.operations[i].text_line;
      const auto found = instructions.find(line);
      // What one instruction became several operations of is counted once.
      if (found == instructions.end() || line == last_line) continue;
      last_line = line;
      const InstructionCost cost = cost_of(*found->second);
      of_block.slots[static_cast<size_t>(cost.kind)] += cost.slots;
      of_block.slots[static_cast<size_t>(InstructionKind::kSpecial)] += cost.special_slots;
      of_block.tensor_flops[static_cast<size_t>(cost.tensor_type)] += cost.tensor_flops;
      of_block.executed += cost.slots + cost.special_slots;
      profile.slots_of_operations[i] = cost.slots + cost.special_slots;
      chains.add(*found->second, cost);
    }
    of_block.chain = chains.longest();
    of_block.chain.cycles = std::max(of_block.chain.cycles, of_block.executed);
  }
  return profile;
}

}  // namespace bicrl
