// Two tables that define the figures which a step reports about its responses. Rows of the first are sums,
// rows of the second are reported figures: the step line, metrics.jsonl, TensorBoard and docs/metrics.md
// follow from them. A new figure is a row of the second, and one of the first if it needs a sum that is not
// there.
// Plain values; thread-safe.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace bicrl {

// What the first table's rows may count, of a response, of a group and of a rank.
struct CountedResponse {
  bool is_asked;      // a verdict was asked for
  bool is_truncated;  // did not come to its end
  bool is_compiled;
  bool is_correct;
  bool is_novel;          // correct by a technique that no known program shows
  bool is_masked;         // left out of the update
  bool is_reduced;        // judged at reduced sizes of its task
  bool is_undecided;      // cannot be graded, right or wrong
  bool has_invalid_task;  // its task can never be graded
  bool is_lost;           // without a verdict through the verifier's fault
  bool is_straggler;      // of these: given up at the step's deadline
  double speedup;         // over eager, of a correct one; 0 if it is not known
  double reward;          // of one that is not masked
};
struct CountedGroup {
  bool is_repair;                    // was shown a failed attempt
  bool has_equal_rewards;            // teaches nothing for that
  bool has_too_few;                  // of its responses fewer than two count
  bool is_kept;                      // in the update although its rewards are equal
  double distinct_correct_programs;  // in it
};
struct CountedRank {
  double confirmed;  // responses whose success was verified a second time
  double generated_tokens;
  double forwards;  // in which its responses were denoised, each counted for itself
};

// X(name, what is added). All are whole numbers but kLogSpeedup, kReward and kRewardSquares; those are added
// up in the order of groups, so that a step's figures do not depend on which rank had which group.
#define BICRL_RESPONSE_SUMS(X)                                    \
  X(kResponses, 1)                                                \
  X(kAsked, r.is_asked)                                           \
  X(kKnown, !r.is_lost && !r.has_invalid_task && !r.is_undecided) \
  X(kTruncated, r.is_truncated)                                   \
  X(kCompiled, r.is_compiled)                                     \
  X(kCorrect, r.is_correct)                                       \
  X(kReduced, r.is_reduced)                                       \
  X(kUndecided, r.is_undecided)                                   \
  X(kNovel, r.is_novel)                                           \
  X(kTimed, r.speedup > 0)                                        \
  X(kFaster, r.speedup > 1)                                       \
  X(kLogSpeedup, r.speedup > 0 ? std::log(r.speedup) : 0)         \
  X(kMasked, r.is_masked)                                         \
  X(kInvalidTask, r.has_invalid_task)                             \
  X(kLost, r.is_lost)                                             \
  X(kStragglers, r.is_straggler)                                  \
  X(kRewarded, !r.is_masked)                                      \
  X(kReward, r.is_masked ? 0 : r.reward)                          \
  X(kRewardSquares, r.is_masked ? 0 : squared(r.reward))
#define BICRL_GROUP_SUMS(X)                                         \
  X(kGroups, 1)                                                     \
  X(kRepairs, g.is_repair)                                          \
  X(kZeroVariance, g.has_equal_rewards)                             \
  X(kTooFew, g.has_too_few)                                         \
  X(kKept, g.is_kept)                                               \
  X(kDropped, (g.has_equal_rewards || g.has_too_few) && !g.is_kept) \
  X(kInformative, !g.has_equal_rewards && !g.has_too_few)           \
  X(kUniqueCorrect, g.distinct_correct_programs)
#define BICRL_RANK_SUMS(X)          \
  X(kConfirmed, k.confirmed)        \
  X(kGenerated, k.generated_tokens) \
  X(kForwards, k.forwards)
// Known only of all ranks together; set once.
#define BICRL_STEP_SUMS(X)                                       \
  X(kUniquePrograms, the distinct programs of the step)          \
  X(kInvalidTasks, the tasks that the run has left out so far)   \
  X(kRefillRounds, the rounds in which a step with refill asked) \
  X(kSurplusTaken, the groups of the step before in its update)  \
  X(kSurplusKept, the groups that wait for the next step)        \
  X(kSurplusDropped, the groups of the step before that nothing uses)
#define BICRL_SUMS(X) BICRL_RESPONSE_SUMS(X) BICRL_GROUP_SUMS(X) BICRL_RANK_SUMS(X) BICRL_STEP_SUMS(X)

enum class Sum : size_t {
#define BICRL_SUM(name, ...) name,
  BICRL_SUMS(BICRL_SUM)
#undef BICRL_SUM
};
#define BICRL_SUM(...) +1
inline constexpr size_t kSums = BICRL_SUMS(BICRL_SUM);
#undef BICRL_SUM

struct StepSums {
  std::array<double, kSums> values{};

  double& operator[](Sum sum) { return values[static_cast<size_t>(sum)]; }
  double operator[](Sum sum) const { return values[static_cast<size_t>(sum)]; }
  StepSums& operator+=(const StepSums& other);
  void count(const CountedResponse& r);
  void count(const CountedGroup& g);
  void count(const CountedRank& k);
};

// How a figure follows from sums; a figure over nothing is 0.
enum class FigureKind {
  kCount,    // the sum itself, a whole number
  kMean,     // the sum divided by another one
  kGeomean,  // e to the power of that
  kSpread    // the standard deviation: of kReward and kRewardSquares over kRewarded
};
enum class FigureUnit { kNumber, kShare, kFactor };
// When a step line shows a figure's text.
enum class FigureShown { kNever, kAlways, kVerified, kTimed, kIfAny };

