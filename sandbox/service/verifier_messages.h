// What the server is asked, out of the messages of proto/verifier.proto. Pure functions.
#pragma once
#include <string>

#include "sandbox/service/verify_request.h"

namespace bicrl {

namespace verifier::v1 {
class VerifyRequest;
}  // namespace verifier::v1

// Empty, or what is wrong with the request, naming the field.
std::string request_problem(const verifier::v1::VerifyRequest& message);
VerifyRequest request_from(const verifier::v1::VerifyRequest& message, const VerifyProtocol& defaults);

}  // namespace bicrl
