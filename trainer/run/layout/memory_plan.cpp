#include "trainer/run/layout/memory_plan.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "common/error.h"
#include "policy/attention/kv_cache.h"
#include "rollout/decoding/scheduler.h"

namespace bicrl {
namespace {

// What a driver, its libraries, NCCL and the allocator take beside tensors, which is 2.3 to 4 GiB
// (bench/memory.md): left free where a form with it is to be had, and the least without which none runs.
constexpr int64_t kBesideTensors_bytes = int64_t{4} << 30;
constexpr int64_t kLeastBesideTensors_bytes = int64_t{3} << 29;

// How much longer updates take than those of the fastest form. With stage 2 gradients are summed in every
// pass (1.7B: 3.46 s beside 3.13), with stage 3 parameters are gathered there as well (8B: 9.25 s
// beside 8.23; bench/collectives.md).
constexpr double kStageCost[] = {1, 1, 1.10, 1.12};
// bench/update.md: whole updates of 1.7B for full, forward and backward for selective.
double recompute_cost(Recompute recompute) {
  return recompute == Recompute::kNone ? 1 : recompute == Recompute::kSelective ? 1.03 : 1.24;
}

// Pages of the cache in the use that asks for most, and those that the longest request may need.
struct CacheUse {
  int64_t pages = 0, of_request = 0;
};
CacheUse largest_cache_use(const RunSettings& settings, const RunWork& work) {
  const PolicyConfig config = policy_shape(settings.policy);
  CacheUse largest;
  for (const auto& [decoding, requested] : work.generations) {
    if (decoding.cache_tokens > 0) continue;  // the settings' own limit
    const RequestBudget request =
        budget_of(requested.prompt_tokens, config.block_size, decoding.max_new_tokens);
    largest.pages = std::max(largest.pages, cache_pages(config, decoding, requested));
    largest.of_request = std::max(largest.of_request, request.pages());
  }
  return largest;
}

// The part of a plan that is the same for all forms, and what each of them leaves for the cache.
class Planner {
 public:
  Planner(const RunSettings& settings, const RunInputs& inputs, const Placement& placement)
      : settings_(settings),
        placement_(placement),
        generator_(placement.generator_of(0)),
        training_(work_of_run(settings, inputs, placement, kTrainer)),
        generating_(placement.is_split() ? work_of_run(settings, inputs, placement, generator_) : training_),
        use_(largest_cache_use(settings, generating_)) {}

  std::optional<MemoryPlan> fastest(int64_t room_bytes) const {
    std::optional<MemoryPlan> best;
    double least = std::numeric_limits<double>::infinity();
    for (const Recompute recompute : recomputes())
      for (const Sharding sharding : shardings()) {
        const auto plan = form({.sharding = sharding, .recompute = recompute}, room_bytes);
        if (!plan) continue;
        // A step generates and trains, at first sight equally long. Half of the cache decodes half of the
        // responses at a time, in forwards that take nearly as long (bench/whole_step.md).
        const double cost = update_cost(*plan, placement_.trainers()) + 1 / plan->cache_share;
        if (cost >= least) continue;
        least = cost;
        best = plan;
      }
    return best;
  }

  MemoryPlan smallest() const { return {.sharding = shardings().back(), .recompute = recomputes().back()}; }

 private:
  static constexpr int kTrainer = 0;  // the first rank trains in every placement

  std::vector<Sharding> shardings() const {
    if (settings_.trainer.sharding) return {*settings_.trainer.sharding};
    if (placement_.trainers() == 1) return {Sharding{}};
    return {{0}, {1}, {2}, {3}};
  }
  std::vector<Recompute> recomputes() const {
    if (settings_.trainer.recompute) return {*settings_.trainer.recompute};
    return {Recompute::kNone, Recompute::kSelective, Recompute::kFull};
  }

