// Sets of lanes of a warp group, and arrays over its lanes. Plain values.
#pragma once
#include <array>
#include <bit>
#include <cstdint>

namespace bicrl::ptx {

constexpr int kWarpLanes = 32;
constexpr int kMaxWarps = 8;  // of a warp group
constexpr int kMaxLanes = kMaxWarps * kWarpLanes;

// One bit for each lane, a word for each warp.
struct LaneSet {
  std::array<uint32_t, kMaxWarps> warps{};

  bool contains(int lane) const { return warps[lane / kWarpLanes] >> (lane % kWarpLanes) & 1; }
  void add(int lane) { warps[lane / kWarpLanes] |= uint32_t{1} << (lane % kWarpLanes); }
  void remove(int lane) { warps[lane / kWarpLanes] &= ~(uint32_t{1} << (lane % kWarpLanes)); }
  bool empty() const {
    uint32_t any = 0;
    for (uint32_t warp : warps) any |= warp;
    return any == 0;
  }
  int count() const {
    int lanes = 0;
    for (uint32_t warp : warps) lanes += std::popcount(warp);
    return lanes;
  }
  int first() const {  // of a set that is not empty
    int warp = 0;
    while (warps[warp] == 0) ++warp;
    return warp * kWarpLanes + std::countr_zero(warps[warp]);
  }
  LaneSet operator&(const LaneSet& o) const {
    return combine(o, [](uint32_t a, uint32_t b) { return a & b; });
  }
  LaneSet operator|(const LaneSet& o) const {
    return combine(o, [](uint32_t a, uint32_t b) { return a | b; });
  }
  LaneSet operator-(const LaneSet& o) const {
    return combine(o, [](uint32_t a, uint32_t b) { return a & ~b; });
  }
  LaneSet& operator|=(const LaneSet& o) { return *this = *this | o; }
  LaneSet& operator-=(const LaneSet& o) { return *this = *this - o; }
  bool operator==(const LaneSet&) const = default;

  // Calls work(lane) for every lane of the set, ascending.
  template <class Work>
  void for_each(const Work& work) const {
    for (int warp = 0; warp < kMaxWarps; ++warp)
      for (uint32_t left = warps[warp]; left != 0; left &= left - 1)
        work(warp * kWarpLanes + std::countr_zero(left));
  }

 private:
  template <class Combine>
  LaneSet combine(const LaneSet& o, const Combine& by) const {
    LaneSet result;
    for (int i = 0; i < kMaxWarps; ++i) result.warps[i] = by(warps[i], o.warps[i]);
    return result;
  }
};

}  // namespace bicrl::ptx
