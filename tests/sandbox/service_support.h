// What the tests of the verifier service share.
#pragma once
#include "sandbox/box_host.h"

namespace bicrl::testing {

// The box host of this test program. Skips the running test, with the reason, where no boxes can be made.
BoxHost& box_host();

}  // namespace bicrl::testing
