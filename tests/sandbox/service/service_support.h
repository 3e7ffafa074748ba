// Common set-up of the tests of the verifier service.
#pragma once
#include <string>

#include "sandbox/box/box_host.h"
#include "sandbox/verifier/pipeline.h"
#include "tests/support/support.h"

namespace bicrl::testing {

// The box host of this test program. Skips the running test, with the reason, if no boxes can be made.
BoxHost& box_host();

// A pipeline made once, whose limits of time are far beyond what any program of these tests needs, however
// busy the machine is: what goes wrong in it has another cause. Skips like box_host().
Pipeline& pipeline();

// The same with limits of seconds and little work, for programs that have no end. On a busy machine others
// meet them, too.
Pipeline& impatient_pipeline();

}  // namespace bicrl::testing
