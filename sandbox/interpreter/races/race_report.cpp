// Of the detector: what is reported of a race, and remembered for a second run.
#include <algorithm>

#include "sandbox/interpreter/ptx/operations/async_operations.h"
#include "sandbox/interpreter/races/visit.h"

namespace bicrl::races {

using ptx::LaneAccess;
using ptx::Operation;

namespace {

// A load and a compare-and-swap; one of them may name a variable that the other has in a register.
bool may_be_same_place(const Operation& load, const Operation& swap) {
  if (!load.plans || load.writes || load.space != swap.space) return false;
  return !load.address || !swap.address || (load.address == swap.address && load.offset == swap.offset);
}

bool is_atomic(const Operation& op) { return op.order.strong && !op.plans && op.handler != nullptr; }

}  // namespace

RacyAccess RaceDetector::described(uint32_t operation, uint32_t serial, int thread, bool writes) const {
  const Operation& op = kernel_->operations[operation];
  RacyAccess access;
  access.kind = op.handler == ptx::copy_async && writes ? RacyAccess::Kind::kCopy
                : is_atomic(op)                         ? RacyAccess::Kind::kAtomic
                : writes                                ? RacyAccess::Kind::kWrite
                                                        : RacyAccess::Kind::kRead;
  access.strong = op.order.strong;
  access.line = op.source.line;
  if (serial >= base_ && serial - base_ < blocks_.size()) access.block = blocks_[serial - base_];
  access.thread = thread;
  return access;
}

// A line that loads and stores is one that updates.
bool RaceDetector::updates(uint32_t operation) const {
  const Operation& op = kernel_->operations[operation];
  if (op.source.line == 0 || !op.plans) return false;
  return std::any_of(kernel_->operations.begin(), kernel_->operations.end(), [&](const Operation& other) {
    return other.plans && other.writes != op.writes && other.source.line == op.source.line &&
           other.source.file == op.source.file && other.address == op.address && other.offset == op.offset;
  });
}

void RaceDetector::find_guesses() {
  const std::vector<Operation>& operations = kernel_->operations;
  guesses_.assign(operations.size(), false);
  for (size_t swap = 0; swap < operations.size(); ++swap) {
    if (!operations[swap].swaps) continue;
    for (size_t load = 0; load < swap; ++load)
      guesses_[load] = guesses_[load] || may_be_same_place(operations[load], operations[swap]);
  }
}

bool RaceDetector::is_guess(uint32_t operation, uint32_t other) const {
  return guesses_[operation] && is_atomic(kernel_->operations[other]);
}

void RaceDetector::record(const Visit& visit, const Earlier& earlier, int thread, uint64_t word) {
  if (is_guess(earlier.operation, visit.operation) || is_guess(visit.operation, earlier.operation)) return;
  const uint32_t serial = visit.state->clock.serial();
  const uint64_t first_byte = word << visit.shift, last_byte = first_byte + (uint64_t{1} << visit.shift) - 1;
  remember(visit, earlier, first_byte);
  const RaceKey key{kernel_->name, earlier.operation, visit.operation, earlier.writes, visit.writes};
  auto found = numbers_.find(key);
  if (found == numbers_.end()) {
    if (races_.size() >= limits_.races) return;
    Race race;
    race.kernel = kernel_->name;
    race.first = described(earlier.operation, earlier.serial, earlier.thread, earlier.writes);
    race.second = described(visit.operation, serial, thread, visit.writes);
    race.same_block = earlier.serial == serial;
    race.same_warp = race.same_block && earlier.thread / ptx::kWarpLanes == thread / ptx::kWarpLanes;
    race.updates = earlier.writes && visit.writes && !visit.copies && updates(earlier.operation) &&
                   updates(visit.operation);
    race.non_coherent = kernel_->operations[visit.operation].non_coherent;
    race.flags_without_fence = !orders_blocks_ && has_flags_;
    race.in_shared = visit.in_shared;
    race.address = visit.in_shared ? 0 : visit.key;
    race.first_byte = first_byte;
    race.last_byte = last_byte;
    if (visit.in_shared) name_variable(first_byte, race);
    found = numbers_.emplace(key, races_.size()).first;
    races_.push_back(std::move(race));
  }
  Race& race = races_[found->second];
  ++race.count;
  race.first_byte = std::min(race.first_byte, first_byte - race.variable_begin);
  race.last_byte = std::max(race.last_byte, last_byte - race.variable_begin);
}

void RaceDetector::name_variable(uint64_t byte, Race& race) const {
  for (const ptx::SharedWindow& window : kernel_->shared) {
    if (byte < window.begin || (window.bytes > 0 && byte >= window.begin + uint64_t{window.bytes})) continue;
    race.variable = window.name;
    race.variable_begin = window.begin;
  }
  race.first_byte -= race.variable_begin;
  race.last_byte -= race.variable_begin;
}

void RaceDetector::remember(const Visit& visit, const Earlier& earlier, uint64_t byte) {
  ++words_.count;
  if (words_.stored >= limits_.racy_words) {
    words_.complete = false;
    return;
  }
  words_.stored += words_.words[{launch_, visit.key}].insert(byte / 4).second ? 1 : 0;
  // A cell does not know all operations that have read a word.
  if (!earlier.writes) {
    words_.early[{launch_, visit.key}].insert(byte / 4);
    words_.late_writes.emplace(launch_, visit.operation);
  }
  const auto note = [&](uint32_t operation, bool writes, bool other_writes) {
    // What matrices and copies read is not followed.
    const Operation& op = kernel_->operations[operation];
    words_.complete &= op.plans || is_atomic(op) || writes;
    // A read of what another writes; or a write beside another.
    if (!writes || is_atomic(kernel_->operations[operation])) words_.reads.emplace(launch_, operation);
    if (writes && other_writes) words_.writes.emplace(launch_, operation);
  };
  note(earlier.operation, earlier.writes, visit.writes);
  note(visit.operation, visit.writes, earlier.writes);
}

}  // namespace bicrl::races
