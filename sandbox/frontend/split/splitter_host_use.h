// Finds misuses of host and device code that nvcc refuses and NVRTC, which takes all of a text for device
// code, does not. (Calls of host functions: sandbox/frontend/device/host_calls.h.)
#pragma once
#include <vector>

#include "sandbox/frontend/device/code_structure.h"
#include "sandbox/frontend/device/token_text.h"
#include "sandbox/frontend/split/splitter.h"

namespace bicrl {

// Uses of host variables and exceptions in kernels and device functions, and calls of kernels without a
// configuration, as far as text alone shows: what a macro may have made otherwise is left alone.
void find_host_uses(const TokenText& source, const CodeStructure& structure, std::vector<SplitIssue>& issues);

}  // namespace bicrl
