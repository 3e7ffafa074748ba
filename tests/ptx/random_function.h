// Random small functions, for oracles of live ranges and slots.
#pragma once
#include "common/rng.h"
#include "sandbox/interpreter/ptx/syntax/module.h"

namespace bicrl::ptx::testing {

// Text of a body: branches to and fro, indexed branches, guards, several destinations, registers of all
// sizes.
std::string random_body(RandomStream& random);

}  // namespace bicrl::ptx::testing
