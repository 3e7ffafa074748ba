// Quarantine: which verdicts must be repeated by a second verification with new secrets before they count,
// and what the two verdicts make together. A single false success dominates its group's advantages, and
// a result that looks too good to be true is mostly false. Pure logic: the caller asks needs_confirmation(),
// has the program verified anew (without the cache), and calls confirm(). Deterministic; not thread-safe.
#pragma once
#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

#include "common/config/config.h"
#include "verdict/verdict.h"

namespace bicrl {

struct QuarantineSettings {
  bool enabled = true;
  bool first_success = false;  // confirm successes on tasks that were never solved
  double speedup_above = 3;    // confirm speed-ups over eager above this
  double roofline_above = 1;   // confirm times above this share of what the device can do at most

  // Keys: enabled, first_success, speedup_above, roofline_above.
  static QuarantineSettings from_config(const ConfigSection& section);
};

class Quarantine {
 public:
  explicit Quarantine(const QuarantineSettings& settings) : settings_(settings) {}

  bool needs_confirmation(const std::string& task_id, const std::string& program,
                          const Verdict& verdict) const;
  // Why, for logs: "first_success", "speedup", "roofline", or "refused_before" if an earlier success of
  // the same program was not confirmed (a cache may still hold it); empty if no confirmation is needed.
  std::string reason(const std::string& task_id, const std::string& program, const Verdict& verdict) const;

  // The verdict that counts, of two for the same program. Both successes: the first, with the less favourable
  // times. The second a failure: candidate fault `unconfirmed`. The second an infrastructure outcome: that
  // outcome, so that the response is masked.
  Verdict confirm(const Verdict& first, const Verdict& second) const;

  // Tells which verdict counts for a response (after confirmation, if any): remembers solved tasks and, of
  // the latest, refused programs. In the same order on every rank.
  void note(const std::string& task_id, const std::string& program, const Verdict& verdict);
  bool is_solved(const std::string& task_id) const { return solved_.contains(task_id); }

  nlohmann::json state() const;
  // Throws InputError on an invalid state, and changes nothing then.
  void restore(const nlohmann::json& state);

 private:
  QuarantineSettings settings_;
  std::set<std::string> solved_;     // ordered, so that equal states are equal text
  std::deque<std::string> refused_;  // hashes of task and program, oldest first
};

}  // namespace bicrl
