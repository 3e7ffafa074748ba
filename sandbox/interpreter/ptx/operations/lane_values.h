// Single values of single lanes, for handlers that do lane by lane what they do. A handler's own lanes only.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sandbox/interpreter/ptx/execution/warp_group.h"

namespace bicrl::ptx {

// Whether a bit of the value was never written.
inline bool is_undefined(WarpGroup& warp_group, Place place, int lane) {
  if (!place || !warp_group.has_shadows()) return false;
  const std::byte* shadow = warp_group.shadows<std::byte>(place) + static_cast<size_t>(lane) * place.bytes;
  return std::any_of(shadow, shadow + place.bytes, [](std::byte b) { return b != std::byte{0}; });
}

// Marks all bits of a result as defined or not.
inline void set_undefined(WarpGroup& warp_group, Place place, int lane, bool undefined) {
  if (!place || !warp_group.has_shadows()) return;
  std::byte* shadow = warp_group.shadows<std::byte>(place) + static_cast<size_t>(lane) * place.bytes;
  std::fill_n(shadow, place.bytes, std::byte{undefined ? uint8_t{0xFF} : uint8_t{0}});
}

// A result, all of whose bits are defined or not; nothing if nobody wants it.
template <class T>
void set_value(WarpGroup& warp_group, Place place, int lane, T value, bool undefined = false) {
  if (!place) return;
  warp_group.values<T>(place)[lane] = value;
  set_undefined(warp_group, place, lane, undefined);
}

inline void set_predicate(WarpGroup& warp_group, Place place, int lane, bool value, bool undefined = false) {
  set_value(warp_group, place, lane, value ? ~uint32_t{0} : uint32_t{0}, undefined);
}

// A value that decides what happens. Throws FaultError if a bit of it was never written.
template <class T>
T defined_value(WarpGroup& warp_group, Place place, int lane, const char* what) {
  if (is_undefined(warp_group, place, lane))
    warp_group.fail(FaultClass::kUninitialised, concat(what, " was never written"), lane);
  return warp_group.values<T>(place)[lane];
}

// The address that a lane's memory operation has. Throws FaultError if it is undefined.
inline uint64_t lane_address(WarpGroup& warp_group, Place address, int64_t offset, int lane) {
  const auto distance = static_cast<uint64_t>(offset);
  if (!address) return distance;
  if (address.bytes == 8) return defined_value<uint64_t>(warp_group, address, lane, "an address") + distance;
  return static_cast<uint32_t>(defined_value<uint32_t>(warp_group, address, lane, "an address") + distance);
}

}  // namespace bicrl::ptx
