#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "sandbox/interpreter/ptx/lowering/instruction_form.h"
#include "sandbox/interpreter/ptx/operations/async_operations.h"

namespace bicrl::ptx {
namespace {

// Words that change nothing here: all lanes see all writes at once, and a block is its own cluster.
constexpr std::array<std::string_view, 12> kOrderWords = {
    "acquire",     "release",         "relaxed", "cta", "cluster", "shared",
    "shared::cta", "shared::cluster", "b64",     "gpu", "sys",     "global"};

// The other words of an instruction, joined by dots.
std::string form_of(const Instruction& instruction) {
  std::string form;
  for (const std::string& word : instruction.modifiers)
    if (std::find(kOrderWords.begin(), kOrderWords.end(), word) == kOrderWords.end() &&
        !word.starts_with("L2::"))
      form += (form.empty() ? "" : ".") + word;
  return form;
}

}  // namespace

void Lowering::lower_async_copy(const Instruction& instruction, Operation& op) {
  const auto& operands = instruction.operands;
  const std::string form = form_of(instruction);
  if (form == "async.commit_group") {
    expect_operands(instruction, 0, 0);
    op.handler = commit_copies;
  } else if (form == "async.wait_all" || form == "async.wait_group") {
    const bool groups = form == "async.wait_group";
    expect_operands(instruction, groups ? 1 : 0, groups ? 1 : 0);
    op.offset = -1;
    if (groups) {
      if (operands[0].kind != Operand::Kind::kInteger || operands[0].bits < 0)
        throw Unsupported("groups that are no number");
      op.offset = operands[0].bits;
    }
    op.handler = wait_for_copies;
  } else if (form == "async.mbarrier.arrive" || form == "async.mbarrier.arrive.noinc") {
    expect_operands(instruction, 1, 1);
    set_address(op, operands[0], space_of(instruction));
    op.detail = form.ends_with("noinc") ? 1 : 0;
    op.handler = arrive_after_copies;
  } else if (form == "async.ca" || form == "async.cg") {
    const bool has_policy = instruction.has("L2::cache_hint");
    expect_operands(instruction, has_policy ? 4 : 3, has_policy ? 5 : 4);
    lower_copy_operands(instruction, op, operands.size() - (has_policy ? 1 : 0));
  } else {
    throw Unsupported("copies of this kind");
  }
}

void Lowering::lower_copy_operands(const Instruction& instruction, Operation& op, size_t count) {
  const auto& operands = instruction.operands;
  if (operands[2].kind != Operand::Kind::kInteger) throw Unsupported("a size that is no number");
  const int64_t bytes = operands[2].bits;
  if (bytes != 16 && ((bytes != 4 && bytes != 8) || instruction.has("cg"))) throw Unsupported("this size");
  op.count = static_cast<uint8_t>(bytes);
  Operation from;
  set_address(from, operands[1], Space::kGlobal);
  if (from.address && from.address.bytes != 8)
    throw Unsupported("a source whose address is not 64 bits wide");
  op.sources[0] = from.address ? from.address : bits(0, 8);
  op.sources[1] = bits(from.offset, 8);
  set_address(op, operands[0], Space::kShared);
  if (count == 4) {
    Operand limit = operands[3];
    const bool is_predicate =
        limit.kind == Operand::Kind::kRegister && plan_->function->registers[limit.index].type == Type::kPred;
    if (is_predicate) op.negated_source = std::exchange(limit.negated, false);
    op.sources[is_predicate ? 3 : 2] = source(limit, is_predicate ? Type::kPred : Type::kB32);
  }
  op.handler = copy_async;
}

void Lowering::lower_mbarrier(const Instruction& instruction, Operation& op) {
  const auto& operands = instruction.operands;
  const std::string form = form_of(instruction);
  if (form == "pending_count") {
    expect_operands(instruction, 2, 2);
    op.destinations[0] = destination(operands[0]);
    if (op.destinations[0] && op.destinations[0].bytes != 4) throw Unsupported("a result of this size");
    op.sources[0] = source(operands[1], Type::kB64);
    op.handler = pending_arrivals;
    return;
  }
  const bool tries = form.starts_with("try_wait");
  if (tries || form.starts_with("test_wait")) {
    const bool by_parity = form.ends_with(".parity");
    if (form.size() != std::string_view("test_wait").size() - (tries ? 1 : 0) + (by_parity ? 7 : 0))
      throw Unsupported("a test of this kind");
    expect_operands(instruction, 3, tries ? 4 : 3);  // the last may be a time that nobody keeps
    op.destinations[0] = destination(operands[0]);
    if (op.destinations[0] && op.destinations[0].bytes != 4) throw Unsupported("a result of this size");
    set_address(op, operands[1], space_of(instruction));
    op.sources[0] = source(operands[2], by_parity ? Type::kB32 : Type::kB64);
    op.detail = by_parity ? 1 : 0;
    op.handler = test_barrier;
    return;
  }
  struct Form {
    std::string_view name;
    BarrierAction action;
    size_t least, most;  // operands behind the address
  };
  constexpr std::array<Form, 10> kForms = {{{"init", BarrierAction::kInit, 1, 1},
                                            {"inval", BarrierAction::kInvalidate, 0, 0},
                                            {"expect_tx", BarrierAction::kExpectBytes, 1, 1},
                                            {"complete_tx", BarrierAction::kCompleteBytes, 1, 1},
                                            {"arrive", BarrierAction::kArrive, 0, 1},
                                            {"arrive.noComplete", BarrierAction::kArriveIncomplete, 1, 1},
                                            {"arrive.expect_tx", BarrierAction::kArriveExpecting, 1, 1},
                                            {"arrive_drop", BarrierAction::kDrop, 0, 1},
                                            {"arrive_drop.noComplete", BarrierAction::kDropIncomplete, 1, 1},
                                            {"arrive_drop.expect_tx", BarrierAction::kDropExpecting, 1, 1}}};
  const auto found =
      std::find_if(kForms.begin(), kForms.end(), [&](const Form& f) { return f.name == form; });
  if (found == kForms.end()) throw Unsupported("barriers of this kind");
  const size_t first = form.starts_with("arrive") ? 1 : 0;
  expect_operands(instruction, first + 1 + found->least, first + 1 + found->most);
  if (first == 1) op.destinations[0] = destination(operands[0]);
  if (op.destinations[0] && op.destinations[0].bytes != 8) throw Unsupported("a state of this size");
  set_address(op, operands[first], space_of(instruction));
  if (operands.size() > first + 1) op.sources[0] = source(operands[first + 1], Type::kB32);
  op.detail = static_cast<uint16_t>(found->action);
  op.handler = change_barrier;
}

}  // namespace bicrl::ptx
