#include "sandbox/gpu/gpu_backend.h"

#include <algorithm>
#include <iterator>

#include "common/clock.h"
#include "common/device_lock.h"
#include "common/log.h"
#include "sandbox/gpu/loader/device_clock.h"
#include "sandbox/gpu/loader/shared_poison.h"
#include "sandbox/gpu/process_lease.h"
#include "sandbox/verifier/run_report.h"

namespace bicrl {
namespace {

constexpr int kOldestArchitecture = 90;  // of DeviceCompilerOptions::architecture
constexpr int kOldestDriver = 13000;     // that reads machine code of torch's wheels

void infrastructure(RunResult& result, const std::string& reason) {
  result.fault = Fault::infrastructure(reason);
}

[[noreturn]] void unavailable(const std::string& reason) {
  throw Error(concat("the backend `gpu` cannot be used: ", reason, ". `backend: ptx` works without a GPU"),
              ExitCode::kUnavailable);
}

}  // namespace

GpuBackend::GpuBackend(BoxHost& host, std::shared_ptr<InputFiles> inputs, const PythonInstall& python,
                       const AssemblerFor& assembler, const GpuOptions& options)
    : host_(host), input_files_(std::move(inputs)), options_(options), python_(python) {
  BaselineOptions& references = options_.timing.baseline;
  if (references.device.empty()) references.device = concat("cuda:", options_.device);
  // It takes longest, and starts beside the rest.
  if (options_.timing.on) baseline_ = std::make_unique<Baseline>(host, python, references);
  free_.push_back(start());
  const auto hello = free_.front()->hello(kGpuStart_s, {});
  if (!hello) unavailable(hello.reason());
  hello_ = hello.value();
  describe(hello_);
  assembler_ = assembler(hello_.at("architecture"));
  const auto own = [&](const char* text) {
    MachineCode made = assembler_->assemble(text);
    if (!made.code) unavailable("no machine code can be made for it: " + made.fault.reason);
    return made.code;
  };
  poison_ = own(gpu::kSharedPoisonText);
  nothing_ = own(gpu::kNothingText);
  bus_ = hello_.at("bus");
  lease_ = std::make_unique<DeviceLease>(bus_);
  if (!lease_->problem().empty())
    features_.missing.push_back(concat("lease: ", lease_->problem(),
                                       ", so other servers of this host do not wait while one of them times: "
                                       "run one server for each device"));
  if (const std::string problem = problem_of_device_locks(bus_); baseline_ && !problem.empty())
    features_.missing.push_back(concat("device lock: ", problem,
                                       ", so a policy that works on this GPU does not wait ",
                                       "for windows, nor they for it: have no policy there"));
  if (baseline_) start_clock(hello_);
  find_tools();
  for (int i = 1; i < options.processes; ++i) free_.push_back(start());
}

std::unique_ptr<GpuProcess> GpuBackend::start() const {
  return std::make_unique<GpuProcess>(host_, options_.device, options_.process_memory_bytes);
}

void GpuBackend::describe(const nlohmann::json& hello) {
  const std::string device = hello.at("device"), architecture = hello.at("architecture");
  const int driver = hello.at("driver");
  const std::string version = concat(driver / 1000, ".", driver % 1000 / 10);
  if (architecture.size() < 5 || std::stoi(architecture.substr(3)) < kOldestArchitecture)
    unavailable(concat(device, " is of architecture ", architecture, ", device code is compiled for sm_",
                       kOldestArchitecture, " and later ones"));
  if (driver < kOldestDriver)
    unavailable(concat("the driver knows CUDA ", version, " and machine code is of CUDA ",
                       kOldestDriver / 1000, ": install a newer driver"));
  features_.judges_own_sizes = hello.at("shares_memory").get<bool>();
  features_.name = concat("gpu/", device, "/", architecture, "/driver-", version,
                          features_.judges_own_sizes ? concat("/own-sizes-", kOwnSizesVersion) : "");
  features_.shadows = features_.watches_reads = features_.counts = false;
  features_.present = {concat("gpu ", options_.device, ": ", device, ", ", architecture, ", CUDA ", version,
                              ", ", hello.at("memory_bytes").get<uint64_t>() >> 30, " GiB")};
  if (features_.judges_own_sizes)
    features_.present.push_back("own-sizes: of tasks that are too large for references on the CPU");
  else
    features_.missing.push_back(
        "own-sizes: the driver shares no memory between processes, so tasks that are too large for "
        "references "
        "on the CPU are judged at reduced sizes");
  if (hello.at("reaches_host_memory").get<bool>())
    features_.missing.push_back(
        "host-memory: kernels can reach the memory of the process that holds the device (heterogeneous "
        "memory "
        "management), so each candidate has one of its own; load the module nvidia-uvm with "
        "uvm_disable_hmm=1");
}

void GpuBackend::start_clock(const nlohmann::json& hello) {
  const auto references = Baseline::Session(*baseline_, {}).hello();
  if (!references)
    unavailable(
        concat("programs cannot be timed (gpu.measure_times=false does without): ", references.reason()));
  l2_bytes_ = hello.at("l2_bytes");
  memory_gb_per_s_ = hello.at("memory_gb_per_s");
  monitor_ = std::make_unique<DeviceMonitor>(hello.at("bus"));
  const std::string device = hello.at("device");
  features_.clock_device = concat(device, ", windows ", timing::kWindowsVersion,
                                  options_.timing.torch_compile ? " with torch.compile" : "");
  features_.present.push_back(concat("times: beside eager PyTorch",
                                     options_.timing.torch_compile ? " and torch.compile" : "", " of torch ",
                                     references.value().at("torch").get<std::string>()));
  if (monitor_->problem().empty())
    features_.present.emplace_back("nvml: clocks and throttling of timed windows");
  else
    features_.missing.push_back(concat("nvml: ", monitor_->problem(),
                                       ", so a window that was throttled is not seen: mount the driver's "
                                       "libraries (docker: the capability `utility`)"));
}

// Nothing if a stop is asked for, or the device is lost.
std::unique_ptr<GpuProcess> GpuBackend::take(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait(lock, stop, [this] { return !free_.empty() || !trouble_.empty(); }) || !trouble_.empty())
    return nullptr;
  auto process = std::move(free_.back());
  free_.pop_back();
  return process;
}

