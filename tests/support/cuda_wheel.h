// The CUDA toolkit that comes with torch in the Python environment of the build.
#pragma once
#include <filesystem>

namespace bicrl::testing {

struct CudaWheel {
  std::filesystem::path compiler;                   // libnvrtc
  std::filesystem::path headers, template_headers;  // of the toolkit, and of its C++ libraries
};

// $BICRL_CUDA_WHEEL (.../nvidia/cu13) or the one in the interpreter's site-packages. Skips the running test
// if there is none.
CudaWheel cuda_wheel();

}  // namespace bicrl::testing
