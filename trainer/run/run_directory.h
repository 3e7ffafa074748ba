// The folder of one run, held by one run at a time. Starting a run in a folder that holds one goes on with
// it.
//   RUN/run.json        format, the verifier's protocol, program, machine, whether the run has finished
//   RUN/config.yaml     resolved configuration       RUN/reward.yaml   resolved reward
//   RUN/metrics.jsonl   an entry per step            RUN/responses.jsonl, samples.jsonl   see run_log.h
//   RUN/ledger/         verdicts                     RUN/checkpoints/  see checkpoint_store.h
//   RUN/summary.json    results so far               RUN/verifier.log  of the embedded verifier
// Used by rank 0 only. Not thread-safe.
#pragma once
#include <filesystem>
#include <map>
#include <string>

namespace bicrl {

class RunDirectory {
 public:
  // Creates the folder or takes the run that lies in it, and locks it until this object ends. Throws
  // InputError if the folder holds something else, a run of another version or protocol, or a run in
  // progress; Error if it cannot be written.
  explicit RunDirectory(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  bool has_run() const { return has_run_; }    // started before this object
  bool finished() const { return finished_; }  // of that run

  // Whether this configuration differs from that of the run that lies here only in that it has more steps of
  // the last stage (of the warm-up without stages), or further stages: a run that has finished goes on then.
  bool is_extended_by(const std::string& config_yaml) const;
  // A run that lies here must have had the same configuration, apart from keys that do not decide results;
  // else InputError shows each difference, unless `allow_changes`.
  void check_config(const std::string& config_yaml, bool allow_changes) const;
  // Checks, then keeps configuration and reward. The reward may differ.
  void adopt(const std::string& config_yaml, const std::string& reward_yaml, bool allow_changes);
  bool changes_allowed() const { return changes_allowed_; }  // when it was adopted
  // What the run reads besides its configuration, by name with a hash of its content: as with the
  // configuration, differences to what the run was started with are an InputError unless allowed.
  void adopt_inputs(const std::map<std::string, std::string>& hashes) const;
  void write(const std::string& file, const std::string& text) const;
  void mark_finished();
  // In run.json: the figures of this run are those of a bench.
  void mark_bench();

 private:
  // Of the folder. A member of its own, so that a constructor that throws lets go of it as well.
  struct Lock {
    Lock() = default;
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    int fd = -1;
  };
  void take_lock();
  void read_run_file();
  void write_run_file() const;

  std::filesystem::path path_;
  Lock lock_;
  bool has_run_ = false;
  bool changes_allowed_ = false;
  bool finished_ = false;
  bool is_bench_ = false;
};

}  // namespace bicrl
