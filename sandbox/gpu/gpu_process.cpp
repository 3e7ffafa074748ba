#include "sandbox/gpu/gpu_process.h"

#include <unistd.h>

#include <algorithm>

#include "common/clock.h"
#include "common/files/files.h"
#include "common/files/last_lines.h"
#include "sandbox/box/process/descriptor_passing.h"
#include "sandbox/gpu/gpu_box.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr int kChannelFd = 16;
constexpr const char* kSanitizerTarget = "/sanitizer";
constexpr uint64_t kReportBytes = 1 << 20;
constexpr int kReports = 100;           // of a tool; what follows is alike
constexpr int kWatchedProcesses = 256;  // threads count

BoxSpec loader_box(const fs::path& library, const std::string& device, uint64_t memory_bytes) {
  BoxSpec spec = gpu_box(library, memory_bytes);
  spec.argv = {"/gpu/bicrl-gpu-load", std::to_string(kChannelFd), device};
  spec.env.push_back("CUDA_CACHE_DISABLE=1");  // no cache of machine code in files
  spec.mounts.push_back({share_folder() / "gpu" / "bicrl-gpu-load", "/gpu/bicrl-gpu-load"});
  return spec;
}

}  // namespace

GpuProcess::GpuProcess(BoxHost& host, std::optional<int> device, uint64_t memory_bytes) {
  const fs::path library = find_driver_library();
  start_on_gpu(host, library, loader_box(library, device ? std::to_string(*device) : "count", memory_bytes));
}

// The tool and the program that it watches talk through pipes in TMPDIR and a Unix socket without a name in
// the file system, which is the box's own. The box is ended from outside if nothing comes of it.
GpuProcess::GpuProcess(BoxHost& host, int device, uint64_t memory_bytes, const fs::path& sanitizer,
                       const std::string& tool) {
  const fs::path library = find_driver_library();
  BoxSpec spec = loader_box(library, std::to_string(device), memory_bytes);
  const std::string report = spec.work_folder + "/report";
  std::vector<std::string> watched{concat(kSanitizerTarget, "/compute-sanitizer"),
                                   "--tool",
                                   tool,
                                   "--log-file",
                                   report,
                                   "--print-limit",
                                   std::to_string(kReports),
                                   "--demangle",
                                   "no",
                                   "--show-backtrace",
                                   "no",
                                   "--report-api-errors",
                                   "no",
                                   "--check-api-memory-access",  // the loader copies what nobody has written
                                   "no",
                                   "--launch-timeout",
                                   "0",
                                   "--destroy-on-device-error",
                                   "kernel"};
  watched.insert(watched.end(), spec.argv.begin(), spec.argv.end());
  spec.argv = std::move(watched);
  spec.mounts.push_back({sanitizer, kSanitizerTarget});
  for (const auto& variable : {concat("HOME=", spec.work_folder), concat("TMPDIR=", spec.work_folder),
                               std::string("NV_COMPUTE_SANITIZER_LOCAL_CONNECTION_OVERRIDE=uds")})
    spec.env.push_back(variable);
  spec.limits.processes = kWatchedProcesses;
  spec.exports = {{report, kReportBytes}};
  start_on_gpu(host, library, std::move(spec));
}

GpuProcess::GpuProcess(BoxHost& host, const PythonInstall& python, const std::string& script,
                       const std::string& device, uint64_t memory_bytes) {
  const fs::path library = find_driver_library();
  BoxSpec spec = torch_box(library, python, script, {std::to_string(kChannelFd), device}, memory_bytes);
  for (const auto& variable : {std::string("TORCHINDUCTOR_COMPILE_THREADS=1"),
                               concat("TORCHINDUCTOR_CACHE_DIR=", spec.work_folder, "/inductor"),
                               concat("TRITON_CACHE_DIR=", spec.work_folder, "/triton")})
    spec.env.push_back(variable);
  if (device == "cpu")
    start(host, std::move(spec));
  else
    start_on_gpu(host, library, std::move(spec));
}

void GpuProcess::start_on_gpu(BoxHost& host, const fs::path& library, BoxSpec spec) {
  if (!library.empty()) return start(host, std::move(spec));
  hello_ = Result<nlohmann::json>::failure(no_driver());
  ended_ = true;
}

void GpuProcess::start(BoxHost& host, BoxSpec spec) {
  FdPair channel = make_packet_pair();
  channel_ = std::move(channel.ours);
  spec.fds = {{channel.theirs.get(), kChannelFd}};
  box_ = std::thread(&GpuProcess::run, this, std::ref(host), std::move(spec), std::move(channel.theirs));
}

void GpuProcess::run(BoxHost& host, BoxSpec spec, UniqueFd theirs) {
  result_ = run_box(host, spec, stop_.get_token());
  theirs.reset();
  ended_ = true;
}

