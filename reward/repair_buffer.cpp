#include "reward/repair_buffer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "common/rng.h"
#include "common/utf8.h"

namespace bicrl {
namespace {

using nlohmann::json;

constexpr int64_t kMaxEntries = 100'000;
constexpr int64_t kMaxChars = 1 << 20;
constexpr const char* kSteps[] = {"extract", "compile", "record", "run", "compare"};

int progress_of(const std::string& reached) {
  return static_cast<int>(std::find(std::begin(kSteps), std::end(kSteps), reached) - std::begin(kSteps));
}

bool is_material(const RepairMember& member) {
  const Verdict& verdict = member.verdict;
  return !member.masked && judges_program(verdict.outcome) && !member.program.empty() &&
         verdict.fault_class != "extract" && verdict.fault_class != "protocol";
}

// A step that this version does not know says nothing about progress.
std::tuple<int, int> rank_of(const RepairMember& member) {
  const int progress = progress_of(member.verdict.reached);
  return {progress == std::ssize(kSteps) ? -1 : progress, member.verdict.trials_passed};
}

// The text's head in well-formed UTF-8, at most `limit` bytes.
std::string head(const std::string& bytes, size_t limit) {
  return std::string(utf8_head(to_utf8(bytes), limit));
}

std::string text_field(const json& object, const char* field) {
  const auto found = object.is_object() ? object.find(field) : object.end();
  if (!object.is_object() || found == object.end())
    throw InputError(concat("repair entry: field '", field, "' is missing"));
  if (!found->is_string()) throw InputError(concat("repair entry: field '", field, "' must be a string"));
  return found->get<std::string>();
}

}  // namespace

RepairSettings RepairSettings::from_config(const ConfigSection& section) {
  for (const char* key : {"capacity", "max_diagnostics_chars", "max_program_chars"})
    if (section.has(key) && !section.has("probability"))
      section.reject(key, "has no effect without 'probability', which is 0 unless it is set");
  RepairSettings s;
  s.probability = section.real("probability", s.probability, 0, 1);
  s.capacity = static_cast<int>(section.integer("capacity", s.capacity, 1, kMaxEntries));
  s.max_diagnostics_chars =
      static_cast<int>(section.integer("max_diagnostics_chars", s.max_diagnostics_chars, 0, kMaxChars));
  s.max_program_chars =
      static_cast<int>(section.integer("max_program_chars", s.max_program_chars, 1, kMaxChars));
  return s;
}

json to_json(const RepairEntry& entry) {
  return {{"task_id", entry.task_id},
          {"stage", to_string(entry.stage)},
          {"program", entry.attempt.program},
          {"fault_class", entry.attempt.fault_class},
          {"diagnostics", entry.attempt.diagnostics}};
}

RepairEntry repair_entry_from_json(const json& object) {
  RepairEntry entry;
  entry.task_id = text_field(object, "task_id");
  const std::string stage = text_field(object, "stage");
  try {
    entry.stage = parse_stage(stage);
  } catch (const InputError& error) {
    throw InputError(concat("repair entry: field 'stage': ", error.what()));
  }
  entry.attempt = {.program = text_field(object, "program"),
                   .fault_class = text_field(object, "fault_class"),
                   .diagnostics = text_field(object, "diagnostics")};
  return entry;
}

std::optional<RepairEntry> repair_material(const std::string& task_id, Stage stage,
                                           std::span<const RepairMember> group) {
  const RepairMember* best = nullptr;
  for (const RepairMember& member : group) {
    const bool counts = !member.masked && judges_program(member.verdict.outcome);
    if (counts && member.verdict.correct) return std::nullopt;
    if (is_material(member) && (!best || rank_of(member) > rank_of(*best))) best = &member;
  }
  if (!best) return std::nullopt;
  // Well-formed already here: entries travel between ranks as JSON.
  return RepairEntry{.task_id = task_id,
                     .stage = stage,
                     .attempt = {.program = to_utf8(best->program),
                                 .fault_class = best->verdict.fault_class,
                                 .diagnostics = to_utf8(best->verdict.diagnostics)}};
}

RepairBuffer::RepairBuffer(const RepairSettings& settings) : settings_(settings) {
  BICRL_CHECK(settings.capacity > 0, "capacity ", settings.capacity);
}

bool RepairBuffer::keeps(const RepairEntry& entry) const {
  return entry.attempt.program.size() <= static_cast<size_t>(settings_.max_program_chars);
}

void RepairBuffer::add(RepairEntry entry) {
  entry.attempt.program = to_utf8(entry.attempt.program);
  if (!keeps(entry)) return;
  const bool known = std::ranges::any_of(entries_, [&](const RepairEntry& other) {
    return other.task_id == entry.task_id && other.stage == entry.stage &&
           other.attempt.program == entry.attempt.program;
  });
  if (known) return;
  entry.attempt.diagnostics =
      head(entry.attempt.diagnostics, static_cast<size_t>(settings_.max_diagnostics_chars));
  entries_.push_back(std::move(entry));
  while (entries_.size() > static_cast<size_t>(settings_.capacity)) entries_.pop_front();
}

void RepairBuffer::solved(const std::string& task_id) {
  std::erase_if(entries_, [&](const RepairEntry& entry) { return entry.task_id == task_id; });
}

std::optional<RepairEntry> RepairBuffer::draw(uint64_t key, std::optional<Stage> stage) const {
  RandomStream random(key);
  if (random.uniform() >= settings_.probability) return std::nullopt;
  std::vector<const RepairEntry*> eligible;
  for (const RepairEntry& entry : entries_)
    if (!stage || entry.stage == *stage) eligible.push_back(&entry);
  if (eligible.empty()) return std::nullopt;
  return *eligible[random.below(eligible.size())];
}

json RepairBuffer::state() const {
  json entries = json::array();
  for (const RepairEntry& entry : entries_) entries.push_back(to_json(entry));
  return {{"entries", entries}};
}

void RepairBuffer::restore(const json& state) {
  const auto found = state.is_object() ? state.find("entries") : state.end();
  if (!state.is_object() || found == state.end() || !found->is_array())
    throw InputError("repair buffer state: field 'entries' must be a list");
  RepairBuffer fresh(settings_);
  for (size_t i = 0; i < found->size(); ++i) {
    try {
      fresh.add(repair_entry_from_json((*found)[i]));
    } catch (const InputError& error) {
      throw InputError(concat("repair buffer state: entry ", i, ": ", error.what()));
    }
  }
  entries_ = std::move(fresh.entries_);
}

}  // namespace bicrl
