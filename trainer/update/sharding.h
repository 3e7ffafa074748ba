// The parts of training's memory that ranks divide among them. Plain values; thread-safe.
#pragma once
#include <cstdint>

#include "policy/parameters/parameter_store.h"

namespace bicrl {

// Stages as the field numbers them: 0 every rank holds everything; 1 AdamW's state is divided; 2 gradients as
// well; 3 the parameters as well, while the policy is trained: between updates every rank has all of them.
struct Sharding {
  int64_t stage = 0;

  PartExtent state() const { return stage >= 1 ? PartExtent::kShard : PartExtent::kWhole; }
  PartExtent gradients() const { return stage >= 2 ? PartExtent::kShard : PartExtent::kWhole; }
  bool parameters() const { return stage >= 3; }
};

}  // namespace bicrl
