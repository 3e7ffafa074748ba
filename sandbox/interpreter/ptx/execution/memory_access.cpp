#include "sandbox/interpreter/ptx/execution/memory_access.h"

#include <algorithm>

#include "sandbox/interpreter/ptx/alu/vectorised.h"
#include "sandbox/interpreter/ptx/execution/grid.h"
#include "sandbox/interpreter/ptx/execution/thread_block.h"

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

const char* name_of(Space space) {
  switch (space) {
    case Space::kShared:
      return "shared memory";
    case Space::kLocal:
      return "local memory";
    case Space::kParam:
      return "the parameters";
    default:
      return "every buffer";
  }
}

// The space that an address of `space` is in, and where that begins among generic addresses.
Space resolve(Space space, uint64_t address, uint64_t& window) {
  window = 0;
  if (space != Space::kGeneric) return space;
  window = address >> 32 << 32;
  if (window == kSharedWindow) return Space::kShared;
  if (window == kLocalWindow) return Space::kLocal;
  if (window == kParameterWindow) return Space::kParam;
  window = 0;
  return Space::kGlobal;
}

// What holds the byte at `address`; false if nothing does.
bool locate(WarpGroup& warp_group, Space named_space, uint64_t address, Region& region) {
  Grid& grid = warp_group.grid();
  uint64_t window = 0;
  const Space space = resolve(named_space, address, window);
  const uint64_t place = address - window;
  region = {};
  if (space == Space::kShared) {
    ThreadBlock& block = warp_group.block();
    const SharedWindow* variable = block.shared_window(place);
    if (!variable) return false;
    region.space = Space::kShared;
    region.begin = window + variable->begin;
    region.end = region.begin + variable->bytes;
    region.data = block.shared() + variable->begin;
    if (uint8_t* shadows = block.shared_shadows()) region.undefined = shadows + variable->begin;
    return true;
  }
  if (space == Space::kLocal) {
    for (const LocalRange& range : grid.kernel().locals) {
      if (place < range.begin || place >= range.begin + uint64_t{range.bytes}) continue;
      region.space = Space::kLocal;
      region.begin = window + range.begin;
      region.end = region.begin + range.bytes;
      region.local = true;
      region.local_begin = range.begin;
      return true;
    }
    return false;
  }
  if (space == Space::kParam) {
    region.space = Space::kParam;
    region.begin = window;
    region.end = window + grid.parameters().size();
    region.data = grid.parameters().data();
    region.undefined = grid.parameter_shadows();
    region.writable = false;
    return place < grid.parameters().size();
  }
  DeviceMemory::Buffer* buffer = grid.memory().window(address);
  if (!buffer || address < buffer->address || address >= buffer->end()) return false;
  region.begin = buffer->address;
  region.end = buffer->end();
  region.data = buffer->data.get();
  region.undefined = buffer->undefined.get();
  region.writers = buffer->writers.get();
  region.writable = buffer->permission == DeviceMemory::Permission::kReadWrite;
  return true;
}

}  // namespace

const AddressPlan& address_plan(WarpGroup& warp_group, const Operation& op) {
  AddressPlan& plan = warp_group.plan(op.plan);
  if (op.reuses_plan) return plan;
  warp_group.require_defined(op.address, "an address");
  const int first = warp_group.active().first();
  if (op.address.bytes == 8)
    make_plan(warp_group.values<uint64_t>(op.address), warp_group.active_words(), first, warp_group.lanes(),
              plan);
  else
    make_plan(warp_group.values<uint32_t>(op.address), warp_group.active_words(), first, warp_group.lanes(),
              plan);
  return plan;
}

bool find_common_region(WarpGroup& warp_group, const Operation& op, const Access& access,
                        const AddressPlan& plan, Region& region) {
  const uint64_t least = plan.least + static_cast<uint64_t>(op.offset);
  const uint32_t low = access.bytes - 1;
  if (!plan.near || (plan.mixed_bits & low) != 0 || (least & low) != 0) return false;
  if (!locate(warp_group, op.space, least, region)) return false;
  if (access.writes && !region.writable) return false;
  const uint64_t end = plan.greatest + static_cast<uint64_t>(op.offset) + access.bytes;
  return end <= region.end && end > least;
}

bool find_fixed_region(WarpGroup& warp_group, const Operation& op, const Access& access, Region& region) {
  const auto address = static_cast<uint64_t>(op.offset);
  if ((address & (access.bytes - 1)) != 0 || !locate(warp_group, op.space, address, region)) return false;
  return (!access.writes || region.writable) && address + access.bytes <= region.end;
}

Region find_region(WarpGroup& warp_group, Space space, uint64_t address, const Access& access, int lane) {
  const char* verb = access.writes ? "a write" : "a read";
  Region region;
  if (!locate(warp_group, space, address, region)) {
    uint64_t window = 0;
    warp_group.fail(FaultClass::kIllegalAccess,
                    concat(verb, " outside of ", name_of(resolve(space, address, window))), lane);
  }
  if (access.writes && !region.writable)
    warp_group.fail(FaultClass::kIllegalAccess, "a write to memory that can only be read", lane);
  const uint64_t size = region.end - region.begin;
  if (size < access.bytes || address - region.begin > size - access.bytes)
    warp_group.fail(FaultClass::kIllegalAccess,
                    concat(verb, " of ", access.bytes, " bytes across the end of a buffer or variable"),
                    lane);
  return region;
}

void require_aligned(WarpGroup& warp_group, uint64_t address, uint32_t bytes, int lane) {
  if (address % bytes != 0)
    warp_group.fail(FaultClass::kIllegalAccess,
                    concat("an address that is not a multiple of the ", bytes, " bytes of the access"), lane);
}

RegionFinder::RegionFinder(WarpGroup& warp_group, const Operation& op, const Access& access)
    : warp_group_(warp_group), op_(op), access_(access), left_(warp_group.active()) {
  const int lanes = warp_group.lanes();
  if (!op.address) {
    std::fill_n(addresses_, lanes, static_cast<uint64_t>(op.offset));
  } else {
    warp_group.require_defined(op.address, "an address");
    if (op.address.bytes == 8)
      add_offset(warp_group.values<uint64_t>(op.address), op.offset, addresses_, lanes);
    else
      add_offset(warp_group.values<uint32_t>(op.address), op.offset, addresses_, lanes);
  }
  if (access.bytes > 1)
    left_.for_each([&](int lane) { require_aligned(warp_group, addresses_[lane], access.bytes, lane); });
}

bool RegionFinder::next(RegionAccess& group) {
  if (left_.empty()) return false;
  const int first = left_.first();
  group.region = find_region(warp_group_, op_.space, addresses_[first], access_, first);
  const Region& region = group.region;
  const uint64_t last = region.end - region.begin - access_.bytes;
  group.offsets = offsets_;
  group.lanes = {};
  left_.for_each([&](int lane) {
    offsets_[lane] = addresses_[lane] - region.begin;
    if (offsets_[lane] <= last) group.lanes.add(lane);
  });
  left_ -= group.lanes;
  group.all = group.lanes.count() == warp_group_.lanes();
  return true;
}

}  // namespace bicrl::ptx