GpuProcess::~GpuProcess() { end(); }

std::string GpuProcess::finish(double patience_s, const std::stop_token& stop) {
  channel_.reset();
  const Stopwatch clock;
  while (!ended_ && clock.seconds() < patience_s && !stop.stop_requested()) usleep(10'000);
  end();
  return result_.exported.empty() ? "" : result_.exported.front();
}

std::string GpuProcess::end() {
  stop_.request_stop();
  if (!box_.joinable()) return hello_ && !*hello_ ? hello_->reason() : "ended";
  box_.join();
  switch (result_.end) {
    case BoxEnd::kExited:
      return concat("ended with status ", result_.code, " ", last_lines(result_.output));
    case BoxEnd::kSignalled:
      return concat("ended by signal ", result_.code, " ", last_lines(result_.output));
    case BoxEnd::kMemory:
      return "needed more memory than its limit";
    case BoxEnd::kOutputLimit:
    case BoxEnd::kTimeout:
      return "reached a limit of its box";
    case BoxEnd::kCancelled:
      return "was ended";
    case BoxEnd::kBoxFailed:
      return result_.reason;
  }
  return "ended";
}

// The other end of the channel stays open here as long as the box runs, so that its end is not heard there.
GpuProcess::Wait GpuProcess::wait(double patience_s, const std::stop_token& stop) const {
  const Stopwatch clock;
  while (true) {
    const bool ended = ended_;
    if (wait_readable(channel_.get(), std::min(0.05, patience_s), stop)) return Wait::kReadable;
    if (stop.stop_requested()) return Wait::kCancelled;
    if (ended) return Wait::kGone;
    if (clock.seconds() > patience_s) return Wait::kSilent;
  }
}

Result<nlohmann::json> GpuProcess::hello(double patience_s, const std::stop_token& stop) {
  using Reply = Result<nlohmann::json>;
  if (hello_) return *hello_;
  switch (wait(patience_s, stop)) {
    case Wait::kReadable:
      break;
    case Wait::kCancelled:
      return Reply::failure("cancelled");
    case Wait::kSilent:
      return Reply::failure(concat("the GPU does not answer within ", patience_s, " s"));
    case Wait::kGone:
      hello_ = Reply::failure("the GPU's process does not start: it " + end());
      return *hello_;
  }
  const Packet packet = receive_packet(channel_.get());
  if (!packet.content.is_object())
    hello_ = Reply::failure("the GPU's process does not start: it " + end());
  else if (packet.content.contains("architecture") || packet.content.contains("devices"))
    hello_ = Reply(packet.content);
  else
    hello_ = Reply::failure(packet.content.value("error", "the GPU's process says nothing"));
  return *hello_;
}

GpuProcess::Said GpuProcess::listen(double patience_s, const std::stop_token& stop) {
  using Kind = Reply::Kind;
  switch (wait(patience_s, stop)) {
    case Wait::kReadable:
      break;
    case Wait::kCancelled:
      return {Kind::kCancelled, {}, {}};
    case Wait::kSilent:
      return {Kind::kSilent, {}, {}};
    case Wait::kGone:
      return {Kind::kGone, {}, {}};
  }
  Packet packet = receive_packet(channel_.get());
  if (!packet.content.is_object()) return {Kind::kGone, {}, {}};
  return {Kind::kDone, std::move(packet.content), std::move(packet.fds)};
}

GpuProcess::Said GpuProcess::tell(const nlohmann::json& asked, double patience_s,
                                  const std::stop_token& stop) {
  return post(asked) ? listen(patience_s, stop) : Said{Reply::Kind::kGone, {}, {}};
}

bool GpuProcess::post(const nlohmann::json& asked, const std::vector<int>& fds) {
  return send_packet(channel_.get(), asked.dump(), fds);
}

GpuProcess::Said GpuProcess::request(const std::vector<int>& files, size_t plan, double patience_s,
                                     const std::stop_token& stop) {
  for (size_t i = 0; i < files.size(); i += kMaxDescriptors) {
    const size_t end = std::min(i + kMaxDescriptors, files.size());
    if (!send_packet(channel_.get(), "{}",
                     {files.begin() + static_cast<std::ptrdiff_t>(i),
                      files.begin() + static_cast<std::ptrdiff_t>(end)}))
      return {Reply::Kind::kGone, {}, {}};
  }
  return tell({{"plan", plan}}, patience_s, stop);
}

GpuProcess::Reply GpuProcess::ask(const std::vector<int>& files, size_t plan, double patience_s,
                                  const std::stop_token& stop) {
  const Said said = request(files, plan, patience_s, stop);
  if (said.kind != Reply::Kind::kDone) return {said.kind, false};
  if (!said.content.contains("done")) return {Reply::Kind::kGone, false};
  return {Reply::Kind::kDone, said.content.value("retire", true)};
}

}  // namespace bicrl
