#include <algorithm>
#include <array>
#include <set>

#include "sandbox/interpreter/ptx/lowering/loaded_module.h"
#include "sandbox/interpreter/ptx/lowering/lowering.h"

namespace bicrl::ptx {
namespace {

constexpr uint32_t kSharedBegin = 64;  // where a block's shared memory begins: 0 is no variable's address
constexpr uint32_t kSharedGap = 32;    // between two shared variables
constexpr uint32_t kDynamicAlignment = 1024;
constexpr uint32_t kMaxLocalBytes = 512 * 1024;  // per lane, as on a device
constexpr uint32_t kMaxSharedBytes = 4 * 1024 * 1024;

uint32_t aligned(uint64_t offset, uint32_t alignment) {
  const uint64_t a = std::max<uint32_t>(alignment, 1);
  return static_cast<uint32_t>((offset + a - 1) / a * a);
}

template <class Work>
void for_each_operand(const Function& function, const Work& work) {
  for (const Instruction& instruction : function.body)
    for (const Operand& operand : instruction.operands) {
      work(instruction, operand);
      for (const Operand& element : operand.elements) work(instruction, element);
    }
}

}  // namespace

const Operand* called_function(const Instruction& call) {
  if (call.returns >= call.operands.size()) return nullptr;
  const Operand& callee = call.operands[call.returns];
  return callee.kind == Operand::Kind::kFunction ? &callee : nullptr;
}

Kernel Lowering::run() {
  kernel_.name = entry_.name;
  kernel_.module = &module_;
  kernel_.bounds = entry_.bounds;
  find_functions();
  place_variables();
  for (FunctionPlan& plan : plans_) lower_function(plan);
  return std::move(kernel_);
}

// ---- Functions ----

// Plans the function and all that it can call.
void Lowering::visit(uint32_t number) {
  if (callee_numbers_.contains(number)) return;
  const Function& function = module_.functions[number];
  if (function.is_declared_only) return;  // the instruction that calls it says whether that can be
  const auto callee = static_cast<uint32_t>(plans_.size());
  callee_numbers_[number] = callee;
  plan_function(number);
  std::set<uint32_t> targets;
  bool calls_by_address = false;
  for (const Instruction& instruction : function.body) {
    if (instruction.opcode != "call") continue;
    if (const Operand* named = called_function(instruction))
      targets.insert(named->index);
    else
      calls_by_address = true;
  }
  if (calls_by_address) {  // every function whose address somebody takes
    for (const Function& any : module_.functions)
      for_each_operand(any, [&](const Instruction& instruction, const Operand& operand) {
        if (operand.kind == Operand::Kind::kFunction && instruction.opcode != "call")
          targets.insert(operand.index);
      });
    for (const Variable& variable : module_.variables)
      for (const Variable::Relocation& relocation : variable.relocations)
        if (relocation.to_function) targets.insert(relocation.target);
  }
  calls_[callee] = targets;
  for (uint32_t target : targets) visit(target);
}

void Lowering::find_functions() {
  visit(static_cast<uint32_t>(&entry_ - module_.functions.data()));
  // Those that can come back to themselves.
  for (uint32_t callee = 0; callee < plans_.size(); ++callee) {
    std::set<uint32_t> reached;
    std::vector<uint32_t> left = {callee};
    while (!left.empty()) {
      const uint32_t from = left.back();
      left.pop_back();
      for (uint32_t target : calls_[from])
        if (const auto found = callee_numbers_.find(target); found != callee_numbers_.end())
          if (reached.insert(found->second).second) left.push_back(found->second);
    }
    if (reached.contains(callee)) allow_recursion(callee);
  }
}

// A lane that is in the function twice has its registers and the parameters of its calls twice, one after the
// other in the same places. An array in local memory would have to have two addresses.
void Lowering::allow_recursion(uint32_t number) {
  Callee& callee = kernel_.callees[number];
  const FunctionPlan& plan = plans_[number];
  callee.recursive = true;
  for (uint32_t variable : plan.function->variables)
    if (module_.variables[variable].space == Space::kLocal)
      throw Unsupported("functions that call themselves and have arrays in local memory");
  std::set<Slot> known;
  for (size_t i = 0; i < plan.slots.offsets.size(); ++i) {
    if (plan.slots.offsets[i] == RegisterSlots::kNone) continue;
    const Slot slot = plan.frame_begin + plan.slots.offsets[i];
    if (known.insert(slot).second)
      callee.registers.push_back({slot, static_cast<uint8_t>(slot_bytes(plan.function->registers[i].type))});
  }
}

void Lowering::plan_function(uint32_t number) {
  FunctionPlan plan;
  plan.function = &module_.functions[number];
  plan.flow = make_control_flow(*plan.function);
  plan.slots = assign_slots(*plan.function, plan.flow);
  plan.frame_begin = aligned(kernel_.frame_bytes, 16);
  kernel_.frame_bytes = plan.frame_begin + plan.slots.bytes;
  Callee callee;
  callee.name = plan.function->name;
  callee.function = number;
  for (uint32_t index : plan.slots.may_be_unwritten) {
    const Type type = plan.function->registers[index].type;
    callee.poisoned.push_back(
        {plan.frame_begin + plan.slots.offsets[index], static_cast<uint8_t>(slot_bytes(type))});
  }
  kernel_.callees.push_back(std::move(callee));
  plans_.push_back(std::move(plan));
}

// ---- Variables ----

void Lowering::place_variables() {
  place_parameters();
  std::set<uint32_t> shared;
  for (size_t i = 0; i < plans_.size(); ++i) {
    const Function& function = *plans_[i].function;
    const size_t first_range = kernel_.locals.size();
    for (uint32_t variable : function.variables)
      if (module_.variables[variable].space == Space::kLocal ||
          module_.variables[variable].space == Space::kParam)
        place_local(variable);
    if (i > 0) {
      for (uint32_t variable : function.prototype.parameters)
        kernel_.callees[i].parameters.push_back(place_local(variable));
      for (uint32_t variable : function.prototype.returns)
        kernel_.callees[i].returns.push_back(place_local(variable));
    }
    kernel_.callees[i].ranges.assign(kernel_.locals.begin() + static_cast<std::ptrdiff_t>(first_range),
                                     kernel_.locals.end());
    for_each_operand(function, [&](const Instruction&, const Operand& operand) {
      if (operand.kind == Operand::Kind::kVariable &&
          module_.variables[operand.index].space == Space::kShared)
        shared.insert(operand.index);
    });
  }
  place_shared({shared.begin(), shared.end()});
  std::sort(kernel_.locals.begin(), kernel_.locals.end(),
            [](const LocalRange& a, const LocalRange& b) { return a.begin < b.begin; });
}

void Lowering::place_parameters() {
  uint32_t end = 0;
  for (uint32_t variable : entry_.prototype.parameters) {
    const Variable& parameter = module_.variables[variable];
    const uint32_t begin = aligned(end, parameter.alignment);
    parameter_offsets_[variable] = begin;
    kernel_.parameters.push_back({begin, static_cast<uint32_t>(parameter.bytes)});
    end = static_cast<uint32_t>(begin + parameter.bytes);
  }
  kernel_.parameter_bytes = end;
}

LocalRange Lowering::place_local(uint32_t number) {
  const Variable& variable = module_.variables[number];
  if (const auto found = local_ranges_.find(number); found != local_ranges_.end()) return found->second;
  const LocalRange range{aligned(kernel_.local_bytes + 4, std::max(variable.alignment, 16U)),
                         static_cast<uint32_t>(std::min<uint64_t>(variable.bytes, kMaxLocalBytes + 1))};
  kernel_.local_bytes = aligned(uint64_t{range.begin} + range.bytes, 4);
  if (kernel_.local_bytes > kMaxLocalBytes)
    throw Unsupported("more than 512 KiB of local memory in a thread");
  kernel_.locals.push_back(range);
  return local_ranges_[number] = range;
}

void Lowering::place_shared(const std::vector<uint32_t>& variables) {
  uint64_t end = kSharedBegin, compact = 0;
  uint32_t alignment = kDynamicAlignment;
  for (uint32_t number : variables) {
    const Variable& variable = module_.variables[number];
    if (variable.unsized) {
      kernel_.has_dynamic_shared = true;
      alignment = std::max(alignment, variable.alignment);
      continue;
    }
    const uint32_t begin = aligned(end + kSharedGap, std::max(variable.alignment, 16U));
    shared_offsets_[number] = begin;
    end = begin + variable.bytes;
    if (end > kMaxSharedBytes) throw Unsupported("more than 4 MiB of shared memory");
    kernel_.shared.push_back({begin, static_cast<uint32_t>(variable.bytes), variable.name});
    compact = aligned(compact, variable.alignment) + variable.bytes;
  }
  kernel_.static_shared_bytes = static_cast<uint32_t>(compact);
  if (!kernel_.has_dynamic_shared) return;
  // All unsized variables are the same memory.
  const uint32_t begin = aligned(end + kSharedGap, alignment);
  for (uint32_t number : variables)
    if (module_.variables[number].unsized) shared_offsets_[number] = begin;
  kernel_.shared.push_back({begin, 0});
}

// ---- Code ----

// Accesses that add to the same register share a plan, until an operation writes the register. What has a
// guard is done for other lanes and has the last plan for itself.
void Lowering::share_plans(std::vector<Operation>& operations) {
  constexpr uint8_t kShared = kAddressPlans - 1;
  std::array<Slot, kShared> slots;
  slots.fill(kNoSlot);
  uint8_t next = 0;
  for (Operation& op : operations) {
    const bool plans = op.plans && op.address;
    if (plans && op.guard != kNoSlot) op.plan = kShared;
    if (plans && op.guard == kNoSlot) {
      const auto found = std::find(slots.begin(), slots.end(), op.address.slot);
      op.reuses_plan = found != slots.end();
      op.plan = op.reuses_plan ? static_cast<uint8_t>(found - slots.begin()) : next;
      if (!op.reuses_plan) {
        slots[next] = op.address.slot;
        next = static_cast<uint8_t>((next + 1) % kShared);
      }
    }
    for (const Place& written : op.destinations)
      if (written) std::replace(slots.begin(), slots.end(), written.slot, kNoSlot);
  }
}

void Lowering::emit_block(uint32_t first, std::vector<Operation> operations) {
  share_plans(operations);
  kernel_.blocks.push_back({first, static_cast<uint32_t>(operations.size())});
  kernel_.operations.insert(kernel_.operations.end(), operations.begin(), operations.end());
}

void Lowering::lower_function(FunctionPlan& plan) {
  plan_ = &plan;
  const std::vector<FlowBlock>& blocks = plan.flow.blocks;
  const auto next_number = static_cast<uint32_t>(kernel_.blocks.size());
  kernel_.callees[static_cast<size_t>(&plan - plans_.data())].entry_block = next_number;
  // A blocking instruction has a block of its own; what follows it has the next one.
  uint32_t number = next_number;
  for (const FlowBlock& block : blocks) {
    plan.block_numbers.push_back(number);
    number += block.blocking && block.count > 1 ? 2 : 1;
  }
  for (const FlowBlock& block : blocks) {
    std::vector<Operation> operations;
    const auto begin = [&] { return static_cast<uint32_t>(kernel_.operations.size()); };
    for (uint32_t i = 0; i < block.count; ++i) {
      const Instruction& instruction = plan.function->body[block.first + i];
      try {
        operations.push_back(lower(instruction));
      } catch (const Unsupported& reason) {
        throw Unsupported(
            concat(instruction.name(), ": ", reason.what(), " (PTX line ", instruction.text_line,
                   instruction.source.line > 0 ? concat(", line ", instruction.source.line) : "", ")"));
      }
      if (block.blocking && i == 0 && block.count > 1) {
        emit_block(begin(), std::move(operations));
        operations.clear();
      }
    }
    const bool runs_off = block.count == 0 && &block == &blocks.back();
    if (runs_off) {
      Operation back;
      back.flow = plan.function == &entry_ ? Flow::kExit : Flow::kReturn;
      operations.push_back(back);
    }
    // A call's lanes come back to the block behind it.
    if (!operations.empty()) operations.back().next_block = static_cast<uint32_t>(kernel_.blocks.size()) + 1;
    emit_block(begin(), std::move(operations));
  }
}

Result<Kernel> lower_kernel(const Module& module, const std::string& entry) {
  const Function* function = module.find_entry(entry);
  if (!function) return Result<Kernel>::failure(concat("no kernel ", entry));
  try {
    return Result<Kernel>(Lowering(module, *function).run());
  } catch (const Unsupported& reason) {
    return Result<Kernel>::failure(reason.what());
  }
}

}  // namespace bicrl::ptx
