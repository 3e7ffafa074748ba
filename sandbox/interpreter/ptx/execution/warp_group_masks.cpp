#include "sandbox/interpreter/ptx/execution/warp_group_masks.h"

#include "common/error.h"
#include "sandbox/interpreter/ptx/alu/vectorised.h"

namespace bicrl::ptx {

BICRL_VECTORISED void expand_mask(const LaneSet& lanes, uint32_t* words) {
  for (int warp = 0; warp < kMaxWarps; ++warp) {
    const uint32_t bits = lanes.warps[static_cast<size_t>(warp)];
    for (int lane = 0; lane < kWarpLanes; ++lane)
      words[warp * kWarpLanes + lane] = uint32_t{0} - (bits >> lane & 1);
  }
}

BICRL_VECTORISED void collect_mask(const uint32_t* words, int lanes, LaneSet& set) {
  for (int warp = 0; warp * kWarpLanes < lanes; ++warp) {
    uint32_t bits = 0;
    for (int lane = 0; lane < kWarpLanes; ++lane)
      bits |= words[warp * kWarpLanes + lane] & (uint32_t{1} << lane);
    set.warps[static_cast<size_t>(warp)] = bits;
  }
}

BICRL_VECTORISED void guard_words(const uint32_t* words, bool negated, const uint32_t* also_in,
                                  uint32_t* mask, int lanes) {
  const uint32_t flip = negated ? ~uint32_t{0} : 0;
  if (also_in) {
    for (int lane = 0; lane < lanes; ++lane) mask[lane] = (words[lane] ^ flip) & also_in[lane];
  } else {
    for (int lane = 0; lane < lanes; ++lane) mask[lane] = words[lane] ^ flip;
  }
}

BICRL_VECTORISED bool any_set(const void* array, const uint32_t* mask, size_t element_bytes, int lanes) {
  uint64_t bits = 0;
  if (element_bytes == 4) {
    const auto* words = static_cast<const uint32_t*>(array);
    uint32_t narrow = 0;
    for (int lane = 0; lane < lanes; ++lane) narrow |= words[lane] & mask[lane];
    bits = narrow;
  } else if (element_bytes == 8) {
    const auto* words = static_cast<const uint64_t*>(array);
    for (int lane = 0; lane < lanes; ++lane)
      bits |= words[lane] & static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(mask[lane])));
  } else {
    const auto* bytes = static_cast<const uint8_t*>(array);
    for (int lane = 0; lane < lanes; ++lane)
      for (size_t i = 0; mask[lane] != 0 && i < element_bytes; ++i)
        bits |= bytes[static_cast<size_t>(lane) * element_bytes + i];
  }
  return bits != 0;
}

BICRL_VECTORISED void blend(std::byte* destination, const void* source, const uint32_t* mask,
                            size_t element_bytes, int lanes) {
  switch (element_bytes) {
    case 2: {
      auto* to = reinterpret_cast<uint16_t*>(destination);
      const auto* from = static_cast<const uint16_t*>(source);
#pragma GCC ivdep
      for (int lane = 0; lane < lanes; ++lane) to[lane] = mask[lane] ? from[lane] : to[lane];
      return;
    }
    case 4: {
      auto* to = reinterpret_cast<uint32_t*>(destination);
      const auto* from = static_cast<const uint32_t*>(source);
#pragma GCC ivdep
      for (int lane = 0; lane < lanes; ++lane)
        to[lane] = (from[lane] & mask[lane]) | (to[lane] & ~mask[lane]);
      return;
    }
    case 8: {
      auto* to = reinterpret_cast<uint64_t*>(destination);
      const auto* from = static_cast<const uint64_t*>(source);
#pragma GCC ivdep
      for (int lane = 0; lane < lanes; ++lane) to[lane] = mask[lane] ? from[lane] : to[lane];
      return;
    }
    case 16: {
      auto* to = reinterpret_cast<unsigned __int128*>(destination);
      const auto* from = static_cast<const unsigned __int128*>(source);
      for (int lane = 0; lane < lanes; ++lane)
        if (mask[lane]) to[lane] = from[lane];
      return;
    }
    default:
      throw Error(concat("elements of ", element_bytes, " bytes"));
  }
}

}  // namespace bicrl::ptx
