#include "sandbox/gpu_backend.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "common/clock.h"
#include "common/log.h"
#include "sandbox/gpu/shared_poison.h"
#include "sandbox/run_report.h"

namespace bicrl {
namespace {

// A context takes about a second; a busy machine's takes longer.
constexpr double kStart_s = 60;
// Beside its runs' own limits: modules, copies and comparisons.
constexpr double kGrace_s = 30;
constexpr int kOldestArchitecture = 90;  // of DeviceCompilerOptions::architecture
constexpr int kOldestDriver = 13000;     // that reads machine code of torch's wheels

void infrastructure(RunResult& result, const std::string& reason) {
  result.infrastructure = true;
  result.reason = reason;
}

void fault(RunResult& result, const std::string& fault_class, const std::string& reason) {
  result.fault_class = fault_class;
  result.reason = reason;
}

[[noreturn]] void unavailable(const std::string& reason) {
  throw Error(concat("the backend `gpu` cannot be used: ", reason, ". `backend: ptx` works without a GPU"),
              ExitCode::kUnavailable);
}

// What a request's files are, by number.
class JobFiles {
 public:
  size_t add(std::string_view bytes) { return add(make_memfd("gpu-job", bytes)); }
  size_t add(UniqueFd fd) {
    owned_.push_back(std::move(fd));
    numbers_.push_back(owned_.back().get());
    return numbers_.size() - 1;
  }
  size_t add(std::shared_ptr<const ScratchFile> file) {
    UniqueFd fd(open(file->path().c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) throw Error(concat("the inputs' file: ", strerror(errno)));
    return add(std::move(fd));
  }
  const std::vector<int>& numbers() const { return numbers_; }

 private:
  std::vector<UniqueFd> owned_;
  std::vector<int> numbers_;
};

}  // namespace

// A process for the length of a request.
class GpuBackend::Seat {
 public:
  Seat(GpuBackend& backend, std::stop_token stop) : backend_(backend), process_(backend.take(stop)) {}
  ~Seat() {
    if (!process_) return;
    if (good_)
      backend_.give_back(std::move(process_));
    else
      backend_.replace(std::move(process_));
  }
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;
  GpuProcess* operator->() const { return process_.get(); }
  explicit operator bool() const { return process_ != nullptr; }
  void keep() { good_ = true; }

