// The section `suite` of `bicrl eval`: a published suite of problems, and by whose protocol programs are
// graded. The only suite is KernelBench.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "common/config/config.h"

namespace bicrl {

enum class SuiteProtocol {
  kNative,      // our verifier's
  kKernelBench  // KernelBench's own, which trusts programs (sandbox/verifier/stock_evaluator.h)
};

struct SuiteSettings {
  int64_t level = 1;
  SuiteProtocol protocol = SuiteProtocol::kNative;
  std::filesystem::path programs;  // that are graded; empty: a policy's responses are
  std::filesystem::path results;   // folder for eval_results.json and baseline_time_torch.json; empty: none
  // Of kKernelBench, see StockOptions.
  std::string device = "cuda:0";
  std::string precision = "fp32";
  double tolerance = 0;  // 0: that of the precision
  int correctness_trials = 5, timing_trials = 100;
  double timeout_s = 180;
  int build_jobs = 0;  // programs that are built at a time; 0: by cores and memory, at most eight
  uint64_t memory_bytes = 64ull << 30;

  // `suite` is there. `root` is the whole configuration's: what has no effect with this suite is refused.
  static SuiteSettings from_config(const ConfigSection& root, const std::filesystem::path& config_folder);
};

}  // namespace bicrl
