#include "sandbox/gpu_process.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>

#include "common/clock.h"
#include "common/files.h"
#include "sandbox/box/descriptor_passing.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr int kChannelFd = 16;
constexpr const char* kDriverLibrary = "libcuda.so.1";
constexpr const char* kDriverTarget = "/driver";
constexpr double kForEver_s = 30.0 * 24 * 3600;
constexpr uint64_t kMostFileBytes = 64ull << 30, kMostAddressBytes = uint64_t{1} << 46;

std::vector<fs::path> device_nodes() {
  std::vector<fs::path> nodes;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator("/dev", none)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("nvidia") || !entry.is_character_file(none)) continue;
    const std::string rest = name.substr(6);
    const bool number = !rest.empty() && std::all_of(rest.begin(), rest.end(),
                                                     [](unsigned char c) { return isdigit(c) != 0; });
    if (number || rest == "ctl" || rest == "-uvm" || rest == "-uvm-tools") nodes.push_back(entry.path());
  }
  return nodes;
}

bool below(const fs::path& file, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
}

}  // namespace

fs::path find_driver_library() {
  std::vector<fs::path> folders;
  const char* path = getenv("LD_LIBRARY_PATH");
  std::istringstream named(path ? path : "");
  for (std::string folder; std::getline(named, folder, ':');)
    if (!folder.empty()) folders.emplace_back(folder);
  for (const char* usual : {"/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/usr/lib/x86_64-linux-gnu",
                            "/usr/lib64", "/usr/lib", "/usr/lib/wsl/lib", "/usr/local/cuda/compat"})
    folders.emplace_back(usual);
  std::error_code none;
  for (const fs::path& folder : folders)
    if (fs::exists(folder / kDriverLibrary, none)) return folder / kDriverLibrary;
  return {};
}

GpuProcess::GpuProcess(BoxHost& host, int device, uint64_t memory_bytes) {
  const fs::path library = find_driver_library();
  if (library.empty()) {
    hello_ = Result<nlohmann::json>::failure(
        concat("there is no NVIDIA driver on this machine (", kDriverLibrary, " is in no library folder)"));
    ended_ = true;
    return;
  }
  FdPair channel = make_packet_pair();
  channel_ = std::move(channel.ours);
  BoxSpec spec;
  spec.argv = {"/gpu/bicrl-gpu-load", std::to_string(kChannelFd), std::to_string(device)};
  // No cache of machine code in files; what the server may see of the machine's GPUs, its box may.
  spec.env = {"CUDA_CACHE_DISABLE=1"};
  if (const char* visible = getenv("CUDA_VISIBLE_DEVICES"))
    spec.env.push_back(concat("CUDA_VISIBLE_DEVICES=", visible));
  spec.mounts = {{share_folder() / "gpu" / "bicrl-gpu-load", "/gpu/bicrl-gpu-load"}};
  if (!below(library, "/usr/lib")) {
    spec.mounts.push_back({library.parent_path(), kDriverTarget});
    spec.env.push_back(concat("LD_LIBRARY_PATH=", kDriverTarget));
  }
  spec.devices = device_nodes();
  spec.process_folder = true;  // the driver names its threads there
  spec.work_folder = "/work";
  spec.fds = {{channel.theirs.get(), kChannelFd}};
  spec.limits.wall_s = kForEver_s;
  spec.limits.cpu_s = static_cast<int>(kForEver_s);
  spec.limits.memory_bytes = memory_bytes;
  spec.limits.data_bytes = kMostAddressBytes;  // the driver reserves more than it ever uses
  spec.limits.file_bytes = kMostFileBytes;
  spec.limits.open_files = 1024;
  spec.syscalls = SyscallProfile::kDriver;
  box_ = std::thread(&GpuProcess::run, this, std::ref(host), std::move(spec), std::move(channel.theirs));
}

void GpuProcess::run(BoxHost& host, BoxSpec spec, UniqueFd theirs) {
  result_ = run_box(host, spec, stop_.get_token());
  theirs.reset();
  ended_ = true;
}

GpuProcess::~GpuProcess() { end(); }

std::string GpuProcess::end() {
  stop_.request_stop();
  if (!box_.joinable()) return hello_ && !*hello_ ? hello_->reason() : "ended";
  box_.join();
  switch (result_.end) {
    case BoxEnd::kExited:
      return concat("ended with status ", result_.code, " ", result_.output.substr(0, 400));
    case BoxEnd::kSignalled:
      return concat("ended by signal ", result_.code, " ", result_.output.substr(0, 400));
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
  else if (packet.content.contains("architecture"))
    hello_ = Reply(packet.content);
  else
    hello_ = Reply::failure(packet.content.value("error", "the GPU's process says nothing"));
  return *hello_;
}

GpuProcess::Reply GpuProcess::ask(const std::vector<int>& files, size_t plan, double patience_s,
                                  const std::stop_token& stop) {
  using Kind = Reply::Kind;
  for (size_t i = 0; i < files.size(); i += kMaxDescriptors) {
    const size_t end = std::min(i + kMaxDescriptors, files.size());
    if (!send_packet(channel_.get(), "{}",
                     {files.begin() + static_cast<std::ptrdiff_t>(i),
                      files.begin() + static_cast<std::ptrdiff_t>(end)}))
      return {Kind::kGone, false};
  }
  if (!send_packet(channel_.get(), nlohmann::json{{"plan", plan}}.dump(), {})) return {Kind::kGone, false};
  switch (wait(patience_s, stop)) {
    case Wait::kReadable:
      break;
    case Wait::kCancelled:
      return {Kind::kCancelled, false};
    case Wait::kSilent:
      return {Kind::kSilent, false};
    case Wait::kGone:
      return {Kind::kGone, false};
  }
  const Packet packet = receive_packet(channel_.get());
  if (!packet.content.is_object() || !packet.content.contains("done")) return {Kind::kGone, false};
  return {Kind::kDone, packet.content.value("retire", true)};
}

}  // namespace bicrl
