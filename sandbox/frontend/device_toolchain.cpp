#include "sandbox/frontend/device_toolchain.h"

#include <algorithm>
#include <vector>

#include "common/error.h"
#include "common/files/file_fingerprint.h"
#include "common/files/files.h"
#include "common/hash.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr const char* kWheelFolder = "nvidia/cu13";

struct Need {
  const char* file;   // below the wheels' folder
  const char* wheel;  // as launch/requirements.txt has it, or what torch brings
};
constexpr Need kNeeds[] = {{"lib/libnvrtc.so.13", "nvidia-cuda-nvrtc"},
                           {"lib/libnvrtc-builtins.so.13.0", "nvidia-cuda-nvrtc"},
                           {"include/cuda_fp16.h", "nvidia-cuda-runtime"},
                           {"include/cooperative_groups.h", "nvidia-cuda-runtime"},
                           {"include/curand_kernel.h", "nvidia-curand"},
                           {"include/crt/mma.h", "nvidia-cuda-crt==13.0.88"},
                           {"include/cccl/nv/target", "nvidia-cuda-cccl==13.0.85"},
                           {"include/cccl/cub/cub.cuh", "nvidia-cuda-cccl==13.0.85"}};

}  // namespace

DeviceToolchain DeviceToolchain::find(const PythonInstall& python) {
  fs::path wheel;
  for (const fs::path& packages : python.packages)
    if (wheel.empty() && fs::is_directory(packages / kWheelFolder)) wheel = packages / kWheelFolder;
  std::vector<std::string> missing;
  for (const Need& need : kNeeds)
    if ((wheel.empty() || !fs::exists(wheel / need.file)) &&
        std::find(missing.begin(), missing.end(), need.wheel) == missing.end())
      missing.push_back(need.wheel);
  if (!missing.empty()) {
    std::string names;
    for (const auto& name : missing) names += " " + name;
    throw Error(concat("the Python of ", python.interpreter, " lacks what compiles device code. Run `",
                       python.interpreter, " -m pip install", names, "` (launch/setup does it, too)"),
                ExitCode::kUnavailable);
  }
  DeviceToolchain found;
  found.libraries = wheel / "lib";
  found.headers = wheel / "include";
  found.shim = share_folder() / "device" / "include";
  found.id = hash_hex({file_fingerprint(found.libraries / "libnvrtc.so.13"), file_fingerprint(found.shim)});
  return found;
}

}  // namespace bicrl
