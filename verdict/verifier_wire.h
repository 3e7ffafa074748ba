// Between plain structs and the messages of proto/verifier.proto, both ways: the only place that does it.
// Pure functions. No generated header is needed to include this one.
#pragma once
#include "common/error.h"
#include "verdict/verdict.h"
#include "verdict/verification_request.h"
#include "verdict/verifier_description.h"

namespace bicrl {

namespace verifier::v1 {
class DescribeReply;
class Verdict;
class VerifyRequest;
}  // namespace verifier::v1

// Whatever is in a message is replaced. Text that is no UTF-8 (a program, what a candidate printed) is
// repaired: the message would not arrive otherwise.
void to_wire(const Verdict& verdict, verifier::v1::Verdict& message);
// Fails, with the reason, if the message states no known outcome or what no verdict can say
// (verdict_problem()).
Result<Verdict> from_wire(const verifier::v1::Verdict& message);

void to_wire(const VerificationRequest& request, verifier::v1::VerifyRequest& message);
// Fails, with the reason, if no verifier can do what is asked (request_problem()).
Result<VerificationRequest> from_wire(const verifier::v1::VerifyRequest& message);

void to_wire(const VerifierDescription& description, verifier::v1::DescribeReply& message);
// `address` is left empty. Fails, with the reason, if its own protocol is none that this version knows.
Result<VerifierDescription> from_wire(const verifier::v1::DescribeReply& message);

}  // namespace bicrl
