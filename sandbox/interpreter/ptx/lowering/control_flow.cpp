#include "sandbox/interpreter/ptx/lowering/control_flow.h"

#include <algorithm>
#include <string_view>

#include "common/config/one_of.h"

namespace bicrl::ptx {
namespace {

bool goes_on(const Instruction& instruction) {
  return instruction.guard >= 0 || instruction.opcode == "call" || !ends_block(instruction);
}

class FlowBuilder {
 public:
  explicit FlowBuilder(const Function& function) : function_(function), size_(function.body.size()) {}

  ControlFlow run() {
    mark_leaders();
    make_blocks();
    for (FlowBlock& block : flow_.blocks)
      if (block.count > 0) connect(block);
    return std::move(flow_);
  }

 private:
  const Instruction& last_of(const FlowBlock& block) const {
    return function_.body[block.first + block.count - 1];
  }

  void mark_label(uint32_t label) {
    leaders_[function_.labels[label]] = true;
    named_[label] = true;
  }

  void mark_leaders() {
    leaders_.assign(size_ + 1, false);  // the last one: the end of the body
    named_.assign(function_.labels.size(), false);
    std::vector<bool> used_targets(function_.branch_targets.size());
    leaders_[0] = true;
    bool end_is_reached = size_ == 0;
    for (size_t i = 0; i < size_; ++i) {
      const Instruction& instruction = function_.body[i];
      if (is_blocking(instruction)) leaders_[i] = true;
      if (instruction.opcode == "bra") mark_label(instruction.operands[0].index);
      if (instruction.opcode == "brx") {
        const uint32_t targets = instruction.operands[1].index;
        if (!used_targets[targets])
          for (const uint32_t label : function_.branch_targets[targets]) mark_label(label);
        used_targets[targets] = true;
      }
      if (i + 1 < size_ && ends_block(instruction)) leaders_[i + 1] = true;
      if (i + 1 == size_) end_is_reached = goes_on(instruction);
    }
    if (end_is_reached) leaders_[size_] = true;
  }

  void make_blocks() {
    std::vector<uint32_t> block_at(size_ + 1, kNoBlock);
    for (size_t i = 0; i <= size_; ++i) {
      if (leaders_[i]) {
        block_at[i] = static_cast<uint32_t>(flow_.blocks.size());
        FlowBlock& block = flow_.blocks.emplace_back();
        block.first = static_cast<uint32_t>(i);
        block.blocking = i < size_ && is_blocking(function_.body[i]);
      }
      if (i < size_) ++flow_.blocks.back().count;
    }
    flow_.label_blocks.assign(function_.labels.size(), kNoBlock);
    for (size_t label = 0; label < function_.labels.size(); ++label)
      if (named_[label]) flow_.label_blocks[label] = block_at[function_.labels[label]];
  }

  void connect(FlowBlock& block) {
    const Instruction& last = last_of(block);
    std::vector<uint32_t>& to = block.successors;
    if (goes_on(last)) to.push_back(static_cast<uint32_t>(&block - flow_.blocks.data()) + 1);
    if (last.opcode == "bra") to.push_back(flow_.label_blocks[last.operands[0].index]);
    if (last.opcode == "brx")
      for (const uint32_t label : function_.branch_targets[last.operands[1].index])
        to.push_back(flow_.label_blocks[label]);
    std::sort(to.begin(), to.end());
    to.erase(std::unique(to.begin(), to.end()), to.end());
  }

  const Function& function_;
  const size_t size_;
  std::vector<bool> leaders_, named_;
  ControlFlow flow_;
};

}  // namespace

bool is_blocking(const Instruction& instruction) {
  // bar.warp.sync and bar.red are among these, as modifiers; wmma has forms that load and store.
  return is_warp_collective(instruction.opcode) ||
         is_one_of(instruction.opcode,
                   {"bar", "barrier", "mma", "wmma", "ldmatrix", "stmatrix", "movmatrix"});
}

bool ends_block(const Instruction& instruction) {
  const std::string_view opcode = instruction.opcode;
  return opcode == "bra" || opcode == "brx" || opcode == "ret" || opcode == "exit" || opcode == "trap" ||
         opcode == "call";
}

ControlFlow make_control_flow(const Function& function) { return FlowBuilder(function).run(); }

}  // namespace bicrl::ptx
