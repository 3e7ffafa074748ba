// Boxes that see the machine's GPUs and NVIDIA's driver: alone, or with a PyTorch that may compile. What ends
// a program in one is its owner: they have no limits of time. Free functions; thread-safe.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "sandbox/box/box.h"
#include "sandbox/box/python_install.h"

namespace bicrl {

// Where this machine keeps a library of NVIDIA's driver; empty if it has none.
std::filesystem::path find_driver_library(const std::string& name = "libcuda.so.1");
std::string no_driver();  // what to say then
// How many GPUs this machine has nodes for, whether or not a driver can use them.
int gpu_nodes();

// `library`: the driver's libcuda; empty: a box without a driver.
BoxSpec gpu_box(const std::filesystem::path& library, uint64_t memory_bytes);
// The same with the machine's toolchain, in which Python runs one of our scripts (share/bicrl/box) with
// `arguments`. PATH is the toolchain's; HOME and temporary files are in the work folder.
BoxSpec torch_box(const std::filesystem::path& library, const PythonInstall& python,
                  const std::string& script, const std::vector<std::string>& arguments,
                  uint64_t memory_bytes);

}  // namespace bicrl
