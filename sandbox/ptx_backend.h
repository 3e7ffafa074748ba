// The backend of machines without a GPU: runs PTX in a box that holds bicrl-execute, our own machine for it.
#pragma once
#include "common/lru_cache.h"
#include "sandbox/backend.h"
#include "sandbox/box/scratch_folder.h"

namespace bicrl {

class BoxHost;

struct ExecuteOptions {
  uint64_t lane_operations = uint64_t{1} << 35;  // of one run: what a kernel may do, however slow the machine
  uint64_t memory_bytes = 6ull << 30;            // of the box
  uint64_t max_buffer_bytes = 2ull << 30;        // what a trace may allocate
  size_t input_cache_bytes = 256u << 20;         // encoded inputs kept for the next candidate of a task
  int cpu_s = 900;                               // a guard against defects of our own; limits count work
};

class PtxBackend : public Backend {
 public:
  PtxBackend(BoxHost& host, ScratchFolder& scratch, const ExecuteOptions& options);
  static constexpr BackendFeatures kFeatures{.name = "ptx"};
  const BackendFeatures& features() const override { return kFeatures; }
  RunResult run(const RunPlan& plan, std::stop_token stop) override;

 private:
  Result<std::shared_ptr<const ScratchFile>> inputs(const InputLayout& layout, const DrawInputs& draw);
  void execute(const RunPlan& plan, std::stop_token stop, RunResult& result);

  BoxHost& host_;
  ScratchFolder& scratch_;
  ExecuteOptions options_;
  LruCache<std::shared_ptr<const ScratchFile>> inputs_;
};

}  // namespace bicrl
