// The Python of the boxes, and what of this machine a box must show for it to work.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "sandbox/box/box_host.h"

namespace bicrl {

// Found once, by asking the interpreter itself.
struct PythonInstall {
  std::string interpreter;
  std::vector<BoxMount> mounts;
  std::vector<std::filesystem::path> packages;  // folders of its modules and wheels
  std::string torch_version;

  // `named` empty: $BICRL_PYTHON, else the interpreter of the build, else python3 on PATH. Throws
  // Error(kUnavailable) if it has no torch.
  static PythonInstall find(const std::string& named = "");
};

}  // namespace bicrl
