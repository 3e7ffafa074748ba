// Reward rules: from a stored verdict to a number, as a YAML file says. A new rule is one file
// reward/rule_NAME.cpp that derives from RewardRule and registers itself in one line. Rules and reward
// functions are immutable once made and may be used from any thread.
#pragma once
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "reward/optional_figure.h"
#include "verdict/verdict.h"

namespace bicrl {

// What a response cut off by the token limit is worth.
enum class TruncationPolicy {
  kScore,    // its verdict counts like any other
  kMask,     // it is left out
  kPenalise  // a fixed value, whatever the verdict
};

// What a response loses that comes near its token limit: from `tokens` before the limit on in proportion, so
// that between a response that just ended and one that was cut off there is a slope and no cliff (the soft
// penalty of DAPO). One that is cut off and scored by its verdict loses the whole.
struct LengthRamp {
  int64_t tokens = 0;  // 0: there is none
  double penalty = 0;
  double lost(int64_t tokens_left) const;
};
inline constexpr int64_t kFarFromLimit = std::numeric_limits<int64_t>::max();

// A summand of a reward. Names go to the logs.
struct RewardTerm {
  std::string name;
  double value = 0;
  bool operator==(const RewardTerm&) const = default;
};

struct Reward {
  double value = 0;         // sum of the terms; 0 if masked
  bool masked = false;      // neither good nor bad: left out of the statistics and of the update
  std::string mask_reason;  // "infrastructure", "invalid_task" or "truncated"
  std::vector<RewardTerm> terms;
  bool operator==(const Reward&) const = default;
};

class RewardRule {
 public:
  virtual ~RewardRule() = default;
  // Never called with an infrastructure outcome. The terms are the same, by name and order, for every verdict
  // of one backend; all are finite.
  virtual std::vector<RewardTerm> score(const Verdict& verdict) const = 0;
  // Whether the verifier has to measure times.
  virtual bool uses_times() const { return false; }
  // The floor under a group's standard deviation if the reward file names none, in units of the values: how
  // far they differ by noise alone. 0 if they are steps far apart.
  virtual double min_deviation() const = 0;
  // Options of the file that need a figure which only some verifiers report.
  const std::vector<FigureNeed>& figure_needs() const { return figure_needs_; }

 protected:
  // For constructors: `key` is set to a value that has no effect without `figure`.
  void needs(const ConfigSection& parameters, const std::string& key, OptionalFigure figure);
  void needs(const std::vector<FigureNeed>& needs_of_part);

 private:
  std::vector<FigureNeed> figure_needs_;
};

// Where the verdicts come from that a reward is made for.
enum class VerdictOrigin {
  kVerifier,  // an option that needs a figure which not every such verdict has is refused
  kStored     // it is taken: another version may have stored such verdicts
};

// A rule with its parameters. Verdicts of infrastructure outcomes are masked, never 0.
class RewardFunction {
 public:
  // Refuses unknown rules and parameters (InputError with file and line).
  static RewardFunction from_file(const std::filesystem::path& path,
                                  const std::vector<std::string>& overrides = {},
                                  VerdictOrigin origin = VerdictOrigin::kVerifier);
  static RewardFunction from_text(const std::string& yaml, const std::string& name,
                                  VerdictOrigin origin = VerdictOrigin::kVerifier);

  // `tokens_left`: of the response's limit when it came to its end; of no effect on a truncated one.
  Reward evaluate(const Verdict& verdict, bool truncated, int64_t tokens_left = kFarFromLimit) const;
  // False if the verdict of a truncated response cannot matter, so that it need not be asked for.
  bool needs_verdict(bool truncated) const { return !truncated || truncation_ == TruncationPolicy::kScore; }
  bool masks_truncated() const { return truncation_ == TruncationPolicy::kMask; }
  bool uses_times() const { return rule_->uses_times(); }
  // Whose times count; those of a verdict with another clock do not. "measured" (measured) unless the file
  // says "model" (modelled).
  const std::string& clock() const { return clock_; }
  // Of a run only those that verdicts of its clock are sure to have; it refuses the others.
  const std::vector<FigureNeed>& figure_needs() const { return rule_->figure_needs(); }
  // What group_advantage() takes.
  double min_deviation() const { return min_deviation_; }
  const std::string& rule_name() const { return rule_name_; }
  // Every parameter with its value, for run directories and --dry-run.
  const std::string& resolved_yaml() const { return resolved_yaml_; }

 private:
  RewardFunction(const ConfigDocument& document, VerdictOrigin origin);
  std::string rule_name_;
  std::shared_ptr<const RewardRule> rule_;
  TruncationPolicy truncation_ = TruncationPolicy::kMask;
  double truncated_value_ = 0;
  LengthRamp length_ramp_;
  double min_deviation_ = 0;
  std::string clock_;
  std::string resolved_yaml_;
};

// Makes the rule that the section's key `rule` names, with the section's other keys as its parameters.
std::unique_ptr<RewardRule> make_reward_rule(const ConfigSection& section);
std::vector<std::string> reward_rule_names();  // sorted

// Correct in the sense of every rule: it was graded and passed.
bool earns_correctness(const Verdict& verdict);

// Speed-up over the eager reference, or over torch.compile; 0 if it was not measured or is impossible.
double trusted_speedup(const Verdict& verdict);
double trusted_speedup_over_torch_compile(const Verdict& verdict);

// The term's name, marked if the verdict's times are modelled: a log must not show them as measured.
std::string time_term(const Verdict& verdict, const std::string& name);

// Bound of every parameter that is a reward or a weight, so that no sum of terms overflows.
inline constexpr double kMaxReward = 1e6;
// Above the default of any composite that such parameters and the size of a reward file allow.
inline constexpr double kMaxMinDeviation = 1e18;

// For a cap of 0 on a speed-up that has a weight: times would be measured for nothing.
inline constexpr const char* kNothingOfSpeed =
    "leaves nothing of the speed-up; 'speedup_weight: 0' leaves it out";

// For a 'correct' of 0 without a weight of speed: nothing is left to learn from.
inline constexpr const char* kNothingEarned =
    "must be above 0, or 'speedup_weight' must be: else every program earns 0";

// Speed-ups that differ by less may differ by noise: 5 %, the margin of CUDA Agent's milestones.
inline constexpr double kSpeedupNoise = 0.05;

// A namespace-scope object of this type makes a rule known.
struct RewardRuleRegistration {
  using Factory = std::function<std::unique_ptr<RewardRule>(const ConfigSection& parameters)>;
  RewardRuleRegistration(const std::string& name, Factory factory);
};

}  // namespace bicrl
