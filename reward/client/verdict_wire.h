// Between the plain records and the messages of proto/verifier.proto. Pure functions.
#pragma once
#include <string>

#include "common/error.h"
#include "reward/client/verifier_client.h"
#include "tasks/verdict.h"

namespace bicrl {

namespace verifier::v1 {
class DescribeReply;
class Verdict;
class VerifyRequest;
}  // namespace verifier::v1

// Fails (with the reason) where the message states no outcome, or what no verdict can say.
Result<Verdict> from_wire(const verifier::v1::Verdict& message);
void to_wire(const Verdict& verdict, verifier::v1::Verdict& message);

void to_wire(const VerificationRequest& request, const VerifierClientOptions& protocol,
             verifier::v1::VerifyRequest& message);

VerifierDescription from_wire(const verifier::v1::DescribeReply& message, const std::string& address);

}  // namespace bicrl
