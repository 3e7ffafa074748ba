// Writes a run's checkpoints, each rank its own part, while the run goes on: begin() copies what is live into
// host memory and a thread writes the copy; finish() makes all ranks' parts a checkpoint. In between the
// checkpoint before is the latest, whatever happens. One object per rank, used by one thread.
#pragma once
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "common/files/file_operations.h"
#include "policy/files/adapter_io.h"
#include "policy/tokenizer/tokenizer.h"
#include "trainer/ranks/control_plane.h"
#include "trainer/run/checkpoints/checkpoint_store.h"
#include "trainer/run/checkpoints/host_copy.h"
#include "trainer/run/checkpoints/run_state.h"

namespace bicrl {

// A rank's part of a checkpoint. Refers to live tensors.
struct CheckpointPart {
  std::optional<UpdaterFile> updater;
  // The rest is rank 0's, and empty elsewhere.
  NamedTensors weights;
  WrittenAs written_as;  // of the weights
  std::optional<AdapterFiles> adapters;
  RunState state;
};

class CheckpointWriter {
 public:
  // Refers to what it is given. `store` is null on ranks other than 0. Not in the background: nothing is
  // copied, and finish() itself writes what is live then.
  CheckpointWriter(ControlPlane& control, CheckpointStore* store, const PolicyConfig& config,
                   const Tokenizer& tokenizer, bool in_background, FileOperations& files = system_files());
  // Waits for the thread; a checkpoint that was not finished is taken away.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Takes the memory of the copies, so that the first checkpoint takes no longer than others.
  void reserve(const CheckpointPart& live);

  // Collective, while none is under way. Throws SharedError if rank 0 cannot begin (for instance without
  // room for `expected_bytes`).
  void begin(const std::string& name, uint64_t expected_bytes, const CheckpointPart& live);
  bool under_way() const { return !name_.empty(); }  // the same on all ranks
  // Whether finish() would not wait for this rank's part.
  bool written() const;
  // Collective, while one is under way: waits for every rank's part and makes them the latest checkpoint.
  // Returns the seconds that the slowest rank wrote. Throws SharedError with path and reason if some part
  // could not be written; the checkpoint before is the latest one then.
  double finish();

 private:
  struct Written {
    std::map<std::string, FileHash> files;
    double seconds = 0;
  };
  Written write(const std::filesystem::path& folder, const CheckpointPart& part) const;

  ControlPlane& control_;
  CheckpointStore* store_;
  const PolicyConfig& config_;
  const Tokenizer& tokenizer_;
  bool in_background_;
  FileOperations& files_;
  HostCopy updater_copy_, weights_copy_, adapters_copy_;
  std::string name_;  // of the one under way
  std::future<Written> job_;
};

}  // namespace bicrl
