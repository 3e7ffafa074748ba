// The backend of machines without a GPU: runs PTX in a box that holds bicrl-execute, the PTX interpreter.
#pragma once
#include <memory>

#include "sandbox/verifier/backend.h"
#include "sandbox/verifier/input_files.h"

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
  PtxBackend(BoxHost& host, ScratchFolder& scratch, std::shared_ptr<InputFiles> inputs,
             const ExecuteOptions& options);
  const BackendFeatures& features() const override { return features_; }
  RunResult run(const RunPlan& plan, std::stop_token stop) override;
  RunResult check_launches(const Trace& trace, const std::vector<DeviceModule>& modules,
                           std::stop_token stop) override;
  SampleResult sample_blocks(const SamplePlan& plan, std::stop_token stop) override;

 private:
  class Program;
  void execute(const RunPlan& plan, std::stop_token stop, RunResult& result);

  const BackendFeatures features_{.name = "ptx", .present = {}, .missing = {}};
  BoxHost& host_;
  ScratchFolder& scratch_;
  std::shared_ptr<InputFiles> input_files_;
  ExecuteOptions options_;
};

}  // namespace bicrl