void GpuBackend::give_back(std::unique_ptr<GpuProcess> process) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(process));
  changed_.notify_one();
}

// The next one starts before the last one has ended: a context takes a moment. Where none can be started (no
// descriptors are left) the last one keeps the process: whoever asks it finds it gone, and tries again.
void GpuBackend::replace(std::unique_ptr<GpuProcess> process) {
  std::unique_ptr<GpuProcess> next;
  try {
    next = start();
  } catch (const std::exception& error) {
    log_warning("a process for the GPU cannot be started: ", error.what());
    next = std::move(process);
    next->end();
  }
  // First, since an end may have to be waited for. Whoever asks next gets one that has started, if there is
  // any.
  {
    const std::lock_guard lock(mutex_);
    free_.insert(free_.begin(), std::move(next));
    changed_.notify_one();
  }
  process.reset();
}

void GpuBackend::await_contexts(const std::stop_token& stop) {
  std::vector<std::unique_ptr<GpuProcess>> waiting;
  {
    const std::lock_guard lock(mutex_);
    waiting.swap(free_);
  }
  for (const auto& process : waiting) (void)process->hello(kGpuStart_s, stop);
  const std::lock_guard lock(mutex_);
  std::ranges::move(waiting, std::inserter(free_, free_.begin()));
  changed_.notify_all();
}

RunResult GpuBackend::run(const RunPlan& asked, std::stop_token stop) {
  const Stopwatch clock;
  RunResult result;
  ++runs_;
  RunPlan plan = asked;
  for (RunRequest& run : plan.runs) run.shadows = run.watch_reads = run.count = false;
  if (const std::string problem = too_large(*plan.trace); !problem.empty()) {
    result.fault = Fault::of_program(FaultClass::kMemory, problem);
    return result;
  }
  try {
    execute(plan, stop, result);
  } catch (const nlohmann::json::exception&) {
    infrastructure(result, "the report of the GPU's process is malformed");
  } catch (const Error& error) {
    infrastructure(result, error.what());
  }
  result.device_lost = result.fault.is_infrastructure() && !stop.stop_requested() && is_lost(stop);
  result.run_ms = clock.ms();
  return result;
}

