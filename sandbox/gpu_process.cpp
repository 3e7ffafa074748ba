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
constexpr const char* kScriptTarget = "/references";
constexpr const char* kWorkFolder = "/scratch";
constexpr uint64_t kCompilerCacheBytes = 1ull << 30;
constexpr int kThreadsOfPython = 1024;  // and processes
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

bool is_of_a_gpu(const fs::path& node) {
  return isdigit(static_cast<unsigned char>(node.string().back())) != 0;
}

bool below(const fs::path& file, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
}

}  // namespace

int gpu_nodes() { return static_cast<int>(std::ranges::count_if(device_nodes(), is_of_a_gpu)); }

fs::path find_driver_library(const std::string& name) {
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
    if (fs::exists(folder / name, none)) return folder / name;
  return {};
}

namespace {

// The end says why: a traceback is longer than a reason may be.
std::string last_words(const std::string& output) {
  constexpr size_t kMostBytes = 400;
  return output.substr(output.size() - std::min(output.size(), kMostBytes));
}

// Of the driver's libraries.
std::string folder_in_box(const fs::path& library) {
  return below(library, "/usr/lib") ? library.parent_path().string() : std::string(kDriverTarget);
}

// A box that sees the machine's GPUs and their driver. What ends what runs in it is its owner.
BoxSpec gpu_box(const fs::path& library, uint64_t memory_bytes) {
  BoxSpec spec;
  // What the server may see of the machine's GPUs, its box may.
  if (const char* visible = getenv("CUDA_VISIBLE_DEVICES"))
    spec.env.push_back(concat("CUDA_VISIBLE_DEVICES=", visible));
  if (!library.empty() && folder_in_box(library) == kDriverTarget) {
    spec.mounts.push_back({library.parent_path(), kDriverTarget});
    spec.env.push_back(concat("LD_LIBRARY_PATH=", kDriverTarget));
  }
  spec.devices = device_nodes();
  spec.process_folder = true;  // the driver names its threads there
  spec.work_folder = kWorkFolder;
  spec.limits.wall_s = kForEver_s;
  spec.limits.cpu_s = static_cast<int>(kForEver_s);
  spec.limits.memory_bytes = memory_bytes;
  spec.limits.data_bytes = kMostAddressBytes;  // the driver reserves more than it ever uses
  spec.limits.file_bytes = kMostFileBytes;
  spec.limits.open_files = 1024;
  spec.syscalls = SyscallProfile::kDriver;
  spec.on_all_cores = true;
  return spec;
}

std::string no_driver() {
  return concat("there is no NVIDIA driver on this machine (", kDriverLibrary, " is in no library folder)");
}

}  // namespace

GpuProcess::GpuProcess(BoxHost& host, std::optional<int> device, uint64_t memory_bytes) {
  const fs::path library = find_driver_library();
  if (library.empty()) {
    hello_ = Result<nlohmann::json>::failure(no_driver());
    ended_ = true;
    return;
  }
  BoxSpec spec = gpu_box(library, memory_bytes);
  spec.argv = {"/gpu/bicrl-gpu-load", std::to_string(kChannelFd), device ? std::to_string(*device) : "count"};
  spec.env.push_back("CUDA_CACHE_DISABLE=1");  // no cache of machine code in files
  spec.mounts.push_back({share_folder() / "gpu" / "bicrl-gpu-load", "/gpu/bicrl-gpu-load"});
  start(host, std::move(spec));
}

GpuProcess::GpuProcess(BoxHost& host, const PythonInstall& python, const std::string& device,
                       uint64_t memory_bytes) {
  const fs::path library = find_driver_library();
  if (library.empty() && device != "cpu") {
    hello_ = Result<nlohmann::json>::failure(no_driver());
    ended_ = true;
    return;
  }
  BoxSpec spec = gpu_box(library, memory_bytes);
  spec.root = SystemRoot::kToolchain;  // what torch.compile makes is compiled here
  spec.argv = {python.interpreter,         "-I",  "-B", concat(kScriptTarget, "/baseline.py"),
               std::to_string(kChannelFd), device};
  spec.mounts.insert(spec.mounts.end(), python.mounts.begin(), python.mounts.end());
  spec.mounts.push_back({share_folder() / "box", kScriptTarget});
  spec.mounts.push_back({"/sys/devices/system/cpu", "/sys/devices/system/cpu"});
  for (const auto& [name, value] : {std::pair<std::string, std::string>{"PATH", "/usr/bin:/bin"},
                                    {"HOME", kWorkFolder},
                                    {"TMPDIR", kWorkFolder},
                                    {"USER", "box"},
                                    {"LANG", "C.UTF-8"},
                                    {"OMP_NUM_THREADS", "1"},
                                    {"TORCHINDUCTOR_COMPILE_THREADS", "1"},
                                    {"TORCHINDUCTOR_CACHE_DIR", std::string(kWorkFolder) + "/inductor"},
                                    {"TRITON_CACHE_DIR", std::string(kWorkFolder) + "/triton"}})
    spec.env.push_back(concat(name, "=", value));
  if (!library.empty()) spec.env.push_back(concat("TRITON_LIBCUDA_PATH=", folder_in_box(library)));
  spec.work_bytes = kCompilerCacheBytes;
  spec.limits.processes = kThreadsOfPython;
  start(host, std::move(spec));
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

std::string GpuProcess::end() {
  stop_.request_stop();
  if (!box_.joinable()) return hello_ && !*hello_ ? hello_->reason() : "ended";
  box_.join();
  switch (result_.end) {
    case BoxEnd::kExited:
      return concat("ended with status ", result_.code, " ", last_words(result_.output));
    case BoxEnd::kSignalled:
      return concat("ended by signal ", result_.code, " ", last_words(result_.output));
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
      return {Kind::kCancelled, {}};
    case Wait::kSilent:
      return {Kind::kSilent, {}};
    case Wait::kGone:
      return {Kind::kGone, {}};
  }
  Packet packet = receive_packet(channel_.get());
  if (!packet.content.is_object()) return {Kind::kGone, {}};
  return {Kind::kDone, std::move(packet.content)};
}

GpuProcess::Said GpuProcess::tell(const nlohmann::json& asked, double patience_s,
                                  const std::stop_token& stop) {
  if (!send_packet(channel_.get(), asked.dump(), {})) return {Reply::Kind::kGone, {}};
  return listen(patience_s, stop);
}

GpuProcess::Said GpuProcess::request(const std::vector<int>& files, size_t plan, double patience_s,
                                     const std::stop_token& stop) {
  for (size_t i = 0; i < files.size(); i += kMaxDescriptors) {
    const size_t end = std::min(i + kMaxDescriptors, files.size());
    if (!send_packet(channel_.get(), "{}",
                     {files.begin() + static_cast<std::ptrdiff_t>(i),
                      files.begin() + static_cast<std::ptrdiff_t>(end)}))
      return {Reply::Kind::kGone, {}};
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
