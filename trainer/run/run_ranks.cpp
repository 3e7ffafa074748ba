#include "trainer/run/run_ranks.h"

namespace bicrl {

CollectiveAccount RunRanks::take_account() const {
  CollectiveAccount account = tensors.take();
  if (trainer_tensors && trainer_tensors != &tensors)
    for (const auto& [kind, figures] : trainer_tensors->take()) account[kind] += figures;
  return account;
}

}  // namespace bicrl
