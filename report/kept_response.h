// Responses whose text a run has kept, from texts/ or samples.jsonl. Plain values.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "episode/denoising_record.h"
#include "report/json_lines.h"
#include "report/response_table.h"

namespace bicrl::report {

struct ResponseKey {
  int64_t row = 0;  // of its step, in StepTable
  int64_t group = 0, sample = 0;
  auto operator<=>(const ResponseKey&) const = default;
};

// What one kernel of a modelled program did.
struct KernelCounters {
  std::string name{};
  double blocks = 0, threads_per_block = 0, registers_per_thread = 0, shared_bytes_per_block = 0;
  double loaded_bytes = 0, stored_bytes = 0, instructions = 0;
};

struct KeptResponse {
  std::string prompt{};  // empty in a sample
  std::string text{};
  bool is_repair = false;
  std::vector<std::pair<std::string, double>> terms{};
  VerdictFigures verdict{};
  std::string diagnostics{};
  std::vector<KernelCounters> kernels{};
  std::optional<DenoisingRecord> denoising{};
};

struct KeptResponses {
  std::map<ResponseKey, KeptResponse> responses{};
  LineCounts lines{};
};

// Of the steps in `rows`, all; of others what samples.jsonl has.
KeptResponses read_kept_responses(const std::filesystem::path& run, const StepTable& steps,
                                  const std::set<int64_t>& rows);

// What counters of a verdict hold, a kernel each.
std::vector<KernelCounters> kernel_counters(const std::string& counters);

// The program's line that a diagnostic names first, 1-based; 0: none. Lines of CUDA sources are counted from
// the beginning of their string in the program.
int64_t fault_line(const std::string& program, const std::string& diagnostics);

}  // namespace bicrl::report
