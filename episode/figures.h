// What a step says of its responses, as one table: ranks add up its sums, and step lines, metrics.jsonl,
// TensorBoard and docs/metrics.md are made of its rows. A new figure is one line below, and one for each sum
// that it needs and nobody counts yet. Plain values; thread-safe.
#pragma once
#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace bicrl {

// Sums over responses or groups. All are whole numbers but the last four, which are added up in the order of
// groups, so that a step's figures do not depend on which rank had which group.
#define BICRL_SUMS(X)                                                                    \
  X(kResponses) /* all responses */                                                      \
  X(kAsked)     /* that a verdict was asked for */                                       \
  X(kKnown)     /* that the verifier neither lost nor can never grade */                 \
  X(kCompiled)                                                                           \
  X(kCorrect)                                                                            \
  X(kNovel)       /* correct by a technique that no known program shows */               \
  X(kTruncated)   /* did not come to their end */                                        \
  X(kMasked)      /* left out of the update */                                           \
  X(kInvalidTask) /* whose task can never be graded */                                   \
  X(kLost)        /* without a verdict through the verifier's fault */                   \
  X(kStragglers)  /* of these: given up at the step's deadline */                        \
  X(kConfirmed)   /* whose success was verified a second time */                         \
  X(kTimed)       /* correct ones whose speed-up over eager is known */                  \
  X(kFaster)      /* of these: above 1 */                                                \
  X(kRewarded)    /* that are not masked */                                              \
  X(kGroups)                                                                             \
  X(kRepairs)       /* groups that were shown a failed attempt */                        \
  X(kZeroVariance)  /* groups whose rewards are all equal */                             \
  X(kTooFew)        /* groups of which fewer than two responses count */                 \
  X(kDropped)       /* groups that teach nothing: the two before together */             \
  X(kUniqueCorrect) /* distinct correct programs, added up over groups */                \
  X(kGenerated)     /* tokens */                                                         \
  X(kForwards)                                                                           \
  X(kUniquePrograms) /* distinct programs of the step; set once, over all ranks */       \
  X(kInvalidTasks)   /* tasks that the run has found so far; set once, over all ranks */ \
  X(kLogSpeedup)     /* of the timed ones */                                             \
  X(kReward)                                                                             \
  X(kRewardSquares)

enum class Sum : size_t {
#define BICRL_SUM(name) name,
  BICRL_SUMS(BICRL_SUM)
#undef BICRL_SUM
};
#define BICRL_SUM(name) +1
inline constexpr size_t kSums = BICRL_SUMS(BICRL_SUM);
#undef BICRL_SUM

struct StepSums {
  std::array<double, kSums> values{};

  double& operator[](Sum sum) { return values[static_cast<size_t>(sum)]; }
  double operator[](Sum sum) const { return values[static_cast<size_t>(sum)]; }
  StepSums& operator+=(const StepSums& other);
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

// Text of the line: {} is the figure itself, {key} another one, {modelled} "modelled " if the times are.
#define BICRL_FIGURES(X)                                                                                   \
  X(kResponses, "responses", kCount, kResponses, kResponses, kNumber, 0, kNever, "")                       \
  X(kRewardMean, "reward_mean", kMean, kReward, kRewarded, kNumber, 3, kVerified,                          \
    " | reward {} +-{reward_spread}")                                                                      \
  X(kRewardSpread, "reward_spread", kSpread, kReward, kRewarded, kNumber, 3, kNever, "")                   \
  X(kCompileRate, "compile_rate", kMean, kCompiled, kKnown, kShare, 0, kVerified, " | compile {}")         \
  X(kCorrectRate, "correct_rate", kMean, kCorrect, kKnown, kShare, 0, kVerified, " | correct {}")          \
  X(kTimed, "timed", kCount, kTimed, kTimed, kNumber, 0, kNever, "")                                       \
  X(kSpeedup, "geomean_speedup", kGeomean, kLogSpeedup, kTimed, kFactor, 2, kTimed,                        \
    " | {modelled}speed-up {}")                                                                            \
  X(kFast1, "fast_1", kMean, kFaster, kKnown, kShare, 0, kTimed, ", fast_1 {}")                            \
  X(kUniquePrograms, "unique_programs", kCount, kUniquePrograms, kUniquePrograms, kNumber, 0, kAlways,     \
    " | unique {}/{responses}")                                                                            \
  X(kUniqueCorrect, "unique_correct", kMean, kUniqueCorrect, kGroups, kNumber, 1, kVerified,               \
    ", correct {} a group")                                                                                \
  X(kNovelRate, "novel_rate", kMean, kNovel, kKnown, kShare, 0, kIfAny, " | novel {}")                     \
  X(kTruncatedRate, "truncated_rate", kMean, kTruncated, kResponses, kShare, 0, kIfAny, " | truncated {}") \
  X(kMaskedRate, "masked_rate", kMean, kMasked, kResponses, kShare, 0, kNever, "")                         \
  X(kInvalidTaskRate, "invalid_task_rate", kMean, kInvalidTask, kResponses, kShare, 0, kIfAny,             \
    " | invalid task {}")                                                                                  \
  X(kInvalidTasks, "invalid_tasks", kCount, kInvalidTasks, kInvalidTasks, kNumber, 0, kNever, "")          \
  X(kLostRate, "infrastructure_rate", kMean, kLost, kResponses, kShare, 0, kIfAny, " | no verdict {}")     \
  X(kStragglers, "stragglers", kCount, kStragglers, kStragglers, kNumber, 0, kIfAny, " (given up {})")     \
  X(kConfirmed, "quarantined", kCount, kConfirmed, kConfirmed, kNumber, 0, kIfAny, " | confirmed {}")      \
  X(kGroups, "groups", kCount, kGroups, kGroups, kNumber, 0, kNever, "")                                   \
  X(kRepairs, "repairs", kCount, kRepairs, kRepairs, kNumber, 0, kIfAny, " | repairs {}/{groups}")         \
  X(kDropped, "dropped_groups", kCount, kDropped, kDropped, kNumber, 0, kVerified,                         \
    " | zero variance {}/{groups}")                                                                        \
  X(kZeroVariance, "zero_variance_groups", kCount, kZeroVariance, kZeroVariance, kNumber, 0, kNever, "")   \
  X(kTooFew, "too_few_groups", kCount, kTooFew, kTooFew, kNumber, 0, kNever, "")                           \
  X(kGenerated, "generated_tokens", kCount, kGenerated, kGenerated, kNumber, 0, kNever, "")                \
  X(kTokensPerForward, "tokens_per_forward", kMean, kGenerated, kForwards, kNumber, 2, kNever, "")

enum class Figure : size_t {
#define BICRL_FIGURE(name, ...) name,
  BICRL_FIGURES(BICRL_FIGURE)
#undef BICRL_FIGURE
};

double value_of(const StepSums& sums, Figure figure);
int64_t count_of(const StepSums& sums, Figure figure);  // of a kCount

// The rows' texts for a step line, in their order. `verified`: whether there are verdicts at all.
std::string figures_text(const StepSums& sums, bool verified, bool modelled);
// Every figure by its key.
nlohmann::json to_json(const StepSums& sums);
std::vector<std::string> figure_keys();

}  // namespace bicrl
