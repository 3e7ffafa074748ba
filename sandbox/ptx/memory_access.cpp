#include "sandbox/ptx/memory_access.h"

#include <algorithm>

#include "sandbox/ptx/grid.h"
#include "sandbox/ptx/thread_block.h"

#define BICRL_VECTORISED __attribute__((optimize("O3"), target_clones("avx2", "default")))

namespace bicrl::ptx {
namespace {

BICRL_VECTORISED void add_offset(const uint64_t* base, int64_t offset, uint64_t* addresses, int lanes) {
  for (int lane = 0; lane < lanes; ++lane) addresses[lane] = base[lane] + static_cast<uint64_t>(offset);
}

// 32-bit addresses are of spaces that begin at 0.
BICRL_VECTORISED void add_offset(const uint32_t* base, int64_t offset, uint64_t* addresses, int lanes) {
  for (int lane = 0; lane < lanes; ++lane)
    addresses[lane] = static_cast<uint32_t>(base[lane] + static_cast<uint32_t>(offset));
}

// Offsets from `begin`, and whether one of the wanted lanes' is beyond `last`.
BICRL_VECTORISED bool find_offsets(const uint64_t* addresses, uint64_t begin, uint64_t last,
                                   const uint32_t* wanted, uint64_t* offsets, int lanes) {
  uint64_t outside = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    const uint64_t offset = addresses[lane] - begin;
    offsets[lane] = offset;
    outside |= static_cast<uint64_t>(offset > last) & wanted[lane];
  }
  return outside != 0;
}

BICRL_VECTORISED bool any_misaligned(const uint64_t* addresses, uint64_t mask, const uint32_t* wanted, int lanes) {
  uint64_t bits = 0;
  for (int lane = 0; lane < lanes; ++lane) bits |= addresses[lane] & mask & wanted[lane];
  return bits != 0;
}

const char* name_of(Space space) {
  switch (space) {
    case Space::kShared: return "shared memory";
    case Space::kLocal: return "local memory";
    case Space::kConst: return "constant memory";
    case Space::kParam: return "the parameters";
    default: return "every buffer";
  }
}

}  // namespace

RegionFinder::RegionFinder(Strand& strand, const Operation& op, const Access& access)
    : strand_(strand), op_(op), access_(access), left_(strand.active()) {
  const int lanes = strand.lanes();
  if (!op.address) {
    std::fill_n(addresses_, lanes, static_cast<uint64_t>(op.offset));
  } else {
    strand.require_defined(op.address, "an address");
    if (op.address.bytes == 8)
      add_offset(strand.values<uint64_t>(op.address), op.offset, addresses_, lanes);
    else
      add_offset(strand.values<uint32_t>(op.address), op.offset, addresses_, lanes);
  }
  if (access.bytes > 1 && any_misaligned(addresses_, access.bytes - 1, strand.active_words(), lanes))
    left_.for_each([&](int lane) {
      if (addresses_[lane] % access.bytes != 0)
        strand.fail(FaultClass::kIllegalAccess,
                    concat("an address that is not a multiple of the ", access.bytes, " bytes of the access"), lane);
    });
}

Region RegionFinder::locate(uint64_t address, int lane) {
  Grid& grid = strand_.grid();
  ThreadBlock& block = strand_.block();
  Space space = op_.space;
  uint64_t window = 0;
  if (space == Space::kGeneric) {
    if (address >> 32 == kSharedWindow >> 32) space = Space::kShared, window = kSharedWindow;
    if (address >> 32 == kLocalWindow >> 32) space = Space::kLocal, window = kLocalWindow;
    if (address >> 32 == kParameterWindow >> 32) space = Space::kParam, window = kParameterWindow;
  }
  const uint64_t place = address - window;
  if (space == Space::kShared) {
    if (const SharedWindow* variable = block.shared_window(place); variable)
      return {.begin = window + variable->begin,
              .end = window + variable->begin + variable->bytes,
              .data = block.shared() + variable->begin,
              .undefined = block.shared_shadows() ? block.shared_shadows() + variable->begin : nullptr,
              .writers = nullptr,
              .writable = true,
              .local = false};
  } else if (space == Space::kLocal) {
    for (const LocalRange& range : grid.kernel().locals)
      if (place >= range.begin && place < range.begin + uint64_t{range.bytes})
        return {.begin = window, .end = window + range.begin + range.bytes, .data = nullptr, .undefined = nullptr,
                .writers = nullptr, .writable = true, .local = true};
  } else if (space == Space::kParam) {
    if (place < grid.parameters().size())
      return {.begin = window, .end = window + grid.parameters().size(), .data = grid.parameters().data(),
              .undefined = grid.parameter_shadows(), .writers = nullptr, .writable = false, .local = false};
  } else if (DeviceMemory::Buffer* buffer = grid.memory().window(address);
             buffer && address >= buffer->address && address < buffer->end()) {
    return {.begin = buffer->address,
            .end = buffer->end(),
            .data = buffer->data.get(),
            .undefined = buffer->undefined.get(),
            .writers = buffer->writers.get(),
            .writable = buffer->permission == DeviceMemory::Permission::kReadWrite,
            .local = false};
  }
  strand_.fail(FaultClass::kIllegalAccess,
               concat(access_.writes ? "a write" : "a read", " outside of ", name_of(space)), lane);
}

bool RegionFinder::next(RegionAccess& group) {
  if (left_.empty()) return false;
  const int first = left_.first();
  group.region = locate(addresses_[first], first);
  const Region& region = group.region;
  if (access_.writes && !region.writable)
    strand_.fail(FaultClass::kIllegalAccess, "a write to memory that can only be read", first);
  const uint64_t size = region.end - region.begin;
  if (size < access_.bytes || addresses_[first] - region.begin > size - access_.bytes)
    strand_.fail(FaultClass::kIllegalAccess,
                 concat(access_.writes ? "a write" : "a read", " of ", access_.bytes, " bytes across the end of ",
                        region.local || op_.space == Space::kShared ? "a variable" : "a buffer"),
                 first);
  const uint64_t last = size - access_.bytes;
  const int lanes = strand_.lanes();
  group.offsets = offsets_;
  const bool whole = left_ == strand_.active();
  if (!find_offsets(addresses_, region.begin, last, strand_.active_words(), offsets_, lanes) && whole) {
    group.lanes = left_;
    left_ = {};
  } else {
    group.lanes = {};
    left_.for_each([&](int lane) {
      if (offsets_[lane] <= last) group.lanes.add(lane);
    });
    left_ -= group.lanes;
  }
  group.all = group.lanes.count() == lanes;
  return true;
}

}  // namespace bicrl::ptx
