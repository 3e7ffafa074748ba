// The verifier's verdict on a candidate. Rewards are computed from stored verdicts, so it holds all that a
// reward may ask for.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace bicrl {

enum class Outcome {
  kGraded,
  kCandidateFault,
  kInfrastructure,  // the verifier's own fault: asking again may help
  kInvalidTask,     // the task can never be graded by this verifier: asking again will not help
  kUndecided        // the program cannot be graded by this verifier, right or wrong; the task can
};
// Whether the outcome says anything about the program.
constexpr bool judges_program(Outcome outcome) {
  return outcome == Outcome::kGraded || outcome == Outcome::kCandidateFault;
}

// At which sizes of its inputs a program was judged: the task's own, or reduced ones.
inline constexpr const char* kOwnSize = "own";
inline constexpr const char* kReducedSize = "reduced";

// Of a verdict whose times the cost model made, and of one whose times a GPU took.
inline constexpr const char* kModelClock = "model";
inline constexpr const char* kMeasuredClock = "measured";

struct Verdict {
  std::string request_id;
  Outcome outcome = Outcome::kInfrastructure;
  std::string fault_class;  // empty if correct; see verdict/fault/fault_class.h
  std::string reached;      // how far it came: extract, compile, record, run, compare, time
  bool compiled = false;
  bool correct = false;
  int trials = 0;
  int trials_passed = 0;
  double max_error_ratio = 0;  // largest |error| over what is allowed there; 1 is the limit
  std::string tolerance;       // the policy under which it was graded (verification_request.h); else empty
  std::string graded_at;       // kOwnSize or kReducedSize; empty if it was not compared
  double candidate_ms = 0, eager_ms = 0, candidate_spread_ms = 0, eager_spread_ms = 0;
  double torch_compile_ms = 0;   // of the reference under torch.compile; 0 if not known
  double roofline_fraction = 0;  // the device's least possible time over candidate_ms; 0 if not known
  std::string clock;             // where the times come from (kModelClock is no measurement); empty: nowhere
  std::string device;            // its name and the version of the tables, or of how times are taken
  std::string costed_at;    // kOwnSize: times are of what ran there; kReducedSize: of counters extrapolated
  std::string costed_size;  // shapes of the inputs that times are of, "64x128, 128"
  std::string counters;     // of kModelClock: JSON, a list of the program's launches and what each did
  std::string measurement;  // of kMeasuredClock: JSON, how sure the times are and how the device was
  std::string diagnostics;
  double compile_ms = 0, record_ms = 0, run_ms = 0, total_ms = 0;
  int64_t lane_operations = 0;  // work of all its runs; 0 if none ran
  bool cached = false;
  std::string backend;

  double pass_rate() const { return trials > 0 ? double(trials_passed) / trials : 0.0; }
  // Eager time over candidate time; 0 if either is missing.
  double speedup() const { return candidate_ms > 0 && eager_ms > 0 ? eager_ms / candidate_ms : 0.0; }
  bool operator==(const Verdict&) const = default;
};

// "graded", "candidate_fault", "infrastructure", "invalid_task", "undecided"
std::string to_string(Outcome outcome);
// Empty, or which field contradicts another or has a value that nothing can have (a negative time, more
// trials passed than made). Verdicts come from other processes: whoever reads one asks this first.
std::string verdict_problem(const Verdict& verdict);
nlohmann::json to_json(const Verdict& verdict);
Verdict verdict_from_json(const nlohmann::json& json);  // throws InputError naming the field

}  // namespace bicrl
