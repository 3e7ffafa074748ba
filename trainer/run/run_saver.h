// What a run leaves in its directory: checkpoints, of which it keeps the newest ones and the best, and the
// summary. One object per rank; methods are collective unless they are const. Refers to what it is given.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "common/clock.h"
#include "policy/tokenizer/tokenizer.h"
#include "policy/transformer.h"
#include "reward/stage_rewards.h"
#include "trainer/experience/verdict_ledger.h"
#include "trainer/ranks/placement.h"
#include "trainer/run/checkpoints/checkpoint_store.h"
#include "trainer/run/checkpoints/checkpoint_writer.h"
#include "trainer/run/reports/run_log.h"
#include "trainer/run/run_directory.h"
#include "trainer/run/run_progress.h"
#include "trainer/run/run_settings.h"

namespace bicrl {

class RunSaver {
 public:
  // All of it belongs to the run.
  struct Parts {
    const RunSettings& settings;
    ControlPlane& control;
    Placement placement;
    const Tokenizer& tokenizer;
    const Transformer& policy;
    PolicyUpdater* updater = nullptr;  // null on ranks that do not train
    const Curation& curation;
    VerdictLedger* ledger = nullptr;  // null if there are no verdicts
    const StageRewards& rewards;
    // Null on ranks other than 0:
    RunDirectory* directory = nullptr;
    RunLog* log = nullptr;
  };
  // `is_saved`: the run goes on from a checkpoint that holds its state.
  RunSaver(const Parts& parts, RunProgress& progress, bool is_saved);

  // What is now will be the latest checkpoint once finish() has returned. Waits for the one before.
  void save(const std::string& name);
  void save_within_phase();
  // Waits for the checkpoint that is being written, if one is, and removes those that it replaces.
  void finish();
  void finish_after(const Error& error);  // as far as ranks can
  void mark_best();                       // the latest checkpoint, which it waits for
  void remove_within_phase(int64_t keep);

  // The latest checkpoint holds the run's state, or the one that is being written.
  bool is_saved() const { return is_saved_; }
  void note_change() { is_saved_ = false; }
  // By this rank's clock.
  bool is_due() const;
  // Whether this rank's part of the checkpoint under way is written, or none is under way.
  bool is_written() const { return writer_->written(); }
  bool is_under_way() const { return writer_->under_way(); }
  CheckpointSeconds take_seconds();  // since the latest call, of this rank

  std::string name_within_phase() const;
  void write_summary() const;                                    // on rank 0
  const CheckpointStore* store() const { return store_.get(); }  // null on ranks other than 0

 private:
  CheckpointPart part() const;  // this rank's
  bool best_is_newest() const;  // where nothing says which is better
  uint64_t expected_bytes() const;

  Parts parts_;
  RunProgress& progress_;
  bool is_saved_;
  std::string base_checksum_;  // rank 0's, if the policy has adapters: of what stays frozen
  CheckpointSeconds seconds_;
  Stopwatch since_save_;
  std::unique_ptr<CheckpointStore> store_;
  // Last, as its thread is waited for before what it refers to goes.
  std::unique_ptr<CheckpointWriter> writer_;
};

}  // namespace bicrl
