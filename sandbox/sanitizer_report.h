// NVIDIA's compute-sanitizer: where it lies, and what it says of a program that ran under it. Its tools see a
// GPU's instructions as they are executed, apart from everything that this project knows of a program, so
// what they find is a second opinion on what the PTX machine has found:
//   memcheck   accesses outside of allocations, misaligned ones, to freed memory
//   racecheck  hazards on shared memory (none on global memory)
//   initcheck  reads of global memory that nothing has written
//   synccheck  barriers that threads of a block, or of a warp, do not reach alike
// Free functions; thread-safe.
#pragma once
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"

namespace bicrl {

inline constexpr std::array kSanitizerTools = {"memcheck", "racecheck", "initcheck", "synccheck"};

// The folder of the program `compute-sanitizer` and its libraries: in $CUDA_HOME, beside the one on PATH, in
// /usr/local/cuda. Empty: this machine has none.
std::filesystem::path find_sanitizer();
std::string no_sanitizer();  // what to say then

struct SanitizerFinding {
  std::string tool;
  std::string message;  // "Invalid __global__ write of size 4 bytes"
  std::string kernel;   // as the device's code names it; empty where the tool does not say
  int count = 0;        // of reports alike

  bool operator==(const SanitizerFinding&) const = default;
};

// What a tool wrote about a program that it saw to the end, each kind of report once, in the order of the
// first of each. Failure: it did not see it to the end, with its last words.
Result<std::vector<SanitizerFinding>> read_sanitizer_report(const std::string& tool, std::string_view text);

// "racecheck: Error: Race reported ... in scan (3 times)", one behind the other.
std::string sanitizer_text(const std::vector<SanitizerFinding>& findings);

}  // namespace bicrl
