// The addresses that a warp group's lanes hold in one register, looked at once for all accesses of a basic
// block that add a constant to them: their range, their alignment, and which neighbours are equal or in a
// row.
#pragma once
#include <cstddef>
#include <cstdint>

#include "sandbox/interpreter/ptx/alu/lanes.h"

namespace bicrl::ptx {

struct AddressPlan {
  static constexpr int kGroup = 8;  // lanes
  static constexpr int32_t kMixed = INT32_MIN;

  uint64_t least = 0, greatest = 0;  // over the active lanes
  uint32_t low_bits = 0;             // those of `least` below 16
  uint32_t mixed_bits = 0;           // and in which of them lanes differ
  bool near = false;                 // greatest - least fits into 31 bits; if not, the rest is not filled in
  // From `least`; 0 for lanes that are not active, so that they may be read along.
  alignas(64) uint32_t offsets[kMaxLanes];
  // Of each group of neighbours, the distance in bytes from one lane to the next if it is always the same.
  int32_t steps[kMaxLanes / kGroup];
};

// `words`: of the active lanes all ones, 0 for others; `first`: one of the active lanes.
void make_plan(const uint64_t* addresses, const uint32_t* words, int first, int lanes, AddressPlan& plan);
void make_plan(const uint32_t* addresses, const uint32_t* words, int first, int lanes, AddressPlan& plan);

// Elements of the size of `to`'s at `bytes` + offset, of all lanes.
void gather_elements(const std::byte* bytes, const AddressPlan& plan, int lanes, uint16_t* to);
void gather_elements(const std::byte* bytes, const AddressPlan& plan, int lanes, uint32_t* to);
void gather_elements(const std::byte* bytes, const AddressPlan& plan, int lanes, uint64_t* to);

}  // namespace bicrl::ptx
