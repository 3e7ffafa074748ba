#include "trainer/experience/verdict_ledger.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "common/error.h"
#include "common/files/files.h"
#include "common/hash.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPrefix = "rank-";
constexpr std::string_view kSuffix = ".jsonl";

fs::path file_of(const fs::path& folder, int rank) { return folder / concat(kPrefix, rank, kSuffix); }

// The ranks of the files in `folder`, ascending; a run may have been resumed with fewer ranks than it had.
std::vector<int> ranks_in(const fs::path& folder) {
  std::vector<int> ranks;
  for (const auto& file : fs::directory_iterator(folder)) {
    const std::string name = file.path().filename().string();
    int rank = 0;
    if (sscanf(name.c_str(), "rank-%6d", &rank) == 1 && file_of("", rank) == name) ranks.push_back(rank);
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

// Lines of one file, or of several.
struct LedgerLines {
  std::vector<LedgerEntry> entries;
  std::vector<MaskedSet> masked;
};

LedgerEntry entry_from_json(const nlohmann::json& json, int rank) {
  return {json.at("round").get<int64_t>(), rank, json.at("key").get<std::string>(),
          json.at("verifier").get<std::string>(), verdict_from_json(json.at("verdict"))};
}

void read_file_of(const fs::path& file, int rank, LedgerLines& read) {
  const std::string text = read_file(file);
  std::istringstream lines(text.substr(0, text.rfind('\n') + 1));
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    try {
      const auto json = nlohmann::json::parse(line);
      if (json.contains("masked"))
        read.masked.push_back(masked_set_from_json(json));
      else
        read.entries.push_back(entry_from_json(json, rank));
    } catch (const std::exception& error) {
      throw InputError(concat(file.string(), ":", number, ": not an entry of a ledger: ", error.what()));
    }
  }
}

// Of every file in `folder`; verdicts by round and rank.
LedgerLines read_lines(const fs::path& folder) {
  LedgerLines all;
  for (int rank : ranks_in(folder)) read_file_of(file_of(folder, rank), rank, all);
  std::stable_sort(all.entries.begin(), all.entries.end(),
                   [](const LedgerEntry& a, const LedgerEntry& b) { return a.round < b.round; });
  return all;
}

}  // namespace

LedgerContents read_ledger(const fs::path& folder) {
  if (!fs::is_directory(folder)) throw InputError(concat("no ledger of verdicts: ", folder.string()));
  LedgerLines lines = read_lines(folder);
  LedgerContents contents;
  for (LedgerEntry& entry : lines.entries) {
    const std::string key = entry.key;
    contents.verdicts.emplace(key, std::move(entry));
  }
  for (const MaskedSet& set : lines.masked) contents.masked.add(set);
  return contents;
}

VerdictLedger::VerdictLedger(const fs::path& folder, const LedgerScope& scope, ControlPlane& control)
    : protocol_(scope.protocol), verifier_(hash_hex(scope.verifier)), control_(control) {
  std::error_code failure;
  if (control.rank() == 0) fs::create_directories(folder, failure);
  control.barrier();
  std::vector<double> blind = {fs::is_directory(folder) ? 0.0 : 1.0};
  control.all_reduce(blind, Reduction::kSum);
  if (blind[0] > 0)
    throw SharedError(concat(blind[0], " of ", control.size(), " ranks do not see ", folder.string(),
                             ": the run directory must be on a file system that all ranks share"),
                      ExitCode::kUsage);
  // A reader must not meet a file that its writer has not yet cut to whole lines.
  log_ = std::make_unique<LineLog>(file_of(folder, control.rank()), /*keep_bytes=*/-1);
  control.barrier();
  LedgerLines lines = read_lines(folder);
  written_ = std::move(lines.entries);
  for (const MaskedSet& set : lines.masked) masked_.add(set);
  control.barrier();  // nobody appends while another still reads
}