std::string GpuBackend::too_large(const Trace& trace) const {
  const uint64_t buffers = trace.buffer_bytes();
  if (buffers <= options_.max_buffer_bytes) return {};
  return concat("allocates ", buffers >> 20, " MiB of device memory, over the limit of ",
                options_.max_buffer_bytes >> 20, " MiB");
}

GpuBackend::Assembled GpuBackend::assemble(const std::vector<DeviceModule>& modules, std::stop_token stop) {
  Assembled assembled;
  for (const DeviceModule& module : modules) {
    MachineCode made = assembler_->assemble(*module.ptx, stop);
    if (!made.code) {
      assembled.failed = std::move(made);
      return assembled;
    }
    assembled.code.push_back(std::move(made.code));
  }
  assembled.done = true;
  return assembled;
}

nlohmann::json GpuBackend::describe_program(const Trace& trace, const std::vector<DeviceModule>& modules,
                                            const Assembled& assembled, JobFiles& files) const {
  nlohmann::json asked{{"limit_s", options_.run_s},
                       {"max_bytes", options_.max_buffer_bytes},
                       {"ptx", nlohmann::json::array()},
                       {"code", nlohmann::json::array()},
                       {"test_inputs", nlohmann::json::array()}};
  asked["trace"] = files.add(std::string_view(trace.encode()));
  for (size_t i = 0; i < modules.size(); ++i) {
    asked["ptx"].push_back(files.add(std::string_view(*modules[i].ptx)));
    asked["code"].push_back(files.add(std::string_view(*assembled.code[i])));
  }
  asked["poison"] = files.add(std::string_view(*poison_));
  return asked;
}

void GpuBackend::execute(const RunPlan& plan, std::stop_token stop, RunResult& result) {
  const Assembled assembled = assemble(plan.modules, stop);
  if (!assembled.done) {
    result.fault = assembled.failed.fault;
    return;
  }
  JobFiles files;
  nlohmann::json asked = describe_program(*plan.trace, plan.modules, assembled, files);
  asked["runs"] = nlohmann::json::array();
  for (const InputLeaves& test_input : plan.test_inputs) {
    auto file = input_files_->file(plan.trace->inputs, test_input);
    if (!file) return infrastructure(result, file.reason());
    asked["test_inputs"].push_back(files.add(std::move(file.value())));
  }
  for (const RunRequest& run : plan.runs) asked["runs"].push_back(to_json(run));
  const size_t outputs = files.add(make_memfd("outputs")), control = files.add(make_memfd("control"));
  asked["output_file"] = outputs;
  asked["control_file"] = control;
  const size_t number = files.add(std::string_view(asked.dump()));

  GpuProcess::Reply reply;
  std::string ended;
  {
    DeviceLease::Hold hold;  // given back last: until its process has ended a kernel may run
    ProcessLease process(*this, stop);
    if (!process) return infrastructure(result, why_no_process());
    if (const auto hello = process->hello(kGpuStart_s, stop); !hello)
      return infrastructure(result, "GPU: " + hello.reason());
    hold = lease_->share(stop);
    if (!hold) return infrastructure(result, "cancelled");
    const double patience_s = static_cast<double>(plan.runs.size()) * options_.run_s + kGpuGrace_s;
    reply = process->ask(files.numbers(), number, patience_s, stop);
    if (reply.kind == GpuProcess::Reply::Kind::kDone && !reply.retire) process.keep();
    if (reply.kind == GpuProcess::Reply::Kind::kGone) ended = process->end();
  }
  switch (reply.kind) {
    case GpuProcess::Reply::Kind::kCancelled:
      return infrastructure(result, "cancelled");
    case GpuProcess::Reply::Kind::kGone:
      return infrastructure(result, "the GPU's process " + ended);
    case GpuProcess::Reply::Kind::kSilent:
      result.fault = silent(stop);
      return;
    case GpuProcess::Reply::Kind::kDone:
      break;
  }
  const auto said = nlohmann::json::parse(read_whole(files.numbers()[control]));
  if (said.contains("error")) return infrastructure(result, said["error"]);
  if (said.contains("unsupported")) {
    result.fault = Fault::of_program(FaultClass::kUnsupported, said["unsupported"]);
    return;
  }
  read_runs(said, plan, read_whole(files.numbers()[outputs]), result);
}

