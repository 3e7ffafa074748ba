// What a verifier is asked: a candidate, its task, and how to compare it. Plain values.
#pragma once
#include <string>

namespace bicrl {

// How a candidate is compared with its task's reference. Zero leaves a choice to whoever is asked.
struct VerificationProtocol {
  // Right is what has |candidate - expected| <= atol + rtol * |expected| in every element.
  double atol = 0;
  double rtol = 0;
  int trials = 0;             // comparisons, each on secret inputs of its own
  bool measure_time = false;  // else correctness only

  // This one, with its zeros filled in from `defaults`. Times are measured if either asks for them.
  VerificationProtocol or_else(const VerificationProtocol& defaults) const;
  bool operator==(const VerificationProtocol&) const = default;
};

// What a verifier does if neither its configuration nor a request says otherwise.
inline constexpr VerificationProtocol kDefaultProtocol{.atol = 1e-2, .rtol = 1e-2, .trials = 3};
inline constexpr int kMaxTrials = 32;

// "atol 0.01, rtol 0.01, 3 trials, times": exact, so that protocols that differ read differently.
std::string to_string(const VerificationProtocol& protocol);

struct VerificationRequest {
  std::string request_id;  // chosen by whoever asks, returned with the verdict
  std::string task_id;
  std::string pytorch_code;         // defines Model, get_inputs() and get_init_inputs()
  std::string program;              // defines ModelNew; bytes that are no UTF-8 reach the verifier as U+FFFD
  VerificationProtocol protocol{};  // wishes: what is left open is the verifier's choice
  // Verify anew, in the client and in the server, whatever is known of this program: a second opinion on
  // other secret inputs.
  bool fresh = false;
  bool operator==(const VerificationRequest&) const = default;
};

// Empty, or what no verifier can do, naming the field as proto/verifier.proto does.
std::string request_problem(const VerificationRequest& request);

}  // namespace bicrl
