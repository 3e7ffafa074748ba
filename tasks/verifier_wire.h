// Between plain structs and the messages of proto/verifier.proto, both ways: the only place that does it.
// Pure functions. No generated header is needed to include this one.
#pragma once
#include "common/error.h"
#include "tasks/verdict.h"

namespace bicrl {

namespace verifier::v1 {
class Verdict;
}

// Text that is no UTF-8 (diagnostics quote what a candidate printed) is repaired: the message would not
// arrive.
void to_wire(const Verdict& verdict, verifier::v1::Verdict& message);
// Fails, with the reason, if the message states no known outcome or what no verdict can say
// (verdict_problem()).
Result<Verdict> from_wire(const verifier::v1::Verdict& message);

}  // namespace bicrl
