// Dynamic sampling (DAPO): a step asks further groups, round by round, until enough of them are informative,
// which are those that group advantages use (reward/advantage.h). Informative groups beyond these are the
// surplus, which waits for the next step. The order of groups alone decides, so that all ranks agree and a
// repeated step decides alike. Pure functions; thread-safe.
#pragma once
#include <cstdint>

#include "common/config/config.h"

namespace bicrl {

struct RefillSettings {
  int64_t informative_groups = 0;  // that an update takes; 0: a step is one round, and all of it is taken
  int64_t at_most = 0;             // groups that a step asks

  bool is_enabled() const { return informative_groups > 0; }
  // Keys informative_groups and at_most. Throws InputError.
  static RefillSettings from_config(const ConfigSection& section);
  // Throws InputError at the key of `section` that does not suit rounds of so many groups, those of `stage`.
  void check_round(const ConfigSection& section, const std::string& stage, int64_t groups_per_round) const;
};

// How many groups a step's next round asks; 0: there is none. `informative` are those of the `asked` groups
// and of the surplus of the step before.
int64_t next_round(const RefillSettings& settings, int64_t groups_per_round, int64_t asked,
                   int64_t informative);

// What becomes of informative groups.
struct RefillChoice {
  int64_t taken = 0;    // of the surplus of the step before, the first ones: used by this step's update
  int64_t dropped = 0;  // the others of that surplus, which would be too old for the next step
  int64_t used = 0;     // of the step's own, the first ones
  int64_t kept = 0;     // the others of its own: the surplus for the next step

  bool operator==(const RefillChoice&) const = default;
};
RefillChoice choose_groups(const RefillSettings& settings, int64_t surplus, int64_t own);

// How much of a full update there is: the informative groups that it takes, of those that refill asks for, or
// without refill of the `asked` ones. 0 to 1.
double informative_share(const RefillSettings& settings, int64_t taken, int64_t asked);

}  // namespace bicrl
