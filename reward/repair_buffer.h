// Repair buffer: failed programs of groups in which every response failed. Such a group teaches nothing by
// comparison; its program comes back later as a prompt that shows what was wrong with it. Bounded and
// deterministic: the contents depend on the calls and their order alone, and what a draw returns on the
// contents and the key alone, so ranks that make the same calls hold the same buffer. Not thread-safe.
#pragma once
#include <cstdint>
#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>

#include "common/config/config.h"
#include "tasks/prompt.h"
#include "verdict/verdict.h"

namespace bicrl {

struct RepairSettings {
  double probability = 0;  // that a draw returns an entry; 0: no repairs at all
  int capacity = 256;      // entries; the oldest go first
  int max_diagnostics_chars = 2000;
  int max_program_chars = 16384;  // a longer program is not kept: part of one cannot be repaired

  // Keys: probability, capacity, max_diagnostics_chars, max_program_chars. The others are refused without the
  // first, as they would do nothing.
  static RepairSettings from_config(const ConfigSection& section);
};

struct RepairEntry {
  std::string task_id;
  Stage stage = Stage::kEndToEnd;  // in which it failed
  FailedAttempt attempt;
  bool operator==(const RepairEntry&) const = default;
};
nlohmann::json to_json(const RepairEntry& entry);
RepairEntry repair_entry_from_json(const nlohmann::json& json);  // throws InputError naming the field

// A member of a group.
struct RepairMember {
  std::string program;
  bool masked = false;  // truncated, or without a verdict of the candidate
  Verdict verdict;
};

// What a group leaves for repair: of its failed programs the one that came furthest (by the step it
// reached, then by the trials that were right; the first of equals). None if a member is correct or nothing
// is worth repairing: masked members, answers without a program and those that broke the protocol are no
// material.
std::optional<RepairEntry> repair_material(const std::string& task_id, Stage stage,
                                           std::span<const RepairMember> group);

class RepairBuffer {
 public:
  explicit RepairBuffer(const RepairSettings& settings);

  // Cuts the diagnostics to their limit. A program that is known or too long is not added.
  void add(RepairEntry entry);
  // A task was solved: its failures leave.
  void solved(const std::string& task_id);
  // With the configured probability an entry, all being equally likely; it stays. With `stage` only entries
  // of that stage are looked at.
  std::optional<RepairEntry> draw(uint64_t key, std::optional<Stage> stage = std::nullopt) const;

  size_t size() const { return entries_.size(); }
  const std::deque<RepairEntry>& entries() const { return entries_; }  // oldest first

  nlohmann::json state() const;
  // Exact under the settings that the state was taken under; under smaller limits the newest entries that fit
  // remain. Throws InputError on an invalid state, and changes nothing then.
  void restore(const nlohmann::json& state);

 private:
  bool keeps(const RepairEntry& entry) const;
  RepairSettings settings_;
  std::deque<RepairEntry> entries_;
};

}  // namespace bicrl
