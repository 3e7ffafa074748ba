// The backend of a machine with an NVIDIA GPU: the PTX that the compiler made becomes machine code for the
// device (assembler.h), and processes of ours, each with a context in a box of its own (gpu_process.h), run
// traces with it on secret inputs. A run has fresh modules, memory and addresses; a context that saw a fault,
// or a kernel without end, goes with its process, and another one starts. It makes plain runs, whatever else
// a request asks for; the PTX interpreter makes the instrumented ones (routed_backend.h).
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

#include "sandbox/gpu/assembler.h"
#include "sandbox/gpu/baseline.h"
#include "sandbox/gpu/device_lease.h"
#include "sandbox/gpu/device_monitor.h"
#include "sandbox/gpu/gpu_process.h"
#include "sandbox/gpu/job_files.h"
#include "sandbox/verifier/backend.h"
#include "sandbox/verifier/input_files.h"

namespace bicrl {

struct GpuTimingOptions {
  bool on = false;             // whether there are windows in which programs are timed
  bool torch_compile = false;  // as a second baseline
  timing::WindowOptions window = {};
  BaselineOptions baseline = {};
};

struct GpuOptions {
  int device = 0;                          // as the driver numbers them
  int processes = 2;                       // contexts: one makes ready while another one's kernels run
  double run_s = 10;                       // of one run on the device; a kernel that takes longer is ended
  uint64_t max_buffer_bytes = 2ull << 30;  // what a trace may allocate
  uint64_t process_memory_bytes = 16ull << 30;  // of the host, for each process
  double sanitizer_s = 60;                      // of a program's kernels under a tool of compute-sanitizer
  GpuTimingOptions timing = {};  // the references are on the same device, unless their options name another
};

// One for each architecture, so that devices of one model share what was assembled.
using AssemblerFor = std::function<std::shared_ptr<Assembler>(const std::string& architecture)>;

class GpuBackend : public Backend {
 public:
  // Waits for the device. Throws Error(kUnavailable) with one line if there is none that can be used.
  // `python` is that of tasks' references, with a torch that knows CUDA if programs are to be timed. All
  // references outlive this.
  GpuBackend(BoxHost& host, std::shared_ptr<InputFiles> inputs, const PythonInstall& python,
             const AssemblerFor& assembler, const GpuOptions& options);
  const BackendFeatures& features() const override { return features_; }
  RunResult run(const RunPlan& plan, std::stop_token stop) override;
  TimingResult time(const TimingPlan& plan, std::stop_token stop) override;
  OwnSizeResult judge_own_size(const OwnSizePlan& plan, std::stop_token stop) override;
  SanitizerReport sanitize(const RunPlan& plan, const std::vector<std::string>& tools,
                           std::stop_token stop) override;
  std::vector<BackendDevice> devices() const override;
  // A device that was lost (RunResult::device_lost) runs nothing until this finds it well, and what it was.
  bool revive(std::stop_token stop);

 private:
  class ProcessLease;
  class Window;   // gpu_window.cpp
  class OwnSize;  // gpu_own_size.cpp
  std::unique_ptr<GpuProcess> start() const;
  void describe(const nlohmann::json& hello);
  void start_clock(const nlohmann::json& hello);
  void find_tools();
  std::unique_ptr<GpuProcess> take(std::stop_token stop);
  void give_back(std::unique_ptr<GpuProcess> process);
  void replace(std::unique_ptr<GpuProcess> process);
  // Until no free process makes a context any more, which would disturb times.
  void await_contexts(const std::stop_token& stop);
  // A program's windows, which are counted, behind that.
  timing::WindowResult conduct(const timing::WindowSetting& setting, const timing::WindowOptions& options,
                               const std::stop_token& stop);
  // `failed` where there is no machine code, with the reason in the others' terms.
  struct Assembled {
    std::vector<std::shared_ptr<const std::string>> code;
    MachineCode failed;
    bool done = false;
  };
  Assembled assemble(const std::vector<DeviceModule>& modules, std::stop_token stop);
  // What every plan for the loader holds.
  nlohmann::json describe_program(const Trace& trace, const std::vector<DeviceModule>& modules,
                                  const Assembled& assembled, JobFiles& files) const;
  std::string too_large(const Trace& trace) const;
  double least_ms(uint64_t read_bytes, uint64_t written_bytes) const;
  Baseline& own_size_references();
  void execute(const RunPlan& plan, std::stop_token stop, RunResult& result);
  // What has become of a process that had the device.
  struct ProcessUse {
    bool is_reusable = false;
    bool is_silent = false;
  };
  // Waits until nobody else works on the device, and has `work` done with a process of the loader. Returns
  // what has kept it from being done, or whose fault it is that the process fell silent.
  Fault use_alone(std::stop_token stop, const std::function<ProcessUse(GpuProcess&)>& work);
  SanitizerReport watch(const RunPlan& plan, const Assembled& assembled, const std::string& tool,
                        std::stop_token stop);
  // Whose fault it is that a process of the loader says nothing.
  Fault silent(std::stop_token stop);
  bool is_lost(std::stop_token stop);
  std::string why_no_process() const;

  BoxHost& host_;
  std::shared_ptr<InputFiles> input_files_;
  GpuOptions options_;
  BackendFeatures features_;
  nlohmann::json hello_;  // what the first process said of the device
  std::shared_ptr<Assembler> assembler_;
  std::shared_ptr<const std::string> poison_;   // machine code of gpu/loader/shared_poison.h,
  std::shared_ptr<const std::string> nothing_;  // and of gpu/loader/device_clock.h
  std::string bus_;                             // where the device is on it
  std::unique_ptr<DeviceLease> lease_;
  // Of backends that time.
  const PythonInstall& python_;
  std::unique_ptr<Baseline> baseline_;
  std::unique_ptr<Baseline> own_size_references_;  // starts with the first task that needs it
  std::unique_ptr<DeviceMonitor> monitor_;
  uint64_t l2_bytes_ = 0;
  double memory_gb_per_s_ = 0;       // 0: the driver does not say
  std::filesystem::path sanitizer_;  // compute-sanitizer's folder; empty: there is none
  std::atomic<int64_t> runs_ = 0, windows_ = 0, repeated_windows_ = 0, sanitized_ = 0,
                       sanitizer_findings_ = 0;
  std::timed_mutex watching_;  // one program at a time: tools take memory of the device beside the program's
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::unique_ptr<GpuProcess>> free_;
  std::string trouble_;  // why the device is lost; empty: it is not
};

}  // namespace bicrl
