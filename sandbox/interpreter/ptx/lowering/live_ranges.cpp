#include "sandbox/interpreter/ptx/lowering/live_ranges.h"

#include <algorithm>

#include "sandbox/interpreter/ptx/lowering/operand_roles.h"

namespace bicrl::ptx {
namespace {

// Steps from block to block, of all registers together: some tenths of a second.
constexpr uint64_t kMaxSteps = uint64_t{1} << 26;

// Lists of numbers for keys below a bound, one after the other in memory.
class Lists {
 public:
  explicit Lists(size_t keys) : begins_(keys + 1, 0) {}
  void count(uint32_t key) { ++begins_[key + 1]; }
  void allocate() {
    for (size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
    items_.resize(begins_.back());
    ends_.assign(begins_.begin(), begins_.end() - 1);
  }
  void add(uint32_t key, uint32_t item) { items_[ends_[key]++] = item; }
  const uint32_t* begin(uint32_t key) const { return items_.data() + begins_[key]; }
  const uint32_t* end(uint32_t key) const { return items_.data() + ends_[key]; }

 private:
  std::vector<size_t> begins_, ends_;
  std::vector<uint32_t> items_;
};

class RangeFinder {
 public:
  RangeFinder(const Function& function, const ControlFlow& flow)
      : function_(function),
        flow_(flow),
        ranges_(function.registers.size()),
        written_in_(function.registers.size(), kNoBlock),
        needed_in_(function.registers.size(), kNoBlock),
        predecessors_(flow.blocks.size()),
        killing_blocks_(function.registers.size()),
        needing_blocks_(function.registers.size()),
        killed_for_(flow.blocks.size(), kNoBlock),
        live_for_(flow.blocks.size(), kNoBlock) {}

  std::vector<LiveRange> run() {
    for (uint32_t block = 0; block < flow_.blocks.size(); ++block) scan(block);
    collect();
    for (uint32_t reg = 0; reg < ranges_.size(); ++reg) follow(reg);
    return std::move(ranges_);
  }

 private:
  void extend(uint32_t reg, uint64_t point) {
    LiveRange& range = ranges_[reg];
    if (range.begin > range.end) {
      range.begin = range.end = point;
    } else {
      range.begin = std::min(range.begin, point);
      range.end = std::max(range.end, point);
    }
  }

  // Points of a block's own instructions; which registers it needs from before, and which it writes for
  // certain.
  void scan(uint32_t block) {
    const FlowBlock& in = flow_.blocks[block];
    for (uint64_t i = in.first; i < uint64_t{in.first} + in.count; ++i) {
      const Instruction& instruction = function_.body[i];
      for_each_read(instruction, [&](uint32_t reg) {
        extend(reg, 2 * i);
        if (written_in_[reg] == block || needed_in_[reg] == block) return;
        needed_in_[reg] = block;
        needs_.push_back({reg, block});
      });
      // What follows writes only some lanes' values, so the guard is needed until then.
      bool writes = false;
      for_each_write(instruction, [&](uint32_t reg) {
        writes = true;
        extend(reg, 2 * i + 1);
        if (instruction.guard >= 0 || written_in_[reg] == block) return;
        written_in_[reg] = block;
        kills_.push_back({reg, block});
      });
      if (writes && instruction.guard >= 0) extend(static_cast<uint32_t>(instruction.guard), 2 * i + 1);
    }
  }

  struct Use {
    uint32_t reg, block;
  };
  static void fill(Lists& lists, const std::vector<Use>& uses) {
    for (const Use& use : uses) lists.count(use.reg);
    lists.allocate();
    for (const Use& use : uses) lists.add(use.reg, use.block);
  }

  void collect() {
    fill(needing_blocks_, needs_);
    fill(killing_blocks_, kills_);
    for (const FlowBlock& block : flow_.blocks)
      for (const uint32_t to : block.successors) predecessors_.count(to);
    predecessors_.allocate();
    for (uint32_t block = 0; block < flow_.blocks.size(); ++block)
      for (const uint32_t to : flow_.blocks[block].successors) predecessors_.add(to, block);
  }

  // Goes backwards from the blocks that need a register to those that write it.
  void follow(uint32_t reg) {
    const uint32_t* needing = needing_blocks_.begin(reg);
    if (needing == needing_blocks_.end(reg)) return;
    for (const uint32_t* at = killing_blocks_.begin(reg); at != killing_blocks_.end(reg); ++at)
      killed_for_[*at] = reg;
    open_.clear();
    for (; needing != needing_blocks_.end(reg); ++needing) reach(reg, *needing);
    while (!open_.empty() && steps_ <= kMaxSteps) {
      const uint32_t block = open_.back();
      open_.pop_back();
      for (const uint32_t* from = predecessors_.begin(block); from != predecessors_.end(block); ++from) {
        ++steps_;
        const FlowBlock& before = flow_.blocks[*from];
        extend(reg, 2 * (uint64_t{before.first} + before.count) - 1);
        if (killed_for_[*from] != reg) reach(reg, *from);
      }
    }
    if (steps_ > kMaxSteps) ranges_[reg].may_be_unwritten = true;
    if (ranges_[reg].may_be_unwritten) {
      ranges_[reg].begin = 0;
      ranges_[reg].end = 2 * uint64_t{function_.body.size()} + 1;
    }
  }

  // The register is live where a block begins.
  void reach(uint32_t reg, uint32_t block) {
    if (live_for_[block] == reg) return;
    live_for_[block] = reg;
    extend(reg, 2 * uint64_t{flow_.blocks[block].first});
    if (block == 0) ranges_[reg].may_be_unwritten = true;
    open_.push_back(block);
  }

  const Function& function_;
  const ControlFlow& flow_;
  std::vector<LiveRange> ranges_;
  std::vector<uint32_t> written_in_, needed_in_;  // per register, the last block that did
  std::vector<Use> needs_, kills_;
  Lists predecessors_, killing_blocks_, needing_blocks_;
  std::vector<uint32_t> killed_for_, live_for_;  // per block, the last register of which it is so
  std::vector<uint32_t> open_;
  uint64_t steps_ = 0;
};

}  // namespace

std::vector<LiveRange> find_live_ranges(const Function& function, const ControlFlow& flow) {
  return RangeFinder(function, flow).run();
}

}  // namespace bicrl::ptx
