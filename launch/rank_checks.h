// Checks that the ranks of a run, on one host or several, fit together before any work begins. Each check is
// collective and throws on all ranks, with the rank and its host.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "trainer/ranks/control_plane.h"

namespace bicrl {

// What a rank runs on.
struct RankMachine {
  std::string host;
  std::string program;  // hash of this program's files
  std::string gpu;      // by the driver's name; empty where the policy lies in host memory
  static RankMachine here(bool uses_gpu);
};

// By rank. Empty if all are alike, else which rank differs in what from rank 0, and what to do.
std::string machines_problem(const std::vector<RankMachine>& machines);

// Throws SharedError of exit code kUsage.
void expect_like_machines(ControlPlane& control, bool uses_gpu);

// A folder of a name on each host need not be one folder: rank 0 leaves a file there for a moment, and the
// others wait for it up to `patience_s`, as network file systems show it late. Throws SharedError of exit
// code kUsage, or what rank 0 throws if it cannot write.
void expect_shared_folder(ControlPlane& control, const std::filesystem::path& folder, double patience_s = 10);

}  // namespace bicrl
