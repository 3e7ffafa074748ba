// Which of a candidate's extra_cuda_cflags mean something for device code.
#pragma once
#include <string>
#include <vector>

namespace bicrl {

struct DeviceFlags {
  std::vector<std::string> options;  // for NVRTC, one word each: load_inline's own, the candidate's, a -std
  std::string refused;               // why the flags cannot be honoured, "" if they can
};

// Flags that change device code are kept, those that only steer nvcc, the host compiler or the assembler are
// ignored, and what reads files or is unknown is refused. Pure function.
DeviceFlags read_device_flags(const std::vector<std::string>& cuda_cflags);

}  // namespace bicrl
