#include "reward/quarantine.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/hash.h"
#include "reward/reward_rule.h"

namespace bicrl {
namespace {

using nlohmann::json;

constexpr size_t kMaxRefused = 1024;
constexpr const char* kUnconfirmed = "unconfirmed";

const json& texts(const json& state, const char* field) {
  const auto found = state.is_object() ? state.find(field) : state.end();
  if (!state.is_object() || found == state.end() || !found->is_array() ||
      !std::ranges::all_of(*found, [](const json& text) { return text.is_string(); }))
    throw InputError(concat("quarantine state: field '", field, "' must be a list of texts"));
  return *found;
}

Verdict unconfirmed(const Verdict& first, const Verdict& second) {
  Verdict verdict = second;
  verdict.request_id = first.request_id;
  verdict.outcome = Outcome::kCandidateFault;
  verdict.correct = false;
  verdict.fault_class = kUnconfirmed;
  verdict.diagnostics = concat("a success that a second verification did not repeat: ",
                               second.fault_class.empty() ? to_string(second.outcome) : second.fault_class,
                               second.diagnostics.empty() ? "" : ": ", second.diagnostics);
  return verdict;
}

// A measurement made twice is worth as much as the worse of the two; together with its own reference, as the
// machine may have been slower as a whole.
void take_slower_times(Verdict& verdict, const Verdict& second) {
  if (!(second.speedup() >= verdict.speedup())) {  // impossible times included
    verdict.candidate_ms = second.candidate_ms;
    verdict.candidate_spread_ms = second.candidate_spread_ms;
    verdict.eager_ms = second.eager_ms;
    verdict.eager_spread_ms = second.eager_spread_ms;
    verdict.torch_compile_ms = second.torch_compile_ms;
    verdict.roofline_fraction = second.roofline_fraction;
    verdict.measurement = second.measurement;
    verdict.costed_at = second.costed_at;
  }
}

void take_weaker_standing(Verdict& verdict, const Verdict& second) {
  verdict.trials += second.trials;
  verdict.trials_passed += second.trials_passed;
  verdict.lane_operations += second.lane_operations;
  verdict.max_error_ratio = std::max(verdict.max_error_ratio, second.max_error_ratio);
  verdict.cached = false;
}

}  // namespace

QuarantineSettings QuarantineSettings::from_config(const ConfigSection& section) {
  QuarantineSettings s;
  s.enabled = section.boolean("enabled", s.enabled);
  s.first_success = section.boolean("first_success", s.first_success);
  s.speedup_above = section.real("speedup_above", s.speedup_above, 1);
  s.roofline_above = section.real("roofline_above", s.roofline_above, 0, 1);
  return s;
}

std::string Quarantine::reason(const std::string& task_id, const std::string& program,
                               const Verdict& verdict) const {
  if (!settings_.enabled || !earns_correctness(verdict)) return "";
  if (settings_.first_success && !is_solved(task_id)) return "first_success";
  if (verdict.speedup() > settings_.speedup_above) return "speedup";
  if (verdict.roofline_fraction > settings_.roofline_above) return "roofline";
  if (!refused_.empty() && std::ranges::find(refused_, hash_hex({task_id, program})) != refused_.end())
    return "refused_before";
  return "";
}

bool Quarantine::needs_confirmation(const std::string& task_id, const std::string& program,
                                    const Verdict& verdict) const {
  return !reason(task_id, program, verdict).empty();
}

Verdict Quarantine::confirm(const Verdict& first, const Verdict& second) const {
  BICRL_CHECK(earns_correctness(first), "only a success is confirmed");
  if (!judges_program(second.outcome)) {
    Verdict verdict = second;
    verdict.request_id = first.request_id;
    verdict.correct = false;
    verdict.diagnostics = concat("no second verification: ", second.diagnostics);
    return verdict;
  }
  if (!earns_correctness(second)) return unconfirmed(first, second);
  Verdict verdict = first;
  take_slower_times(verdict, second);
  take_weaker_standing(verdict, second);
  return verdict;
}

void Quarantine::note(const std::string& task_id, const std::string& program, const Verdict& verdict) {
  if (earns_correctness(verdict)) solved_.insert(task_id);
  if (verdict.fault_class != kUnconfirmed) return;
  const std::string hash = hash_hex({task_id, program});
  std::erase(refused_, hash);
  refused_.push_back(hash);
  if (refused_.size() > kMaxRefused) refused_.pop_front();
}

json Quarantine::state() const { return {{"solved", solved_}, {"refused", refused_}}; }

void Quarantine::restore(const json& state) {
  const json &solved = texts(state, "solved"), &refused = texts(state, "refused");
  solved_ = solved.get<std::set<std::string>>();
  refused_ = refused.get<std::deque<std::string>>();
}

}  // namespace bicrl
