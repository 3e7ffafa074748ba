#include "episode/refill.h"

#include <algorithm>

namespace bicrl {
namespace {

constexpr int64_t kMostGroups = 1'000'000'000;

}  // namespace

RefillSettings RefillSettings::from_config(const ConfigSection& section) {
  RefillSettings settings;
  settings.informative_groups = section.integer("informative_groups", 0, 0, kMostGroups);
  if (!settings.is_enabled()) {
    section.refuse_without_effect("at_most", "with 'informative_groups: 0'");
    return settings;
  }
  if (!section.has("at_most"))
    section.reject("at_most", "is missing: the number of groups at which a step stops asking");
  settings.at_most = section.integer("at_most", 0, 1, kMostGroups);
  if (settings.informative_groups > settings.at_most)
    section.reject("informative_groups", concat("is ", settings.informative_groups, ", and 'at_most: ",
                                                settings.at_most, "' allows a step fewer groups"));
  return settings;
}

void RefillSettings::check_round(const ConfigSection& section, const std::string& stage,
                                 int64_t groups_per_round) const {
  if (!is_enabled()) return;
  if (informative_groups > groups_per_round)
    section.reject("informative_groups", concat("is ", informative_groups, ", more than the ",
                                                groups_per_round, " groups of ", stage, ".tasks_per_step"));
  if (at_most < groups_per_round)
    section.reject("at_most", concat("is ", at_most, ", fewer than the ", groups_per_round,
                                     " groups of a round, which are ", stage, ".tasks_per_step"));
}

int64_t next_round(const RefillSettings& settings, int64_t groups_per_round, int64_t asked,
                   int64_t informative) {
  if (!settings.is_enabled()) return asked == 0 ? groups_per_round : 0;
  if (informative >= settings.informative_groups) return 0;
  return std::min(groups_per_round, settings.at_most - asked);
}

RefillChoice choose_groups(const RefillSettings& settings, int64_t surplus, int64_t own) {
  if (!settings.is_enabled()) return {.used = own};
  RefillChoice choice;
  choice.taken = std::min(surplus, settings.informative_groups);
  choice.dropped = surplus - choice.taken;
  choice.used = std::min(own, settings.informative_groups - choice.taken);
  choice.kept = own - choice.used;
  return choice;
}

double informative_share(const RefillSettings& settings, int64_t taken, int64_t asked) {
  const int64_t full = settings.is_enabled() ? settings.informative_groups : asked;
  return full > 0 ? static_cast<double>(taken) / static_cast<double>(full) : 0;
}

}  // namespace bicrl
