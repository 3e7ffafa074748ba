#include "sandbox/gpu/gpu_box.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>

#include "common/error.h"
#include "common/files/files.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

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

// Of the driver's libraries.
std::string folder_in_box(const fs::path& library) {
  return below(library, "/usr/lib") ? library.parent_path().string() : std::string(kDriverTarget);
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

std::string no_driver() {
  return concat("there is no NVIDIA driver on this machine (", kDriverLibrary, " is in no library folder)");
}

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

BoxSpec torch_box(const fs::path& library, const PythonInstall& python, const std::string& script,
                  const std::vector<std::string>& arguments, uint64_t memory_bytes) {
  BoxSpec spec = gpu_box(library, memory_bytes);
  spec.root = SystemRoot::kToolchain;  // what torch.compile and load_inline make is compiled here
  spec.argv = {python.interpreter, "-I", "-B", concat(kScriptTarget, "/", script)};
  spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
  spec.mounts.insert(spec.mounts.end(), python.mounts.begin(), python.mounts.end());
  spec.mounts.push_back({share_folder() / "box", kScriptTarget});
  spec.mounts.push_back({"/sys/devices/system/cpu", "/sys/devices/system/cpu"});
  for (const auto& [name, value] : {std::pair<std::string, std::string>{"PATH", "/usr/bin:/bin"},
                                    {"HOME", kWorkFolder},
                                    {"TMPDIR", kWorkFolder},
                                    {"USER", "box"},
                                    {"LANG", "C.UTF-8"},
                                    {"OMP_NUM_THREADS", "1"}})
    spec.env.push_back(concat(name, "=", value));
  if (!library.empty()) spec.env.push_back(concat("TRITON_LIBCUDA_PATH=", folder_in_box(library)));
  spec.work_bytes = kCompilerCacheBytes;
  spec.limits.processes = kThreadsOfPython;
  return spec;
}

}  // namespace bicrl
