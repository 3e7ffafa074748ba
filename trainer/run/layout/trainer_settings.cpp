#include "trainer/run/layout/trainer_settings.h"

#include <string>

#include "common/error.h"

namespace bicrl {
namespace {

constexpr int64_t kMany = 1'000'000'000;
constexpr int64_t kMaxStaleness = 8;  // decision 0138
// Beats come each second, later on a busy machine.
constexpr double kShortestHeartbeat_s = 5;

// Keys that a file may have with the value that says nothing.
void refuse_of_split_runs(const ConfigSection& section, const std::string& placement) {
  if (section.has("generator_ranks") && section.integer("generator_ranks", 0, 0, kMany) > 0)
    section.refuse_without_effect("generator_ranks", placement == "auto"
                                                         ? "with 'placement: auto', which chooses it"
                                                         : "with 'placement: colocated', where every rank "
                                                           "generates");
  if (placement == "auto") return;
  if (section.has("max_staleness") && section.integer("max_staleness", 0, 0, kMaxStaleness) > 0)
    section.refuse_without_effect("max_staleness",
                                  "with 'placement: colocated', where no rank generates while others train");
}

}  // namespace

TrainerSettings TrainerSettings::from_config(const ConfigSection& section) {
  TrainerSettings settings;
  const std::string placement = section.choice("placement", "colocated", {"colocated", "split", "auto"});
  const bool split = placement == "split";
  settings.chooses_placement = placement == "auto";
  if (!split) refuse_of_split_runs(section, placement);
  if (split) settings.generator_ranks = section.integer("generator_ranks", 1, 1, kMany);
  settings.max_staleness = section.integer("max_staleness", 0, 0, kMaxStaleness);
  const std::string stage = section.choice("sharding_stage", "auto", {"auto", "0", "1", "2", "3"});
  if (stage != "auto") settings.sharding = Sharding{std::stoll(stage)};
  const std::string recompute = section.choice("recompute", "auto", {"auto", "none", "selective", "full"});
  if (recompute != "auto") settings.recompute = recompute_named(recompute);
  settings.deterministic = section.boolean("deterministic", settings.deterministic);
  settings.wait_limit_s = section.real("wait_limit_s", settings.wait_limit_s, 1);
  settings.heartbeat_limit_s = section.real("heartbeat_limit_s", settings.heartbeat_limit_s, 0);
  if (settings.heartbeat_limit_s > 0 && settings.heartbeat_limit_s < kShortestHeartbeat_s)
    section.reject("heartbeat_limit_s", concat("must be 0 (none) or at least ", kShortestHeartbeat_s));
  return settings;
}

Placement TrainerSettings::placement(int ranks) const {
  if (generator_ranks == 0) return Placement::colocated(ranks);
  if (generator_ranks >= ranks)
    throw InputError(concat("trainer.placement: split with ", generator_ranks,
                            " generator_ranks needs at least ", generator_ranks + 1,
                            " ranks, and the run has ", ranks,
                            ": start more (mpirun -np), or use placement=colocated"));
  return Placement::split(ranks, static_cast<int>(generator_ranks));
}

}  // namespace bicrl