 private:
  GpuBackend& backend_;
  std::unique_ptr<GpuProcess> process_;
  bool good_ = false;
};

GpuBackend::GpuBackend(BoxHost& host, ScratchFolder& scratch, std::shared_ptr<DrawFiles> draws,
                       const std::filesystem::path& libraries, const GpuOptions& options)
    : host_(host), draws_(std::move(draws)), options_(options) {
  free_.push_back(start());
  const auto hello = free_.front()->hello(kStart_s, {});
  if (!hello) unavailable(hello.reason());
  describe(hello.value());
  assembler_ = std::make_unique<Assembler>(host, scratch, libraries, hello.value().at("architecture"));
  MachineCode poison = assembler_->assemble(gpu::kSharedPoisonText);
  if (!poison.code) unavailable("no machine code can be made for it: " + poison.reason);
  poison_ = std::move(poison.code);
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
  features_.name = concat("gpu/", device, "/", architecture, "/driver-", version);
  features_.shadows = features_.watches_reads = features_.counts = false;
  features_.present = {concat("gpu: ", device, ", ", architecture, ", CUDA ", version, ", ",
                              hello.at("memory_bytes").get<uint64_t>() >> 30, " GiB")};
  if (hello.at("reaches_host_memory").get<bool>())
    features_.missing.push_back(
        "host-memory: kernels can reach the memory of the process that holds the device (heterogeneous "
        "memory "
        "management), so each candidate has one of its own; load the module nvidia-uvm with "
        "uvm_disable_hmm=1");
  features_.missing.push_back(
      "gpu-timing: times are modelled, not measured, also where candidates run on the GPU (`cost_device`)");
}

// Nothing if a stop is asked for.
std::unique_ptr<GpuProcess> GpuBackend::take(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait(lock, stop, [this] { return !free_.empty(); })) return nullptr;
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
// descriptors are left) the last one keeps the seat: whoever asks it finds it gone, and tries again.
void GpuBackend::replace(std::unique_ptr<GpuProcess> process) {
  std::unique_ptr<GpuProcess> next;
  try {
    next = start();
  } catch (const std::exception& error) {
    log_warning("a process for the GPU cannot be started: ", error.what());
    next = std::move(process);
    next->end();
  }
  // First, since an end may have to be waited for.
  give_back(std::move(next));
  process.reset();
}

RunResult GpuBackend::run(const RunPlan& asked, std::stop_token stop) {
  const Stopwatch clock;
  RunResult result;
  RunPlan plan = asked;
  for (RunRequest& run : plan.runs) run.shadows = run.watch_reads = run.count = false;
  const uint64_t buffers = plan.trace->buffer_bytes();
  if (buffers > options_.max_buffer_bytes) {
    fault(result, "memory",
          concat("allocates ", buffers >> 20, " MiB of device memory, over the limit of ",
                 options_.max_buffer_bytes >> 20, " MiB"));
    return result;
  }
  try {
    execute(plan, stop, result);
  } catch (const nlohmann::json::exception&) {
    infrastructure(result, "the report of the GPU's process is malformed");
  } catch (const Error& error) {
    infrastructure(result, error.what());
  }
  result.run_ms = clock.ms();
  return result;
}

bool GpuBackend::assemble(const RunPlan& plan, std::stop_token stop, RunResult& result,
                          std::vector<std::shared_ptr<const std::string>>& code) {
  for (const DeviceModule& module : plan.modules) {
    MachineCode made = assembler_->assemble(*module.ptx, stop);
    if (made.infrastructure)
      infrastructure(result, made.reason);
    else if (!made.code)
      fault(result, made.fault_class, made.reason);
    if (!made.code) return false;
    code.push_back(std::move(made.code));
  }
  return true;
}

void GpuBackend::execute(const RunPlan& plan, std::stop_token stop, RunResult& result) {
  std::vector<std::shared_ptr<const std::string>> code;
  if (!assemble(plan, stop, result, code)) return;
  JobFiles files;
  nlohmann::json asked{{"limit_s", options_.run_s},        {"max_bytes", options_.max_buffer_bytes},
                       {"ptx", nlohmann::json::array()},   {"code", nlohmann::json::array()},
                       {"draws", nlohmann::json::array()}, {"runs", nlohmann::json::array()}};
  asked["trace"] = files.add(std::string_view(plan.trace->encode()));
  for (size_t i = 0; i < plan.modules.size(); ++i) {
    asked["ptx"].push_back(files.add(std::string_view(*plan.modules[i].ptx)));
    asked["code"].push_back(files.add(std::string_view(*code[i])));
  }
  asked["poison"] = files.add(std::string_view(*poison_));
  for (const DrawInputs& draw : plan.draws) {
    auto file = draws_->file(plan.trace->inputs, draw);
    if (!file) return infrastructure(result, file.reason());
    asked["draws"].push_back(files.add(std::move(file.value())));
  }
  for (const RunRequest& run : plan.runs) asked["runs"].push_back(to_json(run));
  const size_t outputs = files.add(make_memfd("outputs")), control = files.add(make_memfd("control"));
  asked["output_file"] = outputs;
  asked["control_file"] = control;
  const size_t number = files.add(std::string_view(asked.dump()));

  GpuProcess::Reply reply;
  std::string ended;
  {
    Seat seat(*this, stop);
    if (!seat) return infrastructure(result, "cancelled");
    if (const auto hello = seat->hello(kStart_s, stop); !hello)
      return infrastructure(result, "GPU: " + hello.reason());
    const double patience_s = static_cast<double>(plan.runs.size()) * options_.run_s + kGrace_s;
    reply = seat->ask(files.numbers(), number, patience_s, stop);
    if (reply.kind == GpuProcess::Reply::Kind::kDone && !reply.retire) seat.keep();
    if (reply.kind == GpuProcess::Reply::Kind::kGone) ended = seat->end();
  }
  switch (reply.kind) {
    case GpuProcess::Reply::Kind::kCancelled:
      return infrastructure(result, "cancelled");
    case GpuProcess::Reply::Kind::kGone:
      return infrastructure(result, "the GPU's process " + ended);
    case GpuProcess::Reply::Kind::kSilent:
      return silent(result, stop);
    case GpuProcess::Reply::Kind::kDone:
      break;
  }
  const auto said = nlohmann::json::parse(read_whole(files.numbers()[control]));
  if (said.contains("error")) return infrastructure(result, said["error"]);
  if (said.contains("unsupported")) return fault(result, "unsupported", said["unsupported"]);
  read_runs(said, plan, read_whole(files.numbers()[outputs]), result);
}

// A process that meets none of its own limits hangs in the driver. If another one gets a context, the device
// is well, and what hung was this program's.
void GpuBackend::silent(RunResult& result, std::stop_token stop) {
  const auto another = start();
  const auto hello = another->hello(kStart_s, stop);
  if (!hello) return infrastructure(result, "GPU: " + hello.reason());
  fault(result, "timeout", "the device has not come back from the kernels within their limit");
}

}  // namespace bicrl
