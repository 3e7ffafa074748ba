// Split of one warp's access as a device makes it: into sectors of global memory, and into wavefronts of
// shared memory. Pure functions.
// Source: NVIDIA, "CUDA C++ Best Practices Guide", coalesced access to global memory, and shared memory and
// memory banks: 32 banks of 4 bytes; lanes of 8 and 16 bytes go by halves and quarters of the warp.
#pragma once
#include <array>
#include <cstdint>

#include "sandbox/interpreter/ptx/execution/observer.h"

namespace bicrl {

// Ascending and each once.
struct WarpSectors {
  std::array<uint64_t, 128> sectors;
  size_t count = 0;
};
// Sectors of the region, of the lanes of warp `warp` of the warp group, some of which access.
void find_sectors(const ptx::LaneAccess& access, int warp, WarpSectors& found);

// `begin`: of the region, in the block's shared memory.
uint32_t count_wavefronts(const ptx::LaneAccess& access, int warp, uint64_t begin);

// Lanes that access the place which most of them do.
uint32_t most_at_one_place(const ptx::LaneAccess& access, int warp);

}  // namespace bicrl
