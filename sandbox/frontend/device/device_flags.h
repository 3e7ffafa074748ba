// Translates a candidate's compiler flags (load_inline's extra_cuda_cflags, extra_cflags) for NVRTC.
#pragma once
#include <string>
#include <vector>

namespace bicrl {

struct DeviceFlags {
  std::vector<std::string> options;  // for NVRTC, one word each: load_inline's own, the candidate's, a -std
  std::string macros;                // #define and #undef lines, to stand behind the include lines
  std::string refused;               // why the flags cannot be honoured, "" if they can
};

// Flags that change device code are kept, those that only steer nvcc, the host compiler or the assembler are
// ignored, and what reads files or is unknown is refused. Pure function.
//
// A macro is a line rather than an option if no header asks for it: under other options no precompiled header
// fits.
DeviceFlags read_device_flags(const std::vector<std::string>& cuda_cflags);

// The -D and -U among a compiler's flags as lines of text, for the host part. What is no macro is left out.
std::string macro_lines(const std::vector<std::string>& flags);

}  // namespace bicrl
