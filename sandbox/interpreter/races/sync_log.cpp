#include "sandbox/interpreter/races/sync_log.h"

#include <algorithm>
#include <set>

namespace bicrl::races {
namespace {

using ptx::kWarpLanes;

// The last entry up to a version, or none.
template <class Entries, class VersionOf>
auto last_until(const Entries& entries, uint32_t version, const VersionOf& version_of) {
  auto found = std::upper_bound(entries.begin(), entries.end(), version,
                                [&](uint32_t v, const auto& entry) { return v < version_of(entry); });
  return found == entries.begin() ? entries.end() : found - 1;
}

// Beyond so many, the older half of a list is forgotten: who acquired that long ago is asked in vain.
constexpr size_t kMaxEntries = size_t{1} << 14;

template <class Entries>
void bound(Entries& entries) {
  if (entries.size() > kMaxEntries)
    entries.erase(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(kMaxEntries / 2));
}

}  // namespace

void join(Acquired& into, const Acquired& other) {
  for (const auto& [log, version] : other) {
    uint32_t& mine = into[log];
    mine = std::max(mine, version);
  }
}

LogId SyncLogs::make() {
  logs_.emplace_back();
  return static_cast<LogId>(logs_.size() - 1);
}

void SyncLogs::clear() { logs_.clear(); }

void SyncLogs::append(LogId id, const Knowledge& knowledge) {
  Log& log = logs_[id];
  const uint32_t version = ++log.version;
  BlockEntries& entries = log.blocks[uint64_t{knowledge.serial} * 2 + (knowledge.device ? 1 : 0)];
  const uint32_t before = entries.floors.empty() ? 0 : entries.floors.back().second;
  if (knowledge.floor > before || entries.floors.empty())
    entries.floors.emplace_back(version, std::max(before, knowledge.floor));
  auto& warp = entries.warps[knowledge.warp];
  WarpEntry entry = warp.empty() ? WarpEntry{} : warp.back();
  entry.version = version;
  for (size_t i = 0; i < entry.lanes.size(); ++i)
    entry.lanes[i] = std::max(entry.lanes[i], knowledge.lanes[i]);
  warp.push_back(entry);
  bound(warp);
  for (const auto& [other, other_version] : knowledge.acquired) {
    if (other == id) continue;
    auto& references = log.references[{other, knowledge.serial}];
    const uint32_t greatest = references.empty() ? 0 : references.back().other_version;
    if (other_version > greatest) references.push_back({version, other_version});
    bound(references);
  }
}

bool SyncLogs::covers(const Log& log, uint64_t key, uint32_t version, int thread, uint32_t stamp) {
  const auto found = log.blocks.find(key);
  if (found == log.blocks.end()) return false;
  const BlockEntries& entries = found->second;
  const auto floor = last_until(entries.floors, version, [](const auto& e) { return e.first; });
  if (floor != entries.floors.end() && stamp <= floor->second) return true;
  const auto warp = entries.warps.find(thread / kWarpLanes);
  if (warp == entries.warps.end()) return false;
  const auto lanes = last_until(warp->second, version, [](const WarpEntry& e) { return e.version; });
  return lanes != warp->second.end() && stamp <= lanes->lanes[static_cast<size_t>(thread % kWarpLanes)];
}

bool SyncLogs::know(const Acquired& acquired, uint32_t serial_of_reader, uint32_t serial, int thread,
                    uint32_t stamp) const {
  // What is left to look at: a log, up to which entry, and as a thread of which block.
  std::vector<std::tuple<LogId, uint32_t, uint32_t>> left;
  std::set<std::tuple<LogId, uint32_t, uint32_t>> seen;
  for (const auto& [log, version] : acquired) left.emplace_back(log, version, serial_of_reader);
  while (!left.empty()) {
    const auto at = left.back();
    left.pop_back();
    if (!seen.insert(at).second) continue;
    const auto& [id, version, as] = at;
    if (id >= logs_.size()) continue;
    const Log& log = logs_[id];
    if (covers(log, uint64_t{serial} * 2 + 1, version, thread, stamp)) return true;
    if (as == serial && covers(log, uint64_t{serial} * 2, version, thread, stamp)) return true;
    for (const auto& [other, references] : log.references) {
      const auto last = last_until(references, version, [](const Reference& r) { return r.version; });
      if (last != references.end()) left.emplace_back(other.first, last->other_version, other.second);
    }
  }
  return false;
}

}  // namespace bicrl::races
