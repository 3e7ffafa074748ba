#include "sandbox/interpreter/executor/input_reads.h"

#include <algorithm>
#include <tuple>

#include "sandbox/interpreter/ptx/execution/memory_access.h"

namespace bicrl {
namespace {

constexpr size_t kMostRuns = 4096;

}  // namespace

void InputReads::add(uint64_t address, uint32_t leaf, uint64_t bytes) {
  inputs_[address] = {leaf, std::vector<uint8_t>(bytes)};
}

void InputReads::copied(uint64_t address, uint64_t offset, uint64_t bytes) {
  const auto found = inputs_.find(address);
  if (found != inputs_.end())
    std::fill_n(found->second.read.begin() + static_cast<int64_t>(offset), bytes, uint8_t{1});
}

// Of an atomic operation too: it sees what was there. Stores count for nothing.
void InputReads::will_access(ptx::WarpGroup&, const ptx::Operation&, const ptx::Region& region,
                             const ptx::LaneAccess& access) {
  if (access.kind == ptx::LaneAccess::Kind::kWrite || region.space != ptx::Space::kGlobal) return;
  const auto found = inputs_.find(region.begin);
  if (found == inputs_.end()) return;
  const auto first = found->second.read.begin() + static_cast<int64_t>(access.base);
  access.lanes.for_each(
      [&](int lane) { std::fill_n(first + access.offsets[lane], access.bytes, uint8_t{1}); });
}

std::vector<InputBytes> InputReads::unread() const {
  std::vector<InputBytes> runs;
  for (const auto& [address, input] : inputs_) {
    const auto& read = input.read;
    for (auto at = read.begin(); at != read.end();) {
      const auto begin = std::find(at, read.end(), uint8_t{0});
      at = std::find(begin, read.end(), uint8_t{1});
      if (at != begin)
        runs.push_back({input.leaf, static_cast<uint64_t>(begin - read.begin()),
                        static_cast<uint64_t>(at - read.begin())});
    }
  }
  const auto longest_first = [](const InputBytes& a, const InputBytes& b) {
    return std::tuple(b.end - b.begin, a.leaf, a.begin) < std::tuple(a.end - a.begin, b.leaf, b.begin);
  };
  std::sort(runs.begin(), runs.end(), longest_first);
  if (runs.size() > kMostRuns) runs.resize(kMostRuns);
  return runs;
}

}  // namespace bicrl
