// Client credentials of a connection to verifiers: its own identity and the check of the server's
// (verdict/verifier_access.h says why). Plain data and pure functions.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "common/config/config.h"

namespace grpc {
class ChannelCredentials;
}

namespace bicrl {

// The section `access` of a client: both files, or none.
struct ClientAccess {
  std::string authority;  // PEM: the certificate of the verifiers, or of who signed theirs
  std::string token;      // the verifiers' token

  static ClientAccess from_config(const ConfigSection& section);
  bool given() const { return !authority.empty(); }
};

// Why verifiers at these addresses must not be used with this access; empty if they may.
std::string access_problem(const ClientAccess& access, const std::vector<std::string>& addresses);

// Throws InputError with the file that cannot be used.
std::shared_ptr<grpc::ChannelCredentials> client_credentials(const ClientAccess& access);

}  // namespace bicrl
