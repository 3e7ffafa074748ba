// NVRTC with the shim's headers, for tests: only our own programs and published ones are compiled here.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "sandbox/frontend/device/device_compiler.h"

namespace bicrl::testing {

// Skips the test if the Python environment has no NVRTC.
const DeviceCompiler& device_compiler();
// The same with a limit on the PTX.
DeviceCompiler limited_compiler(size_t max_ptx_bytes);

std::set<std::string> entries_of(const std::string& ptx);
// The same as keys (see entry_names.h).
std::set<std::string> entry_keys_of(const std::string& ptx);

// Parses the PTX and lowers every entry; what the machine does not have fails the test.
void check_lowers(const std::string& ptx);

// The symbols that g++ gives the functions of a C++ text.
std::set<std::string> host_symbols(const std::string& text);

struct NamedText {
  std::string name, text;
};
// tests/device/programs/*.cu.
std::vector<NamedText> own_programs();
// The CUDA texts of the published infilling programs; empty for those without a kernel.
std::vector<NamedText> published_programs();

}  // namespace bicrl::testing
