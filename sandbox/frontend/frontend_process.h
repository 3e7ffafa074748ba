// The CUDA front end: a warm boxed process that holds NVRTC with its headers precompiled, and forks a child
// for each program's CUDA text. Text can make a compiler read files, crash, or run without end: the child
// sees nothing but headers, is bounded in everything, and its end is the fault of its text.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "sandbox/box/zygote.h"
#include "sandbox/frontend/device/cubin_resources.h"
#include "sandbox/frontend/device_toolchain.h"
#include "sandbox/frontend/split/splitter.h"
#include "verdict/fault/fault.h"

namespace bicrl {

struct FrontendOptions {
  int cpu_s = 20;
  double wall_s = 120;  // far beyond cpu_s, so that a busy machine's waiting is nobody's fault
  uint64_t memory_bytes = 1ull << 30;
};

struct FrontendSplit {
  Fault fault;
  SplitProgram program;
};

struct FrontendDevice {
  Fault fault;
  std::string ptx;
  bool cut = false;    // host functions had to be left out
  bool ended = false;  // of a fault: it had no answer when it ended, or was ended by a limit
};

// One program's child. Used by one thread, split() before device() before resources().
class FrontendJob {
 public:
  FrontendSplit split(std::stop_token stop = {});
  // Meaningful if the split has no issues and device code was asked for.
  FrontendDevice device(std::stop_token stop = {});
  // Meaningful if there is device code and an architecture was named: what kernels need there, by entry, as
  // far as it is known. Nothing: the child had to be ended before it knew.
  std::optional<std::map<std::string, KernelResources>> resources(std::stop_token stop = {});

 private:
  friend class FrontendProcess;
  explicit FrontendJob(std::unique_ptr<ZygoteChild> child) : child_(std::move(child)) {}
  Fault end();
  std::unique_ptr<ZygoteChild> child_;
};

// Thread-safe.
class FrontendProcess {
 public:
  FrontendProcess(BoxHost& host, const PythonInstall& python, const DeviceToolchain& toolchain,
                  const FrontendOptions& options);
  // Starts work on a program. Failure is infrastructure.
  // `architecture`: such as "sm_90", to learn what kernels need there; "" asks for nothing. What it costs
  // counts against the limits of the program: whoever was ended may do without.
  Result<FrontendJob> begin(const CudaProgram& program, bool device_code, std::stop_token stop = {},
                            const std::string& architecture = "");
  // Ends a job whose answers are known without waiting for its memory to be torn down.
  void dismiss(FrontendJob job);
  const Zygote& zygote() const { return zygote_; }

 private:
  std::vector<std::string> wishes(const CudaProgram& program, const std::string& architecture);
  FrontendOptions options_;
  Zygote zygote_;
  std::mutex mutex_;
  std::map<std::string, int> known_architectures_;  // to the interpreter that was started as the so-manyth
};

}  // namespace bicrl
