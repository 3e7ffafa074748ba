#include "sandbox/interpreter/ptx/execution/address_plan.h"

#include <cstring>

#include "sandbox/interpreter/ptx/alu/vectorised.h"

namespace bicrl::ptx {
namespace {

// Distances within groups, and where they are all the same.
BICRL_VECTORISED void find_steps(const uint32_t* offsets, int lanes, int32_t* steps) {
  for (int group = 0; group * AddressPlan::kGroup < lanes; ++group) {
    const uint32_t* at = offsets + group * AddressPlan::kGroup;
    const uint32_t step = at[1] - at[0];
    uint32_t differs = 0;
    for (int i = 2; i < AddressPlan::kGroup; ++i) differs |= (at[i] - at[i - 1]) ^ step;
    steps[group] = differs == 0 ? static_cast<int32_t>(step) : AddressPlan::kMixed;
  }
}

BICRL_VECTORISED void scan(const uint64_t* addresses, const uint32_t* words, int64_t first, int lanes,
                           int64_t* range, uint64_t* mixed) {
  int64_t least = first, greatest = first;
  uint64_t bits = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    const auto wanted = static_cast<int64_t>(static_cast<int32_t>(words[lane]));
    const int64_t address = (static_cast<int64_t>(addresses[lane]) & wanted) | (first & ~wanted);
    least = address < least ? address : least;
    greatest = address > greatest ? address : greatest;
    bits |= static_cast<uint64_t>(address ^ first);
  }
  range[0] = least;
  range[1] = greatest;
  *mixed = bits;
}

BICRL_VECTORISED void scan(const uint32_t* addresses, const uint32_t* words, uint32_t first, int lanes,
                           uint32_t* range, uint32_t* mixed) {
  uint32_t least = first, greatest = first, bits = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    const uint32_t address = (addresses[lane] & words[lane]) | (first & ~words[lane]);
    least = address < least ? address : least;
    greatest = address > greatest ? address : greatest;
    bits |= address ^ first;
  }
  range[0] = least;
  range[1] = greatest;
  *mixed = bits;
}

BICRL_VECTORISED void subtract(const uint64_t* addresses, const uint32_t* words, uint64_t least, int lanes,
                               uint32_t* offsets) {
  for (int lane = 0; lane < lanes; ++lane)
    offsets[lane] = static_cast<uint32_t>(addresses[lane] - least) & words[lane];
}

BICRL_VECTORISED void subtract(const uint32_t* addresses, const uint32_t* words, uint32_t least, int lanes,
                               uint32_t* offsets) {
  for (int lane = 0; lane < lanes; ++lane) offsets[lane] = (addresses[lane] - least) & words[lane];
}

template <class T>
inline __attribute__((always_inline)) void gather_groups(const std::byte* bytes, const AddressPlan& plan,
                                                         int lanes, T* to) {
  constexpr int kGroup = AddressPlan::kGroup;
  for (int group = 0; group * kGroup < lanes; ++group, to += kGroup) {
    const uint32_t* offsets = plan.offsets + group * kGroup;
    const int32_t step = plan.steps[group];
    if (step == static_cast<int32_t>(sizeof(T))) {
      memcpy(to, bytes + offsets[0], kGroup * sizeof(T));
    } else if (step == 0) {
      T value;
      memcpy(&value, bytes + offsets[0], sizeof(T));
      for (int i = 0; i < kGroup; ++i) to[i] = value;
    } else {
      for (int i = 0; i < kGroup; ++i) memcpy(to + i, bytes + offsets[i], sizeof(T));
    }
  }
}

}  // namespace

BICRL_VECTORISED void gather_elements(const std::byte* bytes, const AddressPlan& plan, int lanes,
                                      uint16_t* to) {
  gather_groups(bytes, plan, lanes, to);
}
BICRL_VECTORISED void gather_elements(const std::byte* bytes, const AddressPlan& plan, int lanes,
                                      uint32_t* to) {
  gather_groups(bytes, plan, lanes, to);
}
BICRL_VECTORISED void gather_elements(const std::byte* bytes, const AddressPlan& plan, int lanes,
                                      uint64_t* to) {
  gather_groups(bytes, plan, lanes, to);
}

void make_plan(const uint64_t* addresses, const uint32_t* words, int first, int lanes, AddressPlan& plan) {
  int64_t range[2];
  uint64_t mixed = 0;
  scan(addresses, words, static_cast<int64_t>(addresses[first]), lanes, range, &mixed);
  plan.least = static_cast<uint64_t>(range[0]);
  plan.greatest = static_cast<uint64_t>(range[1]);
  plan.low_bits = static_cast<uint32_t>(plan.least & 15);
  plan.mixed_bits = static_cast<uint32_t>(mixed & 15);
  plan.near = plan.greatest - plan.least < uint64_t{1} << 31;
  if (!plan.near) return;
  subtract(addresses, words, plan.least, lanes, plan.offsets);
  find_steps(plan.offsets, lanes, plan.steps);
}

void make_plan(const uint32_t* addresses, const uint32_t* words, int first, int lanes, AddressPlan& plan) {
  uint32_t range[2], mixed = 0;
  scan(addresses, words, addresses[first], lanes, range, &mixed);
  plan.least = range[0];
  plan.greatest = range[1];
  plan.low_bits = range[0] & 15;
  plan.mixed_bits = mixed & 15;
  plan.near = range[1] - range[0] < uint32_t{1} << 31;
  if (!plan.near) return;
  subtract(addresses, words, range[0], lanes, plan.offsets);
  find_steps(plan.offsets, lanes, plan.steps);
}

}  // namespace bicrl::ptx
