#include "reward/client/client_access.h"

#include <grpcpp/grpcpp.h>

#include "common/error.h"
#include "common/files/files.h"
#include "verdict/verifier_access.h"

namespace bicrl {

ClientAccess ClientAccess::from_config(const ConfigSection& section) {
  ClientAccess access{.authority = section.text("authority", ""), .token = section.text("token", "")};
  if (access.authority.empty() != access.token.empty())
    section.reject(access.token.empty() ? "token" : "authority",
                   "is missing: access needs authority and token");
  return access;
}

std::string access_problem(const ClientAccess& access, const std::vector<std::string>& addresses) {
  if (access.given()) return "";
  for (const std::string& address : addresses)
    if (!is_loopback(address))
      return concat("the verifier ", address,
                    " is on another machine: name its certificate and token (verifier.access.authority "
                    "and verifier.access.token)");
  return "";
}

std::shared_ptr<grpc::ChannelCredentials> client_credentials(const ClientAccess& access) {
  if (!access.given()) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = read_file(access.authority, 1 << 20);
  if (options.pem_root_certs.find("CERTIFICATE") == std::string::npos)
    throw InputError(concat(access.authority, ": holds no PEM CERTIFICATE"));
  return grpc::CompositeChannelCredentials(grpc::SslCredentials(options),
                                           grpc::AccessTokenCredentials(read_token(access.token)));
}

}  // namespace bicrl
