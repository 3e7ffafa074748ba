// KernelBench's own protocol: a program is built by the machine's PyTorch (its load_inline, nvcc), compared
// with the reference in the same process, and timed there (runtimes/stock_protocol.py). It TRUSTS THE
// PROGRAM: a result is worth what the program's honesty is, and says so. For figures that compare with
// published ones; rewards never come from here. The box confines the program as any other, so the machine is
// safe from it.
//
// Follows KernelBench at revision 423217d: seed 42; correctness on fresh inputs within 1e-4 in fp32 and 1e-2
// in fp16 and bf16, absolute and relative; 3 calls to warm up, one trial discarded, L2 flushed before each,
// the mean of CUDA events. It differs in that each program has a build folder and a process of its own, so
// that a compiler's message that speaks of a lock is a compilation error, and what ends the process has a
// record.
#pragma once
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>

#include "common/error.h"
#include "sandbox/box/box.h"
#include "sandbox/box/python_install.h"
#include "sandbox/gpu/device_lease.h"

namespace bicrl {

struct StockOptions {
  std::string device = "cuda:0";   // as PyTorch names it; "cpu": without CUDA, on the host's clock
  std::string precision = "fp32";  // "fp16", "bf16"
  double tolerance = 0;            // absolute and relative; 0: that of the precision
  int correctness_trials = 5;
  int timing_trials = 100;
  double timeout_s = 180;               // of a program's build, and once more of what follows it
  uint64_t memory_bytes = 64ull << 30;  // of the host, compilers included
  int build_jobs = 1;                   // programs that are built at a time: they divide the cores
};

// Programs of several threads are built side by side and graded one by one, each alone on the device and
// beside nobody's compilers, as references are timed: no build begins while a program waits for its turn.
// Thread-safe.
class StockEvaluator {
 public:
  // Throws Error(kUnavailable) in one line if this machine cannot: no driver, no nvcc, a torch without CUDA.
  // `host` and `python` outlive this.
  StockEvaluator(BoxHost& host, const PythonInstall& python, const StockOptions& options);

  const std::string& hardware() const { return hardware_; }  // the device's name; "cpu"
  int build_jobs() const { return options_.build_jobs; }

  // The reference's times: {"mean", "std", "min", "max", "num_trials", "hardware", "device"}, in
  // milliseconds. No program is in that process. Failure: in one line, why it has none.
  Result<nlohmann::ordered_json> time_reference(const std::string& reference, std::stop_token stop = {});

  // {"compiled", "correctness", "metadata", "runtime", "runtime_stats", "ref_runtime", "ref_runtime_stats"}:
  // whatever is the program's fault is such a record. Failure: the box's own fault, or the stop.
  Result<nlohmann::ordered_json> evaluate(const std::string& reference, const std::string& program,
                                          std::stop_token stop = {});

 private:
  struct Answer {
    BoxResult box;
    nlohmann::ordered_json content = nlohmann::ordered_json::object();  // empty if nothing could be read
  };
  Answer run(const char* mode, const std::string& reference, const std::string& program,
             std::stop_token stop);
  struct Alone {
    DeviceLease::Hold quiet, device;
  };
  BoxSpec box() const;
  Alone take(const std::stop_token& stop);  // empty if a stop is asked for
  void attend(const BoxSpec& spec, int turn, std::stop_token stop, BoxResult& box);
  nlohmann::ordered_json record_of(const Answer& answer) const;
  BoxHost& host_;
  const PythonInstall& python_;
  const StockOptions options_;
  std::filesystem::path library_, toolkit_;  // of the driver; of CUDA. Empty without
  std::string hardware_, device_;
  std::string architectures_;  // of the device, as TORCH_CUDA_ARCH_LIST names them
  // Nobody else times on the device meanwhile; none while it is probed. And who compiles on this host, or
  // times while nobody does; taken first.
  std::unique_ptr<DeviceLease> lease_, compilers_;
};

}  // namespace bicrl
