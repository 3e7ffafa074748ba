#include "common/config/one_of.h"
#include "sandbox/interpreter/ptx/execution/thread_block.h"
#include "sandbox/interpreter/ptx/lowering/control_flow.h"
#include "sandbox/interpreter/ptx/lowering/instruction_form.h"
#include "sandbox/interpreter/ptx/operations/collective_operations.h"

namespace bicrl::ptx {
namespace {

constexpr Names<ShuffleMode, 4> kShuffles = {{{"up", ShuffleMode::kUp},
                                              {"down", ShuffleMode::kDown},
                                              {"bfly", ShuffleMode::kButterfly},
                                              {"idx", ShuffleMode::kIndex}}};
constexpr Names<VoteMode, 4> kVotes = {{{"all", VoteMode::kAll},
                                        {"any", VoteMode::kAny},
                                        {"uni", VoteMode::kUniform},
                                        {"ballot", VoteMode::kBallot}}};
constexpr Names<Combine, 7> kCombines = {{{"add", Combine::kAdd},
                                          {"min", Combine::kMin},
                                          {"max", Combine::kMax},
                                          {"and", Combine::kAnd},
                                          {"or", Combine::kOr},
                                          {"xor", Combine::kXor},
                                          {"popc", Combine::kPopc}}};

}  // namespace

bool is_warp_collective(std::string_view opcode) {
  return is_one_of(opcode, {"shfl", "vote", "match", "redux", "activemask", "elect"});
}

void Lowering::lower_barrier(const Instruction& instruction, Operation& op) {
  op.flow = Flow::kCollective;
  op.collective = Collective::kBlock;
  op.handler = arrive_at_barrier;
  op.aligned = instruction.opcode == "bar" || instruction.has("aligned");
  if (instruction.has("cluster")) throw Unsupported("barriers of a cluster");
  const bool reduces = instruction.has("red"), arrives = instruction.has("arrive");
  const auto& operands = instruction.operands;
  expect_operands(instruction, reduces ? 3 : 1, reduces ? 4 : 2);
  const size_t first = reduces ? 1 : 0;
  op.sources[0] = source(operands[first], Type::kU32);
  op.offset = -1;
  const Operand& number = operands[first];
  if (operands.size() == 1 && number.kind == Operand::Kind::kInteger && number.bits >= 0 &&
      number.bits < kBarriers)
    op.offset = number.bits;
  const size_t counted = reduces ? 4 : 2;
  if (operands.size() == counted) op.sources[1] = source(operands[first + 1], Type::kU32);
  if (arrives) {
    if (operands.size() != 2) throw Unsupported("an arrival without a number of threads");
    op.detail = kArriveOnly;
  }
  if (!reduces) return;
  Operand predicate = operands.back();
  op.negated_source = predicate.negated;
  predicate.negated = false;
  op.sources[2] = source(predicate, Type::kPred);
  op.destinations[0] = destination(operands[0]);
  op.more = static_cast<uint32_t>(modifier(instruction, kCombines));
  expect_word_results(op);
}

void Lowering::lower_warp(const Instruction& instruction, Operation& op) {
  op.flow = Flow::kCollective;
  op.collective = Collective::kWarp;
  const std::string_view opcode = instruction.opcode;
  const auto& operands = instruction.operands;
  if (!instruction.has("sync") && opcode != "activemask") throw Unsupported("warp operations without .sync");
  if (opcode != "activemask") op.sources[0] = source(operands.back(), Type::kB32);
  if (opcode == "bar") {
    expect_operands(instruction, 1, 1);
    op.handler = sync_warp;
    return;
  }
  const auto results = flat(operands.at(0));
  if (results.size() > 2) throw Unsupported("more than two results");
  for (size_t i = 0; i < results.size(); ++i) op.destinations[i] = destination(*results[i]);
  const Type type = opcode == "elect" ? Type::kB32 : last_type(instruction);
  op.type = type;
  if (opcode == "activemask") {
    expect_operands(instruction, 1, 1);
    op.handler = active_mask;
  } else if (opcode == "elect") {
    expect_operands(instruction, 2, 2);
    op.handler = elect;
  } else if (opcode == "shfl") {
    expect_operands(instruction, 5, 5);
    op.detail = static_cast<uint16_t>(modifier(instruction, kShuffles));
    for (size_t i = 1; i < 4; ++i) op.sources[i] = source(operands[i], Type::kB32);
    op.handler = shuffle;
  } else if (opcode == "vote") {
    expect_operands(instruction, 3, 3);
    op.detail = static_cast<uint16_t>(modifier(instruction, kVotes));
    Operand predicate = operands[1];
    op.negated_source = predicate.negated;
    predicate.negated = false;
    op.sources[1] = source(predicate, Type::kPred);
    op.handler = vote;
  } else if (opcode == "match") {
    expect_operands(instruction, 3, 3);
    op.detail = instruction.has("all") ? 1 : 0;
    op.sources[1] = source(operands[1], type);
    op.handler = match;
  } else {
    expect_operands(instruction, 3, 3);
    if (bytes_of(type) != 4 || type == Type::kF32) throw Unsupported("a reduction of this type");
    op.detail = static_cast<uint16_t>(modifier(instruction, kCombines));
    op.sources[1] = source(operands[1], type);
    op.handler = reduce_warp;
  }
  expect_word_results(op);
}

}  // namespace bicrl::ptx