void VerdictLedger::resume_at(int64_t round) {
  round_ = round;
  foreign_ =
      static_cast<size_t>(std::count_if(written_.begin(), written_.end(), [this](const LedgerEntry& entry) {
        return entry.verifier != verifier_ && !adopted_.contains(entry.key);
      }));
  for (const LedgerEntry& entry : written_)
    if (entry.round < round) known_.emplace(entry.key, entry.verdict);
  // What this rank wrote itself comes before what others wrote of the same program.
  for (const bool own : {true, false})
    for (const LedgerEntry& entry : written_)
      if (entry.round >= round && (entry.rank == control_.rank()) == own)
        met_again_.emplace(entry.key, entry.verdict);
  written_.clear();
}

void VerdictLedger::adopt(LedgerContents contents) {
  std::set<std::string> verifiers;
  for (const auto& [key, entry] : contents.verdicts) {
    adopted_.emplace(key, entry);
    verifiers.insert(entry.verifier);
  }
  adopted_masked_ = std::move(contents.masked);
  adopted_verifiers_.assign(verifiers.begin(), verifiers.end());
}

void VerdictLedger::sync() { log_->sync(); }

std::string VerdictLedger::key_of(const Task& task, const std::string& program) const {
  const auto key = [&](const std::string& verifier) {
    return hash_hex({verifier, protocol_, task.id, task.pytorch_code, task.reduced_sizes, program});
  };
  for (const std::string& verifier : adopted_verifiers_)
    if (const std::string adopted = key(verifier);
        adopted_.contains(adopted) || adopted_masked_.has_key(adopted))
      return adopted;
  return key(verifier_);
}

std::optional<Verdict> VerdictLedger::find(const std::string& key) {
  for (const auto* map : {&known_, &own_})
    if (const auto found = map->find(key); found != map->end()) return found->second;
  const auto again = met_again_.find(key);
  if (again != met_again_.end()) {
    keep_own(key, again->second);
    return again->second;
  }
  const auto adopted = adopted_.find(key);
  if (adopted == adopted_.end()) return std::nullopt;
  keep_own(key, adopted->second.verdict);
  log_->append(unshared_.back());
  return adopted->second.verdict;
}

void VerdictLedger::keep(const std::string& key, const Verdict& verdict) {
  if (verdict.outcome == Outcome::kInfrastructure || known_.contains(key) || own_.contains(key)) return;
  keep_own(key, verdict);
  log_->append(unshared_.back());
}

const MaskedTurn* VerdictLedger::masked(const EpisodeKey& episode, int64_t turn,
                                        const std::string& key) const {
  const MaskedTurn* own = masked_.find(episode, turn, key);
  return own ? own : adopted_masked_.find(episode, turn, key);
}

void VerdictLedger::keep_masked(const MaskedSet& set) {
  MaskedSet fresh{.place = set.place, .turns = {}};
  for (const MaskedTurn& t : set.turns)
    if (!masked_.find(t.episode, t.turn, t.verdict_key)) fresh.turns.push_back(t);
  if (fresh.turns.empty()) return;
  masked_.add(fresh);
  log_->append(to_json(fresh).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void VerdictLedger::keep_own(const std::string& key, const Verdict& verdict) {
  own_.emplace(key, verdict);
  const auto adopted = adopted_.find(key);
  const std::string& verifier = adopted == adopted_.end() ? verifier_ : adopted->second.verifier;
  const nlohmann::json entry = {
      {"round", round_}, {"key", key}, {"verifier", verifier}, {"verdict", to_json(verdict)}};
  unshared_.push_back(entry.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::string VerdictLedger::unshared() const {
  std::string lines;
  for (const std::string& line : unshared_) lines += line + "\n";
  return lines;
}

void VerdictLedger::end_round(const std::vector<std::string>& lines_by_rank) {
  for (const std::string& lines : lines_by_rank) {
    std::istringstream entries(lines);
    for (std::string line; std::getline(entries, line);) {
      const auto json = nlohmann::json::parse(line);
      known_.emplace(json["key"].get<std::string>(), verdict_from_json(json["verdict"]));
    }
  }
  own_.clear();
  unshared_.clear();
  ++round_;
}

}  // namespace bicrl
