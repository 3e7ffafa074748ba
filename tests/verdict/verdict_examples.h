// Verdicts for the tests of what is stored and sent.
#pragma once
#include "verdict/verdict.h"

namespace bicrl::testing {

// Each field of at least one of the two differs from a fresh Verdict's: one correct, one wrong.
Verdict full_verdict(bool correct);

}  // namespace bicrl::testing
