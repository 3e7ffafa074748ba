// Asks the verifiers of a run, before the first verdict, what verdicts depend on.
#pragma once
#include <string>

#include "reward/client/verifier_client.h"
#include "trainer/ranks/control_plane.h"

namespace bicrl {

// Collective: the first rank of every host asks every verifier what its verdicts depend on (grading_basis())
// and all ranks get the answer. Servers that would grade differently are refused with both descriptions, on
// every rank: a reward must not depend on which server a program met. So is one of another protocol, and one
// without times if `options` ask for them. A server that cannot be reached is logged, as long as another one
// answers on the same host; if none does in the time that a verdict may take, twenty seconds at most, all
// ranks throw a SharedError that names the host. `options` are those of the client. `clock`: whose times
// rewards accept; a verifier with another is refused. Empty: any.
std::string common_grading_basis(VerifierClient& verifier, const VerifierClientOptions& options,
                                 ControlPlane& control, const std::string& clock = "");

}  // namespace bicrl
