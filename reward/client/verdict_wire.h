// Between the plain records and the messages of proto/verifier.proto. Pure functions.
#pragma once
#include <string>

#include "reward/client/verifier_client.h"

namespace bicrl {

namespace verifier::v1 {
class DescribeReply;
class VerifyRequest;
}  // namespace verifier::v1

void to_wire(const VerificationRequest& request, const VerifierClientOptions& protocol,
             verifier::v1::VerifyRequest& message);

VerifierDescription from_wire(const verifier::v1::DescribeReply& message, const std::string& address);

}  // namespace bicrl
