// Between the messages of proto/verifier.proto and the plain structs. Pure functions.
#pragma once
#include <string>

#include "sandbox/service/verify_request.h"
#include "tasks/verdict.h"

namespace bicrl {

namespace verifier::v1 {
class Verdict;
class VerifyRequest;
}  // namespace verifier::v1

// Empty, or what is wrong with the request, naming the field.
std::string request_problem(const verifier::v1::VerifyRequest& message);
VerifyRequest request_from(const verifier::v1::VerifyRequest& message, const VerifyProtocol& defaults);
void fill_message(const Verdict& verdict, verifier::v1::Verdict* message);

}  // namespace bicrl
