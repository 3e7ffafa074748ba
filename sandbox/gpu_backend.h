// The backend of a machine with an NVIDIA GPU: the PTX that the compiler made becomes machine code for the
// device (assembler.h), and processes of ours, each with a context in a box of its own (gpu_process.h), run
// traces with it on secret inputs. A run has fresh modules, memory and addresses; a context that saw a fault,
// or a kernel without end, goes with its process, and another one starts. It makes plain runs, whatever else
// a request asks for: what a device cannot say, the PTX machine can (routed_backend.h).
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

#include "sandbox/assembler.h"
#include "sandbox/backend.h"
#include "sandbox/draw_files.h"
#include "sandbox/gpu_process.h"

namespace bicrl {

struct GpuOptions {
  int device = 0;                          // as the driver numbers them
  int processes = 2;                       // contexts: one makes ready while another one's kernels run
  double run_s = 10;                       // of one run on the device; a kernel that takes longer is ended
  uint64_t max_buffer_bytes = 2ull << 30;  // what a trace may allocate
  uint64_t process_memory_bytes = 16ull << 30;  // of the host, for each process
};

class GpuBackend : public Backend {
 public:
  // Waits for the device. Throws Error(kUnavailable) with one line if there is none that can be used.
  // `libraries`: DeviceToolchain::libraries. `host` and `scratch` outlive this.
  GpuBackend(BoxHost& host, ScratchFolder& scratch, std::shared_ptr<DrawFiles> draws,
             const std::filesystem::path& libraries, const GpuOptions& options);
  const BackendFeatures& features() const override { return features_; }
  RunResult run(const RunPlan& plan, std::stop_token stop) override;

 private:
  class Seat;
  std::unique_ptr<GpuProcess> start() const;
  void describe(const nlohmann::json& hello);
  std::unique_ptr<GpuProcess> take(std::stop_token stop);
  void give_back(std::unique_ptr<GpuProcess> process);
  void replace(std::unique_ptr<GpuProcess> process);
  bool assemble(const RunPlan& plan, std::stop_token stop, RunResult& result,
                std::vector<std::shared_ptr<const std::string>>& code);
  void execute(const RunPlan& plan, std::stop_token stop, RunResult& result);
  void silent(RunResult& result, std::stop_token stop);

  BoxHost& host_;
  std::shared_ptr<DrawFiles> draws_;
  GpuOptions options_;
  BackendFeatures features_;
  std::unique_ptr<Assembler> assembler_;
  std::shared_ptr<const std::string> poison_;  // machine code of gpu/shared_poison.h
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::unique_ptr<GpuProcess>> free_;
};

}  // namespace bicrl
