// Replays a launch trace on real, secret inputs in a box, and hands back the raw outputs and times.
// Thread-safe.
#pragma once
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "common/lru_cache.h"
#include "sandbox/box/scratch_folder.h"
#include "sandbox/trace.h"

namespace bicrl {

class BoxHost;
struct OracleAnswers;
struct OracleSpec;

struct ReplayOptions {
  double wall_s = 10;  // of one run
  uint64_t memory_bytes = 4ull << 30;
  uint64_t max_buffer_bytes = 2ull << 30;  // what a trace may allocate
  size_t input_cache_bytes = 256u << 20;   // encoded inputs kept for the next candidate of the task
};

struct ReplayPlan {
  std::string_view module;
  const Trace* trace = nullptr;
  std::shared_ptr<const ScratchFile> inputs;  // of as many draws as trials, as encode_inputs() writes them
  int trials = 1;
  int repeat = 1;         // timed runs of each trial
  uint8_t poison = 0xFE;  // of fresh memory and of the outputs
  // Filling of two more runs of the first trial: with the threads in reverse order, and without its kernels.
  uint8_t confirm_poison = 0x7F;
};

struct ReplayTrial {
  std::string fault_class;  // empty: ran to its end
  std::string message;
  std::vector<double> run_ms;
};

struct ReplayResult {
  bool infrastructure = false;
  std::string fault_class;  // of the replay as a whole; empty: look at the trials
  std::string reason;
  std::vector<ReplayTrial> trials;
  std::vector<ReplayTrial> confirm;  // reverse, without kernels; empty if a trial failed
  std::string outputs;               // [trials + 2, layout.draw_bytes]
  double replay_ms = 0;
};

class Replayer {
 public:
  Replayer(BoxHost& host, ScratchFolder& scratch, const ReplayOptions& options);

  // The encoded inputs of `draws` draws from `first` on (cyclic); cached under `key`, which names the task.
  Result<std::shared_ptr<const ScratchFile>> inputs(const std::string& key, const OracleSpec& spec,
                                                    const OracleAnswers& answers, size_t first, int draws);
  ReplayResult run(const ReplayPlan& plan, std::stop_token stop = {});

 private:
  BoxHost& host_;
  ScratchFolder& scratch_;
  ReplayOptions options_;
  LruCache<std::shared_ptr<const ScratchFile>> inputs_;
};

}  // namespace bicrl
