// The write-ahead ledger of a run's verdicts: RUN/ledger/rank-N.jsonl, one line for each program that was
// verified, and one for each step in which turns were left without a verdict (masked_set.h). A verdict is
// written before anything is made of it, and a program is verified once in a run: a step that is repeated
// after a crash meets the verdicts it met before, whatever the verifier's secrets are by then, and a response
// that was left out is left out again, whatever is known of its program by then. Every rank has a ledger
// object; all ranks read all files, so the folder must be on a file system that they share. Not thread-safe.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/files/line_log.h"
#include "episode/verdict_store.h"
#include "tasks/task.h"
#include "trainer/experience/masked_set.h"
#include "trainer/ranks/control_plane.h"
#include "verdict/verdict.h"

namespace bicrl {

// A verdict's line of a ledger's file.
struct LedgerEntry {
  int64_t round = 0;
  int rank = 0;
  std::string key;
  std::string verifier;  // hash of the description of the verifier that graded it
  Verdict verdict;
};

// What verdicts depend on beside task and program.
struct LedgerScope {
  std::string protocol;  // what this run wishes: tolerances, trials, times
  // What grades (grading_basis() of the verifiers): its backend, its version and its own settings. Verdicts
  // of another one do not count, though the run be the same: addresses may change on resume.
  std::string verifier;
};

struct LedgerContents {
  std::unordered_map<std::string, LedgerEntry> verdicts;  // by key; of several the first that counted
  MaskedTurns masked{};
};
// Throws InputError as below.
LedgerContents read_ledger(const std::filesystem::path& folder);

class VerdictLedger : public VerdictStore {
 public:
  // Collective: rank 0 makes the folder. Throws InputError on a line that is no entry, naming file and line;
  // an unfinished last line, left by a killed process, is cut off.
  VerdictLedger(const std::filesystem::path& folder, const LedgerScope& scope, ControlPlane& control);

  // To be called once, before find(): goes on from `round`, the number that round() had at a checkpoint (0 at
  // the start). What was written later is met again step by step, as it was the first time.
  void resume_at(int64_t round);

  // Verdicts of another run count as if this one had met them before, whichever verifier gave them; those
  // that are used are written down. What it left without a verdict stays without one in the same step.
  void adopt(LedgerContents contents);

  // By which a program's verdict is found: a hash of task, program and scope; if the program's verdict was
  // adopted, of the scope in which it was given.
  std::string key_of(const Task& task, const std::string& program) const override;
  std::optional<Verdict> find(const std::string& key) override;
  void keep(const std::string& key, const Verdict& verdict) override;
  const MaskedTurn* masked(const EpisodeKey& episode, int64_t turn, const std::string& key) const override;
  // What is left without a verdict for good, before an update is made of the others; to be followed by
  // sync(). All of it is written in one line, or nothing; what was known is not written again.
  void keep_masked(const MaskedSet& set);
  void sync();  // this rank's file, to the disk
  // Ends a round (a step, an evaluation): ranks exchange unshared(), lines of this rank's file, and each
  // passes all ranks' lines to end_round(). If two verified the same program, the lower rank's verdict counts
  // from now on.
  std::string unshared() const;
  void end_round(const std::vector<std::string>& lines_by_rank);
  int64_t round() const { return round_; }
  size_t size() const { return known_.size(); }
  // How many verdicts of earlier processes another verifier gave: those do not count.
  size_t foreign() const { return foreign_; }

 private:
  void keep_own(const std::string& key, const Verdict& verdict);

  std::string protocol_;
  std::string verifier_;                        // a hash
  std::vector<std::string> adopted_verifiers_;  // likewise
  ControlPlane& control_;
  int64_t round_ = 0;
  std::vector<LedgerEntry> written_;  // by earlier processes, by round and rank; until resume_at()
  MaskedTurns masked_;                // of this run: of earlier processes and all ranks, and of this rank
  MaskedTurns adopted_masked_;        // of another run
  std::unordered_map<std::string, Verdict> known_;        // agreed on by all ranks
  std::unordered_map<std::string, Verdict> own_;          // of this rank in this round
  std::unordered_map<std::string, LedgerEntry> adopted_;  // of another run
  std::unordered_map<std::string, Verdict> met_again_;    // written by earlier processes after the checkpoint
  std::vector<std::string> unshared_;                     // lines of own_, in order
  size_t foreign_ = 0;
  std::unique_ptr<LineLog> log_;
};

}  // namespace bicrl
