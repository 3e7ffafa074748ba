#include <bit>

#include "sandbox/interpreter/ptx/execution/memory_access.h"
#include "sandbox/interpreter/ptx/lowering/loaded_module.h"
#include "sandbox/interpreter/ptx/lowering/lowering.h"

namespace bicrl::ptx {

Slot Lowering::new_slot(uint32_t bytes) {
  const Slot slot = (kernel_.frame_bytes + bytes - 1) / bytes * bytes;
  kernel_.frame_bytes = slot + bytes;
  return slot;
}

Place Lowering::constant(Constant::Kind kind, int64_t value, uint32_t index, uint32_t bytes) {
  Place& place = constants_[{kind, value, index, bytes}];
  if (!place) {
    place = {new_slot(bytes), static_cast<uint8_t>(bytes)};
    kernel_.constants.push_back({kind, place, value, index});
  }
  return place;
}

Place Lowering::register_place(uint32_t index) {
  return {plan_->frame_begin + plan_->slots.offsets[index],
          static_cast<uint8_t>(slot_bytes(plan_->function->registers[index].type))};
}

Place Lowering::special_place(Special special) {
  Place& place = specials_[special];
  if (!place) {
    place = {new_slot(4), 4};
    kernel_.specials.push_back({special, place});
  }
  return place;
}

LocalRange Lowering::local_range(uint32_t variable) {
  const auto found = local_ranges_.find(variable);
  if (found == local_ranges_.end())
    throw Unsupported(concat("a variable of another function: ", module_.variables[variable].name));
  return found->second;
}

// The value that the name of a variable has as an operand: its address in its own space.
Place Lowering::variable_place(uint32_t number, int64_t offset, uint32_t bytes) {
  const Variable& variable = module_.variables[number];
  switch (variable.space) {
    case Space::kGlobal:
    case Space::kConst:
      if (bytes != 8) throw Unsupported("the address of a global variable in a narrow register");
      return constant(Constant::Kind::kVariable, offset, number, 8);
    case Space::kShared:
      return bits(offset + shared_offsets_.at(number), bytes);
    case Space::kLocal:
      return bits(offset + local_range(number).begin, bytes);
    case Space::kParam:
      if (const auto found = parameter_offsets_.find(number); found != parameter_offsets_.end())
        return bits(offset + found->second, bytes);
      return bits(offset + local_range(number).begin, bytes);
    default:
      throw Unsupported("a variable of this space");
  }
}

Place Lowering::source(const Operand& operand, Type type) {
  const uint32_t bytes = slot_bytes(type);
  switch (operand.kind) {
    case Operand::Kind::kRegister: {
      const Place place = register_place(operand.index);
      if (place.bytes != bytes) throw Unsupported("a register of another size than the instruction has");
      if (operand.negated) throw Unsupported("a negated predicate here");
      return place;
    }
    case Operand::Kind::kInteger:
      if (type == Type::kPred) return bits(operand.bits != 0 ? -1 : 0, bytes);
      return bits(operand.bits, bytes);
    case Operand::Kind::kFloat: {
      const bool is_double = operand.type == Type::kF64;
      if (bytes == 8) {
        const auto narrow = std::bit_cast<float>(static_cast<uint32_t>(operand.bits));
        return bits(is_double ? operand.bits : std::bit_cast<int64_t>(static_cast<double>(narrow)), 8);
      }
      if (bytes != 4) throw Unsupported("a floating-point constant of this size");
      if (!is_double) return bits(operand.bits, 4);
      const auto narrow = static_cast<float>(std::bit_cast<double>(operand.bits));
      return bits(std::bit_cast<int32_t>(narrow), 4);
    }
    case Operand::Kind::kSpecial:
      if (bytes != 4) throw Unsupported(concat(to_string(operand.special), " in a register of this size"));
      return special_place(operand.special);
    case Operand::Kind::kVariable:
      return variable_place(operand.index, operand.bits, bytes);
    case Operand::Kind::kFunction:
      return bits(static_cast<int64_t>(function_address(operand.index)), bytes);
    default:
      throw Unsupported("an operand of this form");
  }
}

Place Lowering::destination(const Operand& operand) {
  if (operand.kind == Operand::Kind::kSink) return {};
  if (operand.kind != Operand::Kind::kRegister) throw Unsupported("a result that is no register");
  return register_place(operand.index);
}

std::vector<const Operand*> Lowering::flat(const Operand& operand) {
  if (operand.kind != Operand::Kind::kVector && operand.kind != Operand::Kind::kPair) return {&operand};
  std::vector<const Operand*> all;
  for (const Operand& element : operand.elements) all.push_back(&element);
  return all;
}

void Lowering::set_address(Operation& op, const Operand& operand, Space space) {
  if (operand.kind != Operand::Kind::kAddress) throw Unsupported("an operand that is no address");
  const Operand& base = operand.elements.at(0);
  op.space = space;
  op.offset = operand.bits;
  switch (base.kind) {
    case Operand::Kind::kInteger:
      op.offset += base.bits;
      break;
    case Operand::Kind::kRegister:
      op.address = register_place(base.index);
      if (op.address.bytes < 4 || op.address.bytes > 8)
        throw Unsupported("an address in a register of this size");
      if (space == Space::kParam && plan_->function != &entry_) op.space = Space::kLocal;
      break;
    case Operand::Kind::kVariable: {
      const Variable& variable = module_.variables[base.index];
      op.offset += base.bits;
      if (space == Space::kGeneric) {
        if (variable.space == Space::kShared) op.offset += static_cast<int64_t>(kSharedWindow);
        if (variable.space == Space::kLocal) op.offset += static_cast<int64_t>(kLocalWindow);
      }
      if (variable.space == Space::kGlobal || variable.space == Space::kConst) {
        op.address = variable_place(base.index, 0, 8);
      } else if (variable.space == Space::kShared) {
        op.offset += shared_offsets_.at(base.index);
      } else if (const auto parameter = parameter_offsets_.find(base.index);
                 parameter != parameter_offsets_.end()) {
        op.offset += parameter->second;
      } else {
        // A parameter of a call, or of this function, is memory of the lane.
        op.offset += local_range(base.index).begin;
        if (space == Space::kParam) op.space = Space::kLocal;
      }
      break;
    }
    default:
      throw Unsupported("an address of this form");
  }
  // Constant variables are buffers like global ones.
  if (op.space == Space::kConst) op.space = Space::kGlobal;
}

}  // namespace bicrl::ptx
