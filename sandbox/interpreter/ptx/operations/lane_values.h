// Single values of single lanes, for handlers that do lane by lane what they do. A handler's own lanes only.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sandbox/interpreter/ptx/execution/strand.h"

namespace bicrl::ptx {

// Whether a bit of the value was never written.
inline bool is_undefined(Strand& strand, Place place, int lane) {
  if (!place || !strand.has_shadows()) return false;
  const std::byte* shadow = strand.shadows<std::byte>(place) + static_cast<size_t>(lane) * place.bytes;
  return std::any_of(shadow, shadow + place.bytes, [](std::byte b) { return b != std::byte{0}; });
}

// Marks all bits of a result as defined or not.
inline void set_undefined(Strand& strand, Place place, int lane, bool undefined) {
  if (!place || !strand.has_shadows()) return;
  std::byte* shadow = strand.shadows<std::byte>(place) + static_cast<size_t>(lane) * place.bytes;
  std::fill_n(shadow, place.bytes, std::byte{undefined ? uint8_t{0xFF} : uint8_t{0}});
}

// A result, all of whose bits are defined or not; nothing if nobody wants it.
template <class T>
void set_value(Strand& strand, Place place, int lane, T value, bool undefined = false) {
  if (!place) return;
  strand.values<T>(place)[lane] = value;
  set_undefined(strand, place, lane, undefined);
}

inline void set_predicate(Strand& strand, Place place, int lane, bool value, bool undefined = false) {
  set_value(strand, place, lane, value ? ~uint32_t{0} : uint32_t{0}, undefined);
}

// A value that decides what happens. Throws FaultError if a bit of it was never written.
template <class T>
T defined_value(Strand& strand, Place place, int lane, const char* what) {
  if (is_undefined(strand, place, lane))
    strand.fail(FaultClass::kUninitialised, concat(what, " was never written"), lane);
  return strand.values<T>(place)[lane];
}

// The address that a lane's memory operation has. Throws FaultError if it is undefined.
inline uint64_t lane_address(Strand& strand, Place address, int64_t offset, int lane) {
  const auto distance = static_cast<uint64_t>(offset);
  if (!address) return distance;
  if (address.bytes == 8) return defined_value<uint64_t>(strand, address, lane, "an address") + distance;
  return static_cast<uint32_t>(defined_value<uint32_t>(strand, address, lane, "an address") + distance);
}

}  // namespace bicrl::ptx
