// Whether training can go on after an update. Pure function.
#pragma once
#include <string>

#include "trainer/update/update_statistics.h"

namespace bicrl {

// Why not, in a sentence for a person: the loss is too large or no number, or the weights are destroyed.
// Empty if all is well.
std::string update_problem(const UpdateStatistics& update, double max_loss);

}  // namespace bicrl
