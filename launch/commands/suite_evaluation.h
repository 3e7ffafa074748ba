// `bicrl eval` of a suite: programs that exist are graded by our verifier or by KernelBench's own protocol,
// and whoever graded, results and figures are KernelBench's. Used by one thread, on rank 0.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/error.h"
#include "launch/learner.h"
#include "reward/client/verifier_client.h"
#include "sandbox/verifier/stock_evaluator.h"
#include "trainer/evaluation/eval_settings.h"
#include "trainer/evaluation/kernelbench_programs.h"
#include "trainer/evaluation/kernelbench_results.h"

namespace bicrl {

// The problems that a suite's evaluation counts, `tasks.limit` of them.
std::vector<KernelBenchTask> load_problems(const EvalSettings& settings);

// Before long work: makes the folder of results, if one is named. Throws Error with exit code kUsage if it
// cannot.
void prepare_results(const SuiteSettings& suite);

// KernelBench's own protocol with what it needs. Not movable: its parts refer to each other. It is no stage
// of the episode pipeline, because it runs trusted programs itself and yields KernelBench's records, not
// verdicts.
class StockGrader {
 public:
  // Throws Error(kUnavailable) if this machine cannot. `python` and `bwrap`: as of a verifier.
  StockGrader(const SuiteSettings& suite, const std::string& python, const std::string& bwrap);
  StockGrader(const StockGrader&) = delete;
  StockGrader& operator=(const StockGrader&) = delete;

  // Times the references that have programs, then grades these, which are built several at a time, and prints
  // a line for each as it is ready. The files of `suite.results` are written after each, so that what was
  // done by a long evaluation that is stopped is there.
  KernelBenchResults grade(const std::vector<KernelBenchTask>& problems,
                           const std::vector<KernelBenchProgram>& programs);

 private:
  void time_references(const std::vector<KernelBenchTask>& problems,
                       const std::vector<KernelBenchProgram>& programs, KernelBenchResults& results);
  const SuiteSettings suite_;
  PythonInstall python_;
  BoxHost host_;
  StockEvaluator evaluator_;
};

// By our verifier: the episode pipeline without generation. Prints a line for each as it is ready.
KernelBenchResults grade_natively(VerifierClient& client, int64_t level,
                                  const std::vector<KernelBenchTask>& problems,
                                  const std::vector<KernelBenchProgram>& programs);

// Of lines with verdicts, as evaluations keep responses (KeptResponses::kWithVerdicts).
KernelBenchResults results_of_responses(const std::string& lines, int64_t level,
                                        const std::vector<KernelBenchTask>& problems);

// Writes the suite's files, prints the figures and, if asked, writes them as JSON, with `about` (an object).
ExitCode publish_suite(const LearnerCommand& command, const EvalSettings& settings,
                       const std::vector<KernelBenchTask>& problems, const KernelBenchResults& results,
                       nlohmann::json about);

}  // namespace bicrl
