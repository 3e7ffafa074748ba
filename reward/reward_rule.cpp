#include "reward/reward_rule.h"

#include <cmath>
#include <map>

namespace bicrl {
namespace {

constexpr int64_t kMostRampTokens = 1'000'000;

// A function-local object exists before the first registration, whatever the order of the files.
std::map<std::string, RewardRuleRegistration::Factory>& registry() {
  static std::map<std::string, RewardRuleRegistration::Factory> rules;
  return rules;
}

// The verdict as a rule may see it that wants times by another clock.
Verdict without_times(Verdict verdict) {
  verdict.candidate_ms = verdict.eager_ms = verdict.torch_compile_ms = verdict.roofline_fraction = 0;
  return verdict;
}

Reward masked(const std::string& reason) {
  Reward reward;
  reward.masked = true;
  reward.mask_reason = reason;
  return reward;
}

TruncationPolicy read_truncation(const ConfigSection& section) {
  const std::string name = section.choice("truncated", "mask", {"score", "mask", "penalise"});
  if (name == "penalise") return TruncationPolicy::kPenalise;
  return name == "score" ? TruncationPolicy::kScore : TruncationPolicy::kMask;
}

LengthRamp read_length_ramp(const ConfigSection& root) {
  const ConfigSection section = root.section("length_ramp");
  LengthRamp ramp;
  ramp.tokens = section.integer("tokens", ramp.tokens, 0, kMostRampTokens);
  ramp.penalty = section.real("penalty", ramp.penalty, 0, kMaxReward);
  if ((ramp.tokens > 0) != (ramp.penalty > 0))
    section.reject(ramp.tokens > 0 ? "penalty" : "tokens", "must be above 0, or the other has no effect");
  return ramp;
}

}  // namespace

RewardRuleRegistration::RewardRuleRegistration(const std::string& name, Factory factory) {
  const bool added = registry().emplace(name, std::move(factory)).second;
  BICRL_CHECK(added, "two reward rules are named ", name);
}

void RewardRule::needs(const ConfigSection& parameters, const std::string& key, OptionalFigure figure) {
  figure_needs_.push_back({.place = parameters.where(key), .figure = figure});
}

void RewardRule::needs(const std::vector<FigureNeed>& needs_of_part) {
  figure_needs_.insert(figure_needs_.end(), needs_of_part.begin(), needs_of_part.end());
}

std::vector<std::string> reward_rule_names() {
  std::vector<std::string> names;
  for (const auto& entry : registry()) names.push_back(entry.first);
  return names;
}

std::unique_ptr<RewardRule> make_reward_rule(const ConfigSection& section) {
  const std::string name = section.required_text("rule");
  section.choice("rule", reward_rule_names().front(), reward_rule_names());
  return registry().at(name)(section);
}

bool earns_correctness(const Verdict& verdict) {
  return verdict.outcome == Outcome::kGraded && verdict.correct;
}

namespace {

double trusted_ratio(const Verdict& verdict, double reference_ms) {
  if (!(reference_ms > 0) || !(verdict.candidate_ms > 0)) return 0;
  const double ratio = reference_ms / verdict.candidate_ms;
  return std::isfinite(ratio) ? ratio : 0;
}

}  // namespace

double trusted_speedup(const Verdict& verdict) { return trusted_ratio(verdict, verdict.eager_ms); }

double trusted_speedup_over_torch_compile(const Verdict& verdict) {
  return trusted_ratio(verdict, verdict.torch_compile_ms);
}

std::string time_term(const Verdict& verdict, const std::string& name) {
  return verdict.clock == kModelClock ? "modelled_" + name : name;
}

RewardFunction RewardFunction::from_file(const std::filesystem::path& path,
                                         const std::vector<std::string>& overrides, VerdictOrigin origin) {
  return RewardFunction(ConfigDocument::from_file(path, overrides), origin);
}

RewardFunction RewardFunction::from_text(const std::string& yaml, const std::string& name,
                                         VerdictOrigin origin) {
  return RewardFunction(ConfigDocument::from_text(yaml, name), origin);
}

RewardFunction::RewardFunction(const ConfigDocument& document, VerdictOrigin origin) {
  const ConfigSection root = document.root();
  rule_ = make_reward_rule(root);
  rule_name_ = root.required_text("rule");
  truncation_ = read_truncation(root);
  if (truncation_ == TruncationPolicy::kPenalise) {
    truncated_value_ = root.real("truncated_value", 0, -kMaxReward, kMaxReward);
  } else if (root.has("truncated_value")) {
    root.reject("truncated_value", "counts only with 'truncated: penalise'");
  }
  length_ramp_ = read_length_ramp(root);
  clock_ = kMeasuredClock;
  if (rule_->uses_times())
    clock_ = root.choice("clock", kMeasuredClock, {kMeasuredClock, kModelClock});
  else if (root.has("clock"))
    root.reject("clock", "counts only with a rule that uses times");
  min_deviation_ = root.real("min_deviation", rule_->min_deviation(), 0, kMaxMinDeviation);
  document.finish();
  if (origin == VerdictOrigin::kVerifier)
    for (const FigureNeed& need : figure_needs())
      if (!is_stated_by(clock_, need.figure))
        throw InputError(concat(need.place, ": ", refusal_reason(need.figure)));
  resolved_yaml_ = document.resolved_yaml();
}

double LengthRamp::lost(int64_t tokens_left) const {
  if (tokens == 0 || tokens_left >= tokens) return 0;
  return penalty * (1 - static_cast<double>(tokens_left) / static_cast<double>(tokens));
}

Reward RewardFunction::evaluate(const Verdict& verdict, bool truncated, int64_t tokens_left) const {
  if (truncated && truncation_ == TruncationPolicy::kMask) return masked("truncated");
  Reward reward;
  if (truncated && truncation_ == TruncationPolicy::kPenalise) {
    reward.terms = {{"truncated", truncated_value_}};
  } else if (!judges_program(verdict.outcome)) {
    return masked(to_string(verdict.outcome));
  } else {
    reward.terms = rule_->score(verdict.clock == clock_ ? verdict : without_times(verdict));
    if (length_ramp_.tokens > 0)
      reward.terms.push_back({"length", 0 - length_ramp_.lost(truncated ? 0 : tokens_left)});
  }
  for (const RewardTerm& term : reward.terms) {
    BICRL_CHECK(std::isfinite(term.value), "reward term ", term.name, " of rule ", rule_name_, " is ",
                term.value);
    reward.value += term.value;
  }
  return reward;
}

}  // namespace bicrl
