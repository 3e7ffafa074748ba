// The state of one attempt to verify a program. Internal to pipeline*.cpp. Not thread-safe: each attempt has
// its own.
#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "sandbox/verifier/grading.h"
#include "sandbox/verifier/pipeline.h"
#include "verdict/fault/fault.h"

namespace bicrl {

// One attempt's state.
struct Pipeline::Job {
  const VerificationRequest& request;
  std::stop_token stop;
  Verdict verdict;

  void fault(const std::string& reached, const Fault& fault) {
    verdict.outcome = fault.is_infrastructure() ? Outcome::kInfrastructure : Outcome::kCandidateFault;
    verdict.correct = false;
    verdict.reached = reached;
    verdict.fault_class = fault.is_infrastructure() ? "" : to_string(fault.fault_class);
    verdict.diagnostics = fault.reason;
  }
  void fault(const std::string& reached, FaultClass fault_class, const std::string& reason) {
    fault(reached, Fault::of_program(fault_class, reason));
  }
  void infrastructure(const std::string& reached, const std::string& reason) {
    fault(reached, Fault::infrastructure(reason));
  }

  void take(const Grade& grade) {
    verdict.reached = grade.graded ? "compare" : "run";
    verdict.outcome = grade.graded ? Outcome::kGraded : Outcome::kCandidateFault;
    verdict.fault_class = grade.fault ? to_string(grade.fault.fault_class) : "";
    verdict.correct = grade.graded && !grade.fault;
    verdict.trials_passed = grade.trials_passed;
    verdict.max_error_ratio = std::max(verdict.max_error_ratio, grade.max_error_ratio);
    verdict.diagnostics = grade.fault.reason;
  }

  // Measured times, where there are any.
  void take(const TimingResult& timed) {
    verdict.candidate_ms = timed.candidate_ms;
    verdict.candidate_spread_ms = timed.candidate_spread_ms;
    verdict.eager_ms = timed.eager_ms;
    verdict.eager_spread_ms = timed.eager_spread_ms;
    verdict.torch_compile_ms = timed.torch_compile_ms;
    verdict.roofline_fraction = std::min(timed.roofline_fraction, 1.0);
  }
};

// The task at one size of its inputs, and what is to be run of a program on it.
struct Pipeline::SizedTask {
  std::string code;                      // of the task's text, or of a variant of it
  std::shared_ptr<OracleTask> opened{};  // null: nothing is run at this size
  std::shared_ptr<const OracleSpec> spec{};
  std::shared_ptr<const OracleAnswers> known{};
  std::vector<const TestInput*> test_inputs{};  // of `known`
  RunPlan plan{};                               // on them
};

inline constexpr uint64_t kCountedSeed = 1;  // of addresses, on which counters do not depend

// Three digits, upwards: a kernel whose work depends on values of its inputs has a time that depends on
// secret ones in the sixth digit or so, which nobody shall learn from.
double coarse(double ms);

// What any program reads, where the reference moves so many bytes at least. Parameters do not count: a
// constructor may make less of them.
uint64_t least_read_bytes(const Trace& trace, uint64_t least_moved_bytes);

// Shapes of the inputs, "64x128, 128", and how many times as many rows times are of.
std::string size_text(const InputLayout& layout, uint64_t repeats = 1);

}  // namespace bicrl