Fault GpuBackend::use_alone(std::stop_token stop, const std::function<ProcessUse(GpuProcess&)>& work) {
  {
    // Before there is a process, which other programs' runs can use as long as ranks work on the device.
    const DeviceLock lock = DeviceLock::alone(bus_, stop);
    if (!lock) return Fault::infrastructure("cancelled");
    DeviceLease::Hold hold;  // given back last: until its process has ended a kernel may run
    ProcessLease process(*this, stop);
    if (!process) return Fault::infrastructure(why_no_process());
    if (const auto hello = process->hello(kGpuStart_s, stop); !hello)
      return Fault::infrastructure("GPU: " + hello.reason());
    hold = lease_->take(stop);
    if (!hold) return Fault::infrastructure("cancelled");
    const ProcessUse use = work(*process);
    if (use.is_reusable) process.keep();
    if (!use.is_silent) return {};
  }
  return silent(stop);
}

// A process that meets none of its own limits hangs in the driver. If another one gets a context, the device
// is well, and what hung was this program's.
Fault GpuBackend::silent(std::stop_token stop) {
  const auto another = start();
  const auto hello = another->hello(kGpuStart_s, stop);
  if (!hello) return Fault::infrastructure("GPU: " + hello.reason());
  return Fault::of_program(FaultClass::kTimeout,
                           "the device has not come back from the kernels within their limit");
}

std::string GpuBackend::why_no_process() const {
  const std::lock_guard lock(mutex_);
  return trouble_.empty() ? "cancelled" : concat("GPU ", options_.device, " is lost: ", trouble_);
}

// A process that starts anew shows it: behind each failure there is one. Two, as somebody may have ended the
// first; but a device that does not answer has had its time.
bool GpuBackend::is_lost(std::stop_token stop) {
  std::string trouble;
  const Stopwatch clock;
  for (int attempt = 0; attempt < 2 && clock.seconds() < kGpuStart_s / 2; ++attempt) {
    trouble.clear();
    ProcessLease process(*this, stop);
    if (!process) break;
    const auto hello = process->hello(kGpuStart_s, stop);
    if (hello) {
      process.keep();
      break;
    }
    if (!stop.stop_requested()) trouble = hello.reason();
  }
  const std::lock_guard lock(mutex_);
  if (!trouble.empty() && trouble_.empty()) {
    trouble_ = trouble;
    changed_.notify_all();  // who waits for a process goes elsewhere
    log_warning("GPU ", options_.device, " is lost: ", trouble_);
  }
  return !trouble_.empty();
}

bool GpuBackend::revive(std::stop_token stop) try {
  auto process = start();
  const auto hello = process->hello(kGpuStart_s, stop);
  if (!hello || hello.value() != hello_) return false;
  // What waits in a free process may be from before.
  std::vector<std::unique_ptr<GpuProcess>> fresh;
  fresh.push_back(std::move(process));
  for (int i = 1; i < options_.processes; ++i) fresh.push_back(start());
  {
    const std::lock_guard lock(mutex_);
    std::swap_ranges(free_.begin(), free_.end(), fresh.begin());
    trouble_.clear();
  }
  changed_.notify_all();
  log_info("GPU ", options_.device, " works again");
  return true;
} catch (const std::exception& error) {
  log_warning("GPU ", options_.device, ": ", error.what());
  return false;
}

std::vector<BackendDevice> GpuBackend::devices() const {
  const std::lock_guard lock(mutex_);
  return {{.name = std::to_string(options_.device),
           .trouble = trouble_,
           .contexts = trouble_.empty() ? options_.processes : 0,
           .runs = runs_,
           .windows = windows_,
           .repeated_windows = repeated_windows_,
           .sanitized = sanitized_,
           .sanitizer_findings = sanitizer_findings_}};
}

}  // namespace bicrl
