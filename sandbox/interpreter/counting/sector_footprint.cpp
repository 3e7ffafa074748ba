#include "sandbox/interpreter/counting/sector_footprint.h"

#include <algorithm>

namespace bicrl {

void SectorFootprint::begin_launch() {
  ++launch_;
  touched_before_.push_back(touched_);
}

SectorFootprint::Buffer& SectorFootprint::buffer(uint64_t begin, uint64_t bytes) {
  const uint64_t number = buffers_.size();
  const auto [place, is_new] = buffers_.try_emplace(begin);
  Buffer& buffer = place->second;
  if (is_new) buffer.number = number;
  const size_t sectors = (bytes + kSectorBytes - 1) / kSectorBytes;
  if (buffer.touched.size() < sectors)
    for (auto* of : {&buffer.read, &buffer.written, &buffer.touched}) of->resize(sectors);
  return buffer;
}

bool SectorFootprint::touch(Buffer& buffer, uint64_t sector) {
  if (buffer.touched[sector] == launch_) return false;
  buffer.touched[sector] = launch_;
  ++touched_;
  return true;
}

bool SectorFootprint::read(Buffer& buffer, uint64_t sector, LaunchCounters& counters) {
  if (buffer.read[sector] == launch_) return false;
  buffer.read[sector] = launch_;
  const uint32_t before = buffer.touched[sector];
  if (before == 0) {
    ++counters.cold_sectors;
  } else {
    // What was touched from the beginning of that launch to the beginning of this one; 0 if it is this one.
    const uint64_t bytes = (touched_before_[launch_] - touched_before_[before]) * kSectorBytes;
    size_t distance = 0;
    while (distance + 1 < kReuseClasses && bytes > kLeastReuseBytes << distance) ++distance;
    ++counters.reused_sectors[distance];
  }
  return touch(buffer, sector);
}

void SectorFootprint::write(Buffer& buffer, uint64_t sector, LaunchCounters& counters) {
  if (buffer.written[sector] == launch_) return;
  buffer.written[sector] = launch_;
  ++counters.written_sectors;
  touch(buffer, sector);
}

void SectorFootprint::update(Buffer& buffer, uint64_t word, uint32_t count, LaunchCounters& counters) {
  if (buffer.atomics_launch != launch_) {
    buffer.atomics.assign(buffer.touched.size() * (kSectorBytes / 4), 0);
    buffer.atomics_launch = launch_;
  }
  buffer.atomics[word] += count;
  counters.global_atomics += count;
  counters.hottest_atomics = std::max<uint64_t>(counters.hottest_atomics, buffer.atomics[word]);
}

}  // namespace bicrl
