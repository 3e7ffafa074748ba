// The kernels of policy/gpu on the project's PTX interpreter: a check of them where there is no GPU.
#pragma once
#include <string>
#include <vector>

#include "tests/ptx/kernel_runner.h"

namespace bicrl::testing {

// An interpreter that has the kernels of a .cu file, by its name without the ending.
ptx::testing::KernelRunner interpreter_with(const std::string& file);
// The kernel whose symbol holds all of `parts`; there is to be one.
std::string kernel_named(const ptx::testing::KernelRunner& interpreter,
                         const std::vector<std::string>& parts);

}  // namespace bicrl::testing