  // None if it does not fit with a cache that holds the longest request.
  std::optional<MemoryPlan> form(MemoryPlan plan, int64_t room_bytes) const {
    const RunSettings settings = with_plan(settings_, plan);
    MemoryBudget budget = budget_of_run(settings, training_, placement_, kTrainer);
    if (budget.training_bytes() > room_bytes) return std::nullopt;
    if (placement_.is_split()) {
      if (budget.generating_bytes() > room_bytes) return std::nullopt;
      budget = budget_of_run(settings, generating_, placement_, generator_);
    }
    if (budget.generating_bytes() <= room_bytes) return plan;
    const auto fits = [&](int64_t pages) {
      budget.decoding = largest_decoding(settings, generating_, pages * KvCache::kPageTokens);
      return budget.generating_bytes() <= room_bytes;
    };
    if (use_.of_request == 0 || !fits(use_.of_request)) return std::nullopt;
    int64_t fitting = use_.of_request, beyond = use_.pages;
    while (beyond - fitting > 1) {
      const int64_t middle = fitting + (beyond - fitting) / 2;
      (fits(middle) ? fitting : beyond) = middle;
    }
    plan.cache_tokens = fitting * KvCache::kPageTokens;
    plan.cache_share = static_cast<double>(fitting) / static_cast<double>(use_.pages);
    return plan;
  }

  const RunSettings& settings_;
  const Placement& placement_;
  int generator_;
  RunWork training_, generating_;
  CacheUse use_;
};

}  // namespace

MemoryPlan plan_memory(const RunSettings& settings, const RunInputs& inputs, const Placement& placement,
                       int64_t limit_bytes) {
  if (settings.policy.device == "cpu")
    return {.sharding = settings.trainer.sharding.value_or(Sharding{}),
            .recompute = settings.trainer.recompute.value_or(Recompute::kNone)};
  const Planner planner(settings, inputs, placement);
  if (const auto plan = planner.fastest(limit_bytes - kBesideTensors_bytes)) return *plan;
  return planner.fastest(limit_bytes - kLeastBesideTensors_bytes).value_or(planner.smallest());
}

double update_cost(const MemoryPlan& plan, int trainers) {
  return (trainers > 1 ? kStageCost[plan.sharding.stage] : 1) * recompute_cost(plan.recompute);
}

RunSettings with_plan(RunSettings settings, const MemoryPlan& plan) {
  settings.trainer.sharding = plan.sharding;
  settings.trainer.recompute = plan.recompute;
  const auto limit = [&](DecodingSettings& decoding) {
    if (decoding.cache_tokens == 0) decoding.cache_tokens = plan.cache_tokens;
  };
  for (StageSettings& stage : settings.stages) limit(stage.decoding);
  limit(settings.evaluation.decoding);
  limit(settings.evaluation.best_of.decoding);
  return settings;
}

std::optional<MemoryPlan> fitting_plan(const RunSettings& settings, const RunInputs& inputs,
                                       const Placement& placement, int64_t limit_bytes) {
  const MemoryPlan plan = plan_memory(settings, inputs, placement, limit_bytes);
  const RunSettings planned = with_plan(settings, plan);
  const int64_t room_bytes = limit_bytes - (settings.policy.device == "cpu" ? 0 : kLeastBesideTensors_bytes);
  const auto fits = [&](int rank) {
    return budget_of_run(planned, inputs, placement, rank).peak_bytes() <= room_bytes;
  };
  if (!fits(0) || !fits(placement.generator_of(0))) return std::nullopt;
  return plan;
}

std::string plan_text(const RunSettings& settings, const Placement& placement, const MemoryPlan& plan) {
  std::string text;
  const auto line = [&](const std::string& words) { text += (text.empty() ? "" : "\n") + words; };
  if (!settings.trainer.sharding && placement.trainers() > 1)
    line(concat("trainer.sharding_stage: auto is ", plan.sharding.stage));
  if (!settings.trainer.recompute)
    line(concat("trainer.recompute: auto is ", recompute_name(plan.recompute)));
  if (plan.cache_tokens > 0)
    line(concat("rollout.cache_tokens: ", plan.cache_tokens, " is what the memory has room for, ",
                static_cast<int64_t>(100 * plan.cache_share),
                " % of what rollout.max_active of the longest requests would take: others wait"));
  return text;
}

}  // namespace bicrl
