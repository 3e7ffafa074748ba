// Checks after an update whether training can go on. Pure function.
#pragma once
#include <string>

#include "trainer/update/update_figures.h"

namespace bicrl {

// Why not, in a sentence for a person: the loss is too large, or weights or loss are destroyed. Empty if all
// is well; an update that was skipped changed nothing and is no reason.
std::string update_problem(const UpdateStatistics& update, double max_loss);

}  // namespace bicrl
