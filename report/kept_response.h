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

// Where a run has kept texts.
struct KeptPlaces {
  std::set<int64_t> rows{};           // steps that have files in texts/
  std::set<ResponseKey> responses{};  // of samples.jsonl
  bool is_empty() const { return rows.empty() && responses.empty(); }
  bool may_have(const ResponseKey& key) const { return rows.contains(key.row) || responses.contains(key); }
};
KeptPlaces kept_places(const std::filesystem::path& run, const StepTable& steps);

// Which responses a page shows: a long run has gigabytes of others.
struct ShownResponses {
  std::set<std::pair<int64_t, int64_t>> groups{};  // row and number: every response of the group
  std::set<ResponseKey> responses{};
  bool has(const ResponseKey& key) const {
    return groups.contains({key.row, key.group}) || responses.contains(key);
  }
};

struct KeptResponses {
  std::map<ResponseKey, KeptResponse> responses{};
  LineCounts lines{};
};

// Those of `shown` alone; of any other, neither text nor denoising is taken out of its line.
KeptResponses read_kept_responses(const std::filesystem::path& run, const StepTable& steps,
                                  const ShownResponses& shown);

// What counters of a verdict hold, a kernel each.
std::vector<KernelCounters> kernel_counters(const std::string& counters);

// The program's line that a diagnostic names first, 1-based; 0: none. Lines of CUDA sources are counted from
// the beginning of their string in the program.
int64_t fault_line(const std::string& program, const std::string& diagnostics);

}  // namespace bicrl::report
