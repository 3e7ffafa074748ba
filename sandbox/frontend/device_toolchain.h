// NVRTC and the toolkit's headers, which come as wheels with torch and beside it.
#pragma once
#include <filesystem>
#include <string>

#include "sandbox/box/python_install.h"

namespace bicrl {

struct DeviceToolchain {
  std::filesystem::path libraries;  // libnvrtc.so.* and what it loads
  std::filesystem::path headers;    // cuda_fp16.h, crt/, cccl/
  std::filesystem::path shim;       // our own headers
  std::string id;                   // names the versions of all: part of the key of a compile cache

  // Throws Error(kUnavailable) with all that is missing and the command that installs it.
  static DeviceToolchain find(const PythonInstall& python);
};

}  // namespace bicrl
