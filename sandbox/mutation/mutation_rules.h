// The kinds of changes: each finds its places in a device function.
#pragma once
#include <vector>

#include "sandbox/mutation/device_function.h"

namespace bicrl {

struct MutationRule {
  const char* kind;
  const char* meaning;
  void (*find)(const DeviceFunction& function, const Change& change);
};

const std::vector<MutationRule>& mutation_rules();

}  // namespace bicrl
