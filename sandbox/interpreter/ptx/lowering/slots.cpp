#include "sandbox/interpreter/ptx/lowering/slots.h"

#include <algorithm>
#include <array>
#include <queue>

#include "sandbox/interpreter/ptx/lowering/live_ranges.h"
#include "sandbox/interpreter/ptx/lowering/operand_roles.h"

namespace bicrl::ptx {
namespace {

constexpr std::array<uint32_t, 4> kSizes = {16, 8, 4, 2};  // in the order of the frame, which aligns them all

size_t size_class(Type type) {
  return std::find(kSizes.begin(), kSizes.end(), slot_bytes(type)) - kSizes.begin();
}

// Several destinations are written one after the other, so none may lie where a source lies.
void keep_sources_of_vectors(const Function& function, std::vector<LiveRange>& ranges) {
  for (size_t i = 0; i < function.body.size(); ++i) {
    const Instruction& instruction = function.body[i];
    size_t written = 0;
    for_each_write(instruction, [&](uint32_t) { ++written; });
    if (written < 2) continue;
    for_each_read(instruction,
                  [&](uint32_t reg) { ranges[reg].end = std::max<uint64_t>(ranges[reg].end, 2 * i + 1); });
  }
}

// Places of one size, numbered from 0: linear scan over the ranges in the order of their begins.
class Pool {
 public:
  uint32_t take(const LiveRange& range) {
    while (!busy_.empty() && busy_.top().end < range.begin) {
      free_.push_back(busy_.top().place);
      busy_.pop();
    }
    uint32_t place = count_;
    if (free_.empty()) {
      ++count_;
    } else {
      // The one that was used last is the likeliest to lie in a cache.
      place = free_.back();
      free_.pop_back();
    }
    busy_.push({range.end, place});
    return place;
  }
  uint32_t count() const { return count_; }

 private:
  struct Busy {
    uint64_t end;
    uint32_t place;
    bool operator<(const Busy& other) const { return end > other.end; }  // the earliest end on top
  };
  std::priority_queue<Busy> busy_;
  std::vector<uint32_t> free_;
  uint32_t count_ = 0;
};

}  // namespace

uint32_t slot_bytes(Type type) {
  if (type == Type::kPred) return 4;
  return static_cast<uint32_t>(std::max(bytes_of(type), 2));
}

RegisterSlots assign_slots(const Function& function, const ControlFlow& flow) {
  std::vector<LiveRange> ranges = find_live_ranges(function, flow);
  keep_sources_of_vectors(function, ranges);
  std::vector<uint32_t> order;
  RegisterSlots slots;
  slots.offsets.assign(function.registers.size(), RegisterSlots::kNone);
  for (uint32_t reg = 0; reg < ranges.size(); ++reg) {
    if (ranges[reg].begin <= ranges[reg].end) order.push_back(reg);
    if (ranges[reg].may_be_unwritten) slots.may_be_unwritten.push_back(reg);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return ranges[a].begin < ranges[b].begin; });
  std::array<Pool, kSizes.size()> pools;
  for (const uint32_t reg : order)
    slots.offsets[reg] = pools[size_class(function.registers[reg].type)].take(ranges[reg]);
  std::array<uint32_t, kSizes.size()> begins{};
  for (size_t i = 0; i < kSizes.size(); ++i) {
    begins[i] = slots.bytes;
    slots.bytes += pools[i].count() * kSizes[i];
  }
  for (const uint32_t reg : order) {
    const size_t pool = size_class(function.registers[reg].type);
    slots.offsets[reg] = begins[pool] + slots.offsets[reg] * kSizes[pool];
  }
  return slots;
}

}  // namespace bicrl::ptx
