// Device functions that a CUDA text defines and declares, as far as text alone shows: kernels, and functions
// that no host code can call.
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/frontend/device/code_structure.h"
#include "sandbox/frontend/device/token_text.h"

namespace bicrl {

// Places are tokens; npos if there is none.
struct DeviceFunction {
  static constexpr size_t npos = static_cast<size_t>(-1);
  bool is_kernel = false;
  // Host code can neither run the body nor need it for the function's type.
  bool is_opaque = false;
  size_t template_begin = npos, template_end = npos;  // `template`, and the `>` of its parameters
  size_t name = npos;
  size_t open = npos, close = npos;  // the parameters' brackets
  size_t body = npos, body_end = npos;
  bool is_specialization = false;  // name<...>(
};

// In the order of the text, those in the bodies of macros among them. Linear time.
std::vector<DeviceFunction> find_device_functions(const TokenText& text, const CodeStructure& structure);

}  // namespace bicrl
