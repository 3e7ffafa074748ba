// The fastest correct program of each task that a run has sampled: when it was found, how it came about, and
// how it computes. Pure functions.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "report/kept_response.h"
#include "report/response_table.h"

namespace bicrl::report {

struct BestKernel {
  std::string task{};
  ResponseKey found{};  // the first response that held it
  double speedup = 0;   // over eager PyTorch
  double candidate_ms = 0, eager_ms = 0;
  std::string clock{}, bound_by{};
  int64_t correct = 0, responses = 0;  // of the task, in the whole run
  double first_speedup = 0;            // of the task's first correct response
  // Of the kept text; empty where none was kept.
  std::string technique{};
  // "sampled"; "repaired": its prompt showed a failed program; "imitated": its task's best response until
  // then may have been imitated in an update before, and it is faster than that one. "unknown" where no
  // text was read: its prompt may have shown a failed program.
  std::string lineage{};
};

// By speed-up, the largest first. Without techniques: complete_kernels() adds those.
std::vector<BestKernel> best_kernels(const ResponseTable& table, const StepTable& steps);

void complete_kernels(const KeptResponses& kept, std::vector<BestKernel>& kernels);

}  // namespace bicrl::report
