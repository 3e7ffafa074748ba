// Address translation of memory operations: checked to the byte, and turned into offsets within memory of
// this process. For loads, stores and atomics.
#pragma once
#include <cstdint>

#include "sandbox/interpreter/ptx/execution/address_plan.h"
#include "sandbox/interpreter/ptx/execution/warp_group.h"

namespace bicrl::ptx {

// The window of the kernel's parameters among generic addresses.
constexpr uint64_t kParameterWindow = uint64_t{4} << 32;

// A buffer, a shared variable, or the parameters.
struct Region {
  uint64_t begin = 0, end = 0;   // addresses
  std::byte* data = nullptr;     // of `begin`
  uint8_t* undefined = nullptr;  // of `begin`: bits that were never written; null without shadows
  uint8_t* writers = nullptr;    // of `begin`: Writer; null if nobody asks
  bool writable = true;
  Space space = Space::kGlobal;
  bool local = false;        // per-lane memory: `data` is not used,
  uint32_t local_begin = 0;  // and this is where the region begins in it
};

// What an operation does there, for checks and messages.
struct Access {
  uint32_t bytes = 0;  // of all elements of a lane
  bool writes = false;
};

// The plan of the operation's address register: made anew, or that of an earlier operation of its block.
const AddressPlan& address_plan(WarpGroup& warp_group, const Operation& op);

// The region that all active lanes access within, at plan.least + op.offset, with the right alignment and
// permission. False if it is not that simple: then for_each_region() does it, or says what is wrong.
bool find_common_region(WarpGroup& warp_group, const Operation& op, const Access& access,
                        const AddressPlan& plan, Region& region);

// The same for an operation without an address register: all lanes access `op.offset`.
bool find_fixed_region(WarpGroup& warp_group, const Operation& op, const Access& access, Region& region);

// The region that holds all bytes of a lane's access at `address`, which is one of `space`. Throws FaultError
// if there is none, or the lane must not do that. Looks at no alignment.
Region find_region(WarpGroup& warp_group, Space space, uint64_t address, const Access& access, int lane);
// Throws FaultError if a lane's address is not a multiple of `bytes`.
void require_aligned(WarpGroup& warp_group, uint64_t address, uint32_t bytes, int lane);

// A group of active lanes that access one region, and where.
struct RegionAccess {
  Region region;
  LaneSet lanes;
  bool all = false;                   // these are all lanes of the warp group
  const uint64_t* offsets = nullptr;  // [lanes] from the region's begin
};

// Calls work(RegionAccess) for each group; there is one but for rare programs. Throws FaultError if a lane's
// address is undefined, misaligned, outside, or of memory that must not be written.
template <class Work>
void for_each_region(WarpGroup& warp_group, const Operation& op, const Access& access, const Work& work);

// ---- Parts of it ----
class RegionFinder {
 public:
  RegionFinder(WarpGroup& warp_group, const Operation& op, const Access& access);
  // The next group; false if there is none.
  bool next(RegionAccess& group);

 private:
  WarpGroup& warp_group_;
  const Operation& op_;
  const Access access_;
  LaneSet left_;
  alignas(64) uint64_t addresses_[kMaxLanes];
  alignas(64) uint64_t offsets_[kMaxLanes];
};

template <class Work>
void for_each_region(WarpGroup& warp_group, const Operation& op, const Access& access, const Work& work) {
  RegionFinder finder(warp_group, op, access);
  for (RegionAccess group; finder.next(group);) work(group);
}

}  // namespace bicrl::ptx
