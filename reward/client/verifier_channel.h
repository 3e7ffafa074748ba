// Connections to verifiers, and what a server says of itself. Pure functions.
#pragma once
#include <chrono>
#include <memory>
#include <string>

#include "common/error.h"
#include "reward/client/client_access.h"
#include "verdict/verifier_description.h"

namespace grpc {
class Channel;
}

namespace bicrl {

// Does not wait for the server. Throws InputError if a file of `access` cannot be used.
std::shared_ptr<grpc::Channel> connect_verifier(const std::string& address, const ClientAccess& access);

// Waits up to `timeout` until the server can be reached and answers; a failure's reason names the address.
Result<VerifierDescription> describe_verifier(const std::shared_ptr<grpc::Channel>& channel,
                                              const std::string& address, std::chrono::milliseconds timeout);

}  // namespace bicrl
