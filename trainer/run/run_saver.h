// Writer of a run's checkpoints, of which it keeps the newest ones and the best, and of its summary. One
// object per rank; methods are collective unless they are const. Refers to what it is given.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "common/clock.h"
#include "trainer/run/checkpoints/checkpoint_store.h"
#include "trainer/run/checkpoints/checkpoint_writer.h"
#include "trainer/run/run_context.h"
#include "trainer/run/run_progress.h"

namespace bicrl {

class RunSaver {
 public:
  // `is_saved`: the run goes on from a checkpoint that holds its state.
  RunSaver(const RunContext& context, RunProgress& progress, bool is_saved);

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

  const RunContext& context_;
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
