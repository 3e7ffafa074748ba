// A request to a verifier: a candidate, its task, and how to compare it. Plain values.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace bicrl {

// How far an output may lie from the reference's in fp64, element by element.
enum class TolerancePolicy {
  kOpen,      // whoever is asked chooses
  kProfile,   // what the task's oracle allows: the reference's own error, rounding, and 1e-4 of the scale
  kTf32,      // the same with 5e-3 of the scale, for products in TF32
  kPublished  // |y - y64| <= 1e-2 + 1e-2 |y64|
};

std::string_view to_string(TolerancePolicy policy);  // "open", "profile", "tf32", "published"
// The policy of which to_string() makes this name.
std::optional<TolerancePolicy> parse_tolerance(std::string_view name);

// At which sizes of its inputs a program is compared with its task's reference.
enum class SizePolicy {
  kOpen,     // whoever is asked chooses
  kFitting,  // the task's own where they can be run; else reduced ones
  kOwn,      // the task's own; a task that is too large for that is invalid
  kReduced   // reduced ones, for every task
};

std::string_view to_string(SizePolicy policy);  // "open", "fitting", "own", "reduced"
std::optional<SizePolicy> parse_size_policy(std::string_view name);

// What a program is whose host part refuses reduced sizes, and not the task's own.
enum class SpecialisedPolicy {
  kOpen,       // whoever is asked chooses
  kIncorrect,  // a candidate fault
  kMask        // neither correct nor incorrect
};

// "open", "wrong", "mask": on the wire and in keys of verdicts, so that ledgers of earlier runs stay
// readable.
std::string_view to_string(SpecialisedPolicy policy);
std::optional<SpecialisedPolicy> parse_specialised_policy(std::string_view name);
// "open", "incorrect", "mask": in configuration files.
std::string_view config_name(SpecialisedPolicy policy);
std::optional<SpecialisedPolicy> parse_config_name(std::string_view name);

// How a candidate is compared with its task's reference. Zero, or kOpen, leaves a choice to whoever is asked.
struct VerificationProtocol {
  TolerancePolicy tolerance = TolerancePolicy::kOpen;
  int trials = 0;             // comparisons, each on secret inputs of its own
  bool measure_time = false;  // else correctness only
  SizePolicy size = SizePolicy::kOpen;
  SpecialisedPolicy specialised = SpecialisedPolicy::kOpen;

  // This one, with what it leaves open filled in from `defaults`. Times are measured if either asks for them.
  VerificationProtocol or_else(const VerificationProtocol& defaults) const;
  bool operator==(const VerificationProtocol&) const = default;
};

// What a verifier does if neither its configuration nor a request says otherwise.
inline constexpr VerificationProtocol kDefaultProtocol{.tolerance = TolerancePolicy::kProfile,
                                                       .trials = 4,
                                                       .size = SizePolicy::kFitting,
                                                       .specialised = SpecialisedPolicy::kIncorrect};
inline constexpr int kMaxTrials = 32;

// "tolerance profile, 4 trials, size fitting, specialised wrong, times": protocols that differ read
// differently.
std::string to_string(const VerificationProtocol& protocol);

struct VerificationRequest {
  std::string request_id;  // chosen by whoever asks, returned with the verdict
  std::string task_id;
  std::string pytorch_code;         // defines Model, get_inputs() and get_init_inputs()
  std::string program;              // defines ModelNew; bytes that are no UTF-8 reach the verifier as U+FFFD
  VerificationProtocol protocol{};  // wishes: what is left open is the verifier's choice
  // JSON, a list of reduced sizes of the task, each {name of a constant: value}; empty: they are found.
  std::string reduced_sizes{};
  // Verify anew, in the client and in the server, whatever is known of this program: a second opinion on
  // other secret inputs.
  bool fresh = false;
  bool operator==(const VerificationRequest&) const = default;
};

// Empty, or what no verifier can do, naming the field as proto/verifier.proto does.
std::string request_problem(const VerificationRequest& request);

}  // namespace bicrl
