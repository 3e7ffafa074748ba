// Credentials by which a verifier server lets callers in (verdict/verifier_access.h says why). Plain data and
// pure functions.
#pragma once
#include <memory>
#include <string>

#include "common/config/config.h"

namespace grpc {
class ServerCredentials;
}

namespace bicrl {

// The section `access` of a server: all three files, or none.
struct ServerAccess {
  std::string certificate;  // PEM, with the names or addresses that callers use
  std::string key;          // PEM
  std::string token;        // what callers must know

  static ServerAccess from_config(const ConfigSection& section);
  bool given() const { return !certificate.empty(); }
};

// For a server that listens at `address`: TLS, and no call (health and reflection included) without the
// token. On loopback, where no access need be given, neither. Throws InputError if the address is not
// HOST:PORT, if access is needed and not given, or with the file that cannot be used.
std::shared_ptr<grpc::ServerCredentials> server_credentials(const ServerAccess& access,
                                                            const std::string& address);

}  // namespace bicrl
