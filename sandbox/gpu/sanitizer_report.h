// NVIDIA's compute-sanitizer: where it is installed, and its report on a program that ran under it. Its tools
// see a GPU's instructions as they are executed and use nothing that this project knows of a program, so
// their findings are a second opinion on those of the PTX interpreter:
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

// Of one tool, or of several.
struct SanitizerReport {
  std::vector<SanitizerFinding> findings;  // each kind once, in the order of the first of each
  std::string problem;  // why a tool has not seen the program to its end, in one line; empty: all have
};

// What a tool wrote about a program.
SanitizerReport read_sanitizer_report(const std::string& tool, std::string_view text);

// "racecheck: Error: Race reported ... in scan (3 reports)", one behind the other.
std::string sanitizer_text(const std::vector<SanitizerFinding>& findings);

}  // namespace bicrl
