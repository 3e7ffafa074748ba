// From a module to a kernel. Internal to lower_*.cpp: the state of one lowering.
//
// lower.cpp finds the functions that an entry can call, gives variables and registers their places and goes
// through the instructions; lower_operands.cpp finds the place of an operand; lower_instructions.cpp, and for
// some families a file of their own, make an operation of an instruction. What the interpreter does not have
// is thrown as Unsupported and becomes the reason that lower_kernel() returns.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "sandbox/interpreter/ptx/lowering/control_flow.h"
#include "sandbox/interpreter/ptx/lowering/kernel.h"
#include "sandbox/interpreter/ptx/lowering/slots.h"

namespace bicrl::ptx {

struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A function on its way.
struct FunctionPlan {
  const Function* function = nullptr;
  ControlFlow flow;
  RegisterSlots slots;
  Slot frame_begin = 0;
  Place carry;                          // the carry flag; given a place when an instruction asks for it
  std::vector<uint32_t> block_numbers;  // of the kernel, by block of the flow
};

class Lowering {
 public:
  Lowering(const Module& module, const Function& entry) : module_(module), entry_(entry) {}
  Kernel run();

 private:
  // ---- lower.cpp ----
  void find_functions();
  void visit(uint32_t function);
  void allow_recursion(uint32_t callee);
  void place_variables();
  void place_parameters();
  void place_shared(const std::vector<uint32_t>& variables);
  LocalRange place_local(uint32_t variable);
  void plan_function(uint32_t function);
  void lower_function(FunctionPlan& plan);
  static void share_plans(std::vector<Operation>& operations);
  void emit_block(uint32_t first, std::vector<Operation> operations);

  // ---- lower_operands.cpp ----
  Slot new_slot(uint32_t bytes);
  Place constant(Constant::Kind kind, int64_t bits, uint32_t index, uint32_t bytes);
  Place bits(int64_t value, uint32_t bytes) { return constant(Constant::Kind::kBits, value, 0, bytes); }
  Place register_place(uint32_t index);
  // The place of what is read as an element of `type`; its size must be that of a register, if it is one.
  Place source(const Operand& operand, Type type);
  Place destination(const Operand& operand);  // none for _
  Place special_place(Special special);
  Place variable_place(uint32_t variable, int64_t offset, uint32_t bytes);
  // The operands within vectors and pairs, in order.
  static std::vector<const Operand*> flat(const Operand& operand);
  void set_address(Operation& op, const Operand& operand, Space space);
  LocalRange local_range(uint32_t variable);

  // ---- lower_instructions.cpp ----
  Operation lower(const Instruction& instruction);
  bool lower_computation(const Instruction& instruction, Operation& op);
  void lower_memory(const Instruction& instruction, Operation& op);
  void lower_atomic(const Instruction& instruction, Operation& op);
  void lower_control(const Instruction& instruction, Operation& op);
  void lower_call(const Instruction& instruction, Operation& op);
  void lower_address_conversion(const Instruction& instruction, Operation& op);
  void lower_clock(const Instruction& instruction, Operation& op);

  // ---- lower_collectives.cpp ----
  void lower_barrier(const Instruction& instruction, Operation& op);
  void lower_warp(const Instruction& instruction, Operation& op);

  // ---- lower_matrix.cpp ----
  void use_whole_warp(Operation& op);
  void add_fragment(const Operand& operand, Type type, int registers, bool written,
                    std::vector<Place>& places);
  void lower_product(const Instruction& instruction, Operation& op);
  void lower_matrix_access(const Instruction& instruction, Operation& op);
  void lower_matrix_move(const Instruction& instruction, Operation& op);

  // ---- lower_async.cpp ----
  void lower_async_copy(const Instruction& instruction, Operation& op);
  void lower_copy_operands(const Instruction& instruction, Operation& op, size_t count);
  void lower_mbarrier(const Instruction& instruction, Operation& op);

  const Module& module_;
  const Function& entry_;
  Kernel kernel_;
  std::vector<FunctionPlan> plans_;                 // as kernel_.callees
  std::map<uint32_t, std::set<uint32_t>> calls_;    // by callee: functions of the module
  std::map<uint32_t, uint32_t> callee_numbers_;     // by function of the module
  std::map<uint32_t, uint32_t> shared_offsets_;     // by variable
  std::map<uint32_t, LocalRange> local_ranges_;     // by variable
  std::map<uint32_t, uint32_t> parameter_offsets_;  // of the entry, by variable
  std::map<std::tuple<Constant::Kind, int64_t, uint32_t, uint32_t>, Place> constants_;
  std::map<Special, Place> specials_;
  FunctionPlan* plan_ = nullptr;  // of the function that is being lowered
};

// The state space that a memory operation names; generic if none.
Space space_of(const Instruction& instruction);

// The function that it calls by its name; null if by its address.
const Operand* called_function(const Instruction& call);

}  // namespace bicrl::ptx
