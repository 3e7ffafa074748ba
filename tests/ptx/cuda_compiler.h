// CUDA texts to PTX, for tests that run kernels: with the toolkit's own headers alone, not the shim's.
#pragma once
#include <string>
#include <vector>

namespace bicrl::ptx::testing {

// Skips the test where there is no NVRTC, fails it with the compiler's log if the text is not accepted.
std::string compile_cuda(const std::string& text, const std::vector<std::string>& options = {});

}  // namespace bicrl::ptx::testing