// X(name, key, kind, sum, over, unit, digits, shown, text). In a text {} is the figure itself, {key} another
// one, and {modelled} "modelled " if times come from the cost model. The step line has the rows' order.
#define BICRL_FIGURES(X)                                                                                     \
  X(kResponses, "responses", kCount, kResponses, kResponses, kNumber, 0, kNever, "")                         \
  X(kRewardMean, "reward_mean", kMean, kReward, kRewarded, kNumber, 3, kVerified,                            \
    " | reward {} +-{reward_spread}")                                                                        \
  X(kRewardSpread, "reward_spread", kSpread, kReward, kRewarded, kNumber, 3, kNever, "")                     \
  X(kCompileRate, "compile_rate", kMean, kCompiled, kKnown, kShare, 0, kVerified, " | compile {}")           \
  X(kCorrectRate, "correct_rate", kMean, kCorrect, kKnown, kShare, 0, kVerified, " | correct {}")            \
  X(kSpeedup, "geomean_speedup", kGeomean, kLogSpeedup, kTimed, kFactor, 2, kTimed,                          \
    " | {modelled}speed-up {}")                                                                              \
  X(kFast1, "fast_1", kMean, kFaster, kKnown, kShare, 0, kTimed, ", fast_1 {}")                              \
  X(kUniquePrograms, "unique_programs", kCount, kUniquePrograms, kUniquePrograms, kNumber, 0, kAlways,       \
    " | unique {}/{responses}")                                                                              \
  X(kUniqueCorrect, "unique_correct", kMean, kUniqueCorrect, kGroups, kNumber, 1, kVerified,                 \
    ", correct {} a group")                                                                                  \
  X(kReducedRate, "reduced_size_rate", kMean, kReduced, kKnown, kShare, 0, kIfAny, " | reduced sizes {}")    \
  X(kUndecidedRate, "undecided_rate", kMean, kUndecided, kResponses, kShare, 0, kIfAny, " | undecided {}")   \
  X(kNovelRate, "novel_rate", kMean, kNovel, kKnown, kShare, 0, kIfAny, " | novel {}")                       \
  X(kTruncatedRate, "truncated_rate", kMean, kTruncated, kResponses, kShare, 0, kIfAny, " | truncated {}")   \
  X(kMaskedRate, "masked_rate", kMean, kMasked, kResponses, kShare, 0, kNever, "")                           \
  X(kInvalidTaskRate, "invalid_task_rate", kMean, kInvalidTask, kResponses, kShare, 0, kIfAny,               \
    " | invalid task {}")                                                                                    \
  X(kInvalidTasks, "invalid_tasks", kCount, kInvalidTasks, kInvalidTasks, kNumber, 0, kNever, "")            \
  X(kLostRate, "infrastructure_rate", kMean, kLost, kResponses, kShare, 0, kIfAny, " | no verdict {}")       \
  X(kStragglers, "stragglers", kCount, kStragglers, kStragglers, kNumber, 0, kIfAny, " (given up {})")       \
  X(kConfirmed, "quarantined", kCount, kConfirmed, kConfirmed, kNumber, 0, kIfAny, " | confirmed {}")        \
  X(kGroups, "groups", kCount, kGroups, kGroups, kNumber, 0, kNever, "")                                     \
  X(kRepairs, "repairs", kCount, kRepairs, kRepairs, kNumber, 0, kIfAny, " | repairs {}/{groups}")           \
  X(kDropped, "dropped_groups", kCount, kDropped, kDropped, kNumber, 0, kVerified, " | dropped {}/{groups}") \
  X(kKept, "kept_groups", kCount, kKept, kKept, kNumber, 0, kIfAny, ", kept {}")                             \
  X(kZeroVariance, "zero_variance_groups", kCount, kZeroVariance, kZeroVariance, kNumber, 0, kNever, "")     \
  X(kTooFew, "too_few_groups", kCount, kTooFew, kTooFew, kNumber, 0, kNever, "")                             \
  X(kInformative, "informative_groups", kCount, kInformative, kInformative, kNumber, 0, kNever, "")          \
  X(kRefillRounds, "refill_rounds", kCount, kRefillRounds, kRefillRounds, kNumber, 0, kIfAny,                \
    " | informative {informative_groups}/{groups} in {} rounds")                                             \
  X(kSurplusTaken, "surplus_taken", kCount, kSurplusTaken, kSurplusTaken, kNumber, 0, kIfAny,                \
    " | surplus taken {}")                                                                                   \
  X(kSurplusKept, "surplus_kept", kCount, kSurplusKept, kSurplusKept, kNumber, 0, kIfAny,                    \
    " | surplus kept {}")                                                                                    \
  X(kSurplusDropped, "surplus_dropped", kCount, kSurplusDropped, kSurplusDropped, kNumber, 0, kIfAny,        \
    " | surplus dropped {}")                                                                                 \
  X(kGenerated, "generated_tokens", kCount, kGenerated, kGenerated, kNumber, 0, kNever, "")                  \
  X(kTokensPerForward, "tokens_per_forward", kMean, kGenerated, kForwards, kNumber, 2, kNever, "")

enum class Figure : size_t {
#define BICRL_FIGURE(name, ...) name,
  BICRL_FIGURES(BICRL_FIGURE)
#undef BICRL_FIGURE
};

// What a step says of its responses, over all ranks.
struct StepFigures {
  StepSums sums;
  std::map<std::string, double> reward_terms;    // the mean of each summand of the reward
  std::map<std::string, int64_t> fault_classes;  // responses
  std::string infrastructure_reason;             // why one of the lost responses is lost

  double operator[](Figure figure) const;
};

// The rows' texts for a step line, in their order. `verified`: whether there are verdicts at all.
std::string figures_text(const StepSums& sums, bool verified, bool modelled);
// Every figure by its key, and reward_terms and fault_classes; without verdicts none that they decide.
nlohmann::json to_json(const StepFigures& figures, bool verified = true);

}  // namespace bicrl
