#include <algorithm>
#include <array>

#include "common/config/one_of.h"
#include "sandbox/interpreter/ptx/execution/memory_access.h"
#include "sandbox/interpreter/ptx/lowering/control_flow.h"
#include "sandbox/interpreter/ptx/lowering/instruction_form.h"
#include "sandbox/interpreter/ptx/lowering/loaded_module.h"
#include "sandbox/interpreter/ptx/lowering/lowering.h"
#include "sandbox/interpreter/ptx/operations/atomic_operations.h"
#include "sandbox/interpreter/ptx/operations/collective_operations.h"
#include "sandbox/interpreter/ptx/operations/memory_operations.h"
#include "sandbox/interpreter/ptx/operations/system_operations.h"

namespace bicrl::ptx {
namespace {

constexpr Names<Space, 10> kSpaces = {{{"global", Space::kGlobal},
                                       {"shared", Space::kShared},
                                       {"shared::cta", Space::kShared},
                                       {"local", Space::kLocal},
                                       {"const", Space::kConst},
                                       {"param", Space::kParam},
                                       {"param::entry", Space::kParam},
                                       {"param::func", Space::kParam},
                                       {"const::ptx", Space::kConst},
                                       {"shared::cluster", Space::kShared}}};
constexpr Names<AtomicKind, 10> kAtomics = {{{"add", AtomicKind::kAdd},
                                             {"min", AtomicKind::kMin},
                                             {"max", AtomicKind::kMax},
                                             {"inc", AtomicKind::kInc},
                                             {"dec", AtomicKind::kDec},
                                             {"and", AtomicKind::kAnd},
                                             {"or", AtomicKind::kOr},
                                             {"xor", AtomicKind::kXor},
                                             {"exch", AtomicKind::kExchange},
                                             {"cas", AtomicKind::kCompareAndSwap}}};

}  // namespace

Space space_of(const Instruction& instruction) {
  const Space* space = find_modifier(instruction, kSpaces);
  return space ? *space : Space::kGeneric;
}

MemoryOrder order_of(const Instruction& instruction) {
  const std::string_view opcode = instruction.opcode;
  const auto any = [&](std::initializer_list<const char*> words) {
    return std::any_of(words.begin(), words.end(), [&](const char* w) { return instruction.has(w); });
  };
  MemoryOrder order;
  if (any({"cta", "cluster"})) order.scope = MemoryOrder::Scope::kBlock;
  const bool is_fence = opcode == "membar" || opcode == "fence";
  const bool both =
      any({"acq_rel", "sc"}) || opcode == "membar" || (opcode == "fence" && !any({"acquire", "release"}));
  order.acquires = both || instruction.has("acquire");
  order.releases = both || instruction.has("release");
  order.is_volatile = any({"volatile", "mmio"});
  order.strong = is_fence || opcode == "atom" || opcode == "red" || order.is_volatile || order.acquires ||
                 order.releases || instruction.has("relaxed");
  return order;
}

Operation Lowering::lower(const Instruction& instruction) {
  Operation op;
  op.source = instruction.source;
  op.text_line = instruction.text_line;
  if (instruction.guard >= 0) {
    op.guard = register_place(static_cast<uint32_t>(instruction.guard)).slot;
    op.guard_negated = instruction.guard_negated;
  }
  const std::string_view opcode = instruction.opcode;
  if (is_one_of(opcode, {"ld", "ldu", "st"})) {
    lower_memory(instruction, op);
  } else if (is_one_of(opcode, {"atom", "red"})) {
    lower_atomic(instruction, op);
  } else if (is_one_of(opcode, {"bar", "barrier"}) && !instruction.has("warp")) {
    lower_barrier(instruction, op);
  } else if (opcode == "bar" || is_warp_collective(opcode)) {
    lower_warp(instruction, op);
  } else if (is_one_of(opcode, {"bra", "brx", "ret", "exit"})) {
    lower_control(instruction, op);
  } else if (opcode == "call") {
    lower_call(instruction, op);
  } else if (is_one_of(opcode, {"cvta", "isspacep"})) {
    lower_address_conversion(instruction, op);
  } else if (is_one_of(opcode, {"membar", "fence"}) && !instruction.has("mbarrier_init")) {
    op.handler = instruction.has("proxy") ? nothing : fence;
    op.order = order_of(instruction);
  } else if (is_one_of(opcode, {"fence", "prefetch", "prefetchu", "applypriority", "pragma"})) {
    op.handler = nothing;
  } else if (opcode == "mma" || (opcode == "wmma" && instruction.has("mma"))) {
    lower_product(instruction, op);
  } else if (opcode == "wmma") {
    lower_matrix_access(instruction, op);
  } else if (is_one_of(opcode, {"ldmatrix", "stmatrix", "movmatrix"})) {
    lower_matrix_move(instruction, op);
  } else if (opcode == "cp") {
    lower_async_copy(instruction, op);
  } else if (opcode == "mbarrier") {
    lower_mbarrier(instruction, op);
  } else if (opcode == "nanosleep") {
    op.handler = sleep;
  } else if (is_one_of(opcode, {"trap", "brkpt"})) {
    op.handler = trap;
  } else if (opcode == "mov" && instruction.operands.size() == 2 &&
             instruction.operands[1].kind == Operand::Kind::kSpecial &&
             is_clock(instruction.operands[1].special)) {
    lower_clock(instruction, op);
  } else if (!lower_computation(instruction, op)) {
    throw Unsupported("unsupported");
  }
  return op;
}

bool Lowering::lower_computation(const Instruction& instruction, Operation& op) {
  const auto entry = find_alu(instruction, plan_->function->registers);
  if (!entry) return false;
  op.flow = Flow::kAlu;
  op.alu = entry->run;
  op.shadow = entry->shadow;
  std::vector<Place> destinations, sources;
  size_t next_source = 0;
  for (size_t i = 0; i < instruction.operands.size(); ++i)
    for (const Operand* operand : flat(instruction.operands[i])) {
      if (i == 0) {
        destinations.push_back(destination(*operand));
      } else {
        if (next_source >= kMaxAluSources) throw Unsupported("this many operands");
        Operand plain = *operand;
        plain.negated = false;  // which is part of the entry
        sources.push_back(source(plain, entry->sources[next_source++]));
      }
    }
  const auto carry = [this] {
    if (!plan_->carry) {
      plan_->carry = {new_slot(4), 4};
      kernel_.callees[static_cast<size_t>(plan_ - plans_.data())].poisoned.push_back(plan_->carry);
    }
    return plan_->carry;
  };
  if (entry->writes_carry) destinations.push_back(carry());
  if (entry->reads_carry) sources.push_back(carry());
  if (destinations.size() > kMaxAluDestinations || sources.size() > kMaxAluSources)
    throw Unsupported("this many operands");
  for (size_t i = 0; i < destinations.size(); ++i) {
    if (destinations[i] && destinations[i].bytes != slot_bytes(entry->destinations[i]))
      throw Unsupported("a result in a register of another size than the instruction has");
    op.destinations[i] = destinations[i];
  }
  for (size_t i = 0; i < sources.size(); ++i) {
    if (entry->sources[i] == Type::kNone) throw Unsupported("this many operands");
    op.sources[i] = sources[i];
  }
  return true;
}

// ---- Memory ----

void Lowering::lower_memory(const Instruction& instruction, Operation& op) {
  expect_operands(instruction, 2, 3);  // the third is a cache policy
  const bool loads = instruction.opcode != "st";
  op.type = last_type(instruction);
  set_address(op, instruction.operands[loads ? 1 : 0], space_of(instruction));
  const auto elements = flat(instruction.operands[loads ? 0 : 1]);
  if (elements.size() > kMaxOperands) throw Unsupported("a vector of this many elements");
  op.count = static_cast<uint8_t>(elements.size());
  uint32_t register_bytes = 0;
  for (size_t i = 0; i < elements.size(); ++i) {
    Place place;
    if (elements[i]->kind == Operand::Kind::kRegister)
      place = register_place(elements[i]->index);
    else if (!loads)
      place = source(*elements[i], op.type == Type::kB8 || bytes_of(op.type) == 1 ? Type::kB16 : op.type);
    if (!place) continue;
    if (register_bytes != 0 && place.bytes != register_bytes) throw Unsupported("registers of several sizes");
    register_bytes = place.bytes;
    (loads ? op.destinations : op.sources)[i] = place;
  }
  if (register_bytes == 0) {  // of a load, nothing is wanted but that it is allowed
    register_bytes = slot_bytes(bytes_of(op.type) == 1 ? Type::kB16 : op.type);
  }
  op.plans = true;
  op.writes = !loads;
  op.non_coherent = instruction.has("nc");
  op.order = order_of(instruction);
  op.handler = loads ? load_handler(op.type, register_bytes) : store_handler(op.type, register_bytes);
  if (!op.handler) throw Unsupported("a register that is too narrow");
  if (loads && op.order.strong) op.detail = kReadsOthers;
}

void Lowering::lower_atomic(const Instruction& instruction, Operation& op) {
  const bool returns = instruction.opcode == "atom";
  const size_t first = returns ? 1 : 0;
  const auto kind = modifier(instruction, kAtomics);
  const size_t values = kind == AtomicKind::kCompareAndSwap ? 2 : 1;
  expect_operands(instruction, first + 1 + values, first + 2 + values);  // the last may be a cache policy
  op.type = last_type(instruction);
  op.order = order_of(instruction);
  op.swaps = kind == AtomicKind::kCompareAndSwap;
  set_address(op, instruction.operands[first], space_of(instruction));
  op.handler = atomic_handler(kind, op.type);
  if (!op.handler) throw Unsupported("an atomic operation that this machine does not have");
  if (values == 2) {
    for (size_t i = 0; i < 2; ++i) op.sources[i] = source(instruction.operands[first + 1 + i], op.type);
  } else {
    const auto elements = flat(instruction.operands[first + 1]);
    if (elements.size() > kMaxOperands) throw Unsupported("a vector of this many elements");
    op.count = static_cast<uint8_t>(elements.size());
    for (size_t i = 0; i < elements.size(); ++i) op.sources[i] = source(*elements[i], op.type);
  }
  if (!returns) return;
  const auto results = flat(instruction.operands[0]);
  if (results.size() > op.count) throw Unsupported("more results than elements");
  for (size_t i = 0; i < results.size(); ++i) {
    op.destinations[i] = destination(*results[i]);
    if (op.destinations[i] && op.destinations[i].bytes != slot_bytes(op.type))
      throw Unsupported("a result in a register of another size than the instruction has");
  }
}

void Lowering::lower_address_conversion(const Instruction& instruction, Operation& op) {
  expect_operands(instruction, 2, 2);
  const Space space = space_of(instruction);
  const uint64_t window = space == Space::kShared  ? kSharedWindow
                          : space == Space::kLocal ? kLocalWindow
                          : space == Space::kParam ? kParameterWindow
                                                   : 0;
  op.destinations[0] = destination(instruction.operands[0]);
  op.sources[0] = source(instruction.operands[1], Type::kB64);
  if (instruction.opcode == "isspacep") {
    op.offset = static_cast<int64_t>(window);
    op.handler = is_in_space;
    expect_word_results(op);
    return;
  }
  if (!op.destinations[0] || op.destinations[0].bytes != 8)
    throw Unsupported("an address that is not 64 bits wide");
  Instruction sum;
  sum.opcode = instruction.has("to") ? "sub" : "add";
  sum.modifiers = {"s64"};
  sum.operands.resize(3);
  const auto entry = find_alu(sum);
  if (!entry) throw Unsupported("64-bit sums");
  op.flow = Flow::kAlu;
  op.alu = entry->run;
  op.shadow = entry->shadow;
  op.sources[1] = bits(static_cast<int64_t>(window), 8);
}

void Lowering::lower_clock(const Instruction& instruction, Operation& op) {
  op.destinations[0] = destination(instruction.operands[0]);
  op.detail = static_cast<uint16_t>(instruction.operands[1].special);
  op.handler = read_clock;
  if (op.destinations[0] && op.destinations[0].bytes != 4 && op.destinations[0].bytes != 8)
    throw Unsupported("a clock in a register of this size");
}

// ---- Control ----

void Lowering::lower_control(const Instruction& instruction, Operation& op) {
  const auto block_of_label = [this](uint32_t label) {
    const uint32_t block = plan_->flow.label_blocks.at(label);
    if (block == kNoBlock) throw Unsupported("a label that leads nowhere");
    return plan_->block_numbers.at(block);
  };
  if (instruction.opcode == "bra") {
    expect_operands(instruction, 1, 1);
    op.flow = Flow::kBranch;
    op.target = block_of_label(instruction.operands[0].index);
  } else if (instruction.opcode == "brx") {
    expect_operands(instruction, 2, 2);
    op.flow = Flow::kIndexedBranch;
    op.sources[0] = source(instruction.operands[0], Type::kB32);
    op.target = static_cast<uint32_t>(kernel_.branch_tables.size());
    auto& table = kernel_.branch_tables.emplace_back();
    for (uint32_t label : plan_->function->branch_targets.at(instruction.operands[1].index))
      table.push_back(block_of_label(label));
  } else {
    const bool returns = instruction.opcode == "ret" && plan_->function != &entry_;
    op.flow = returns ? Flow::kReturn : Flow::kExit;
  }
}

void Lowering::lower_call(const Instruction& instruction, Operation& op) {
  const auto range = [this](const Operand& operand) {
    if (operand.kind != Operand::Kind::kVariable || module_.variables[operand.index].space != Space::kParam)
      throw Unsupported("an argument that is no .param variable");
    return local_range(operand.index);
  };
  CallSite site;
  for (uint32_t i = 0; i < instruction.returns; ++i)
    site.results.push_back(range(instruction.operands.at(i)));
  for (size_t i = instruction.returns + 1; i < instruction.operands.size(); ++i)
    site.arguments.push_back(range(instruction.operands[i]));
  op.more = static_cast<uint32_t>(kernel_.call_sites.size());
  if (const Operand* callee = called_function(instruction)) {
    const Function& function = module_.functions[callee->index];
    if (function.is_declared_only) {
      op.handler = system_call(function.name);
      if (!op.handler) throw Unsupported(concat("the function ", function.name));
    } else {
      op.flow = Flow::kCall;
      op.target = callee_numbers_.at(callee->index);
    }
  } else {
    op.flow = Flow::kIndirectCall;
    op.sources[0] = source(instruction.operands.at(instruction.returns), Type::kB64);
  }
  kernel_.call_sites.push_back(std::move(site));
}

}  // namespace bicrl::ptx
