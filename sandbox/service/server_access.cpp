#include "sandbox/service/server_access.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/security/auth_metadata_processor.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/error.h"
#include "common/files/files.h"
#include "verdict/verifier_access.h"

namespace bicrl {
namespace {

class TokenCheck : public grpc::AuthMetadataProcessor {
 public:
  explicit TokenCheck(const std::string& token) : expected_("Bearer " + token) {}
  bool IsBlocking() const override { return false; }
  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext*, OutputMetadata* consumed,
                       OutputMetadata*) override {
    const auto found = metadata.find("authorization");
    if (found == metadata.end())
      return {grpc::StatusCode::UNAUTHENTICATED, "this verifier asks for a token (verifier.access.token)"};
    const std::string said(found->second.data(), found->second.size());
    if (!same_token(said, expected_))
      return {grpc::StatusCode::UNAUTHENTICATED, "the token is not this verifier's (verifier.access.token)"};
    consumed->emplace("authorization", said);
    return grpc::Status::OK;
  }

 private:
  const std::string expected_;
};

std::string pem(const std::string& path, const char* what) {
  std::string text = read_file(path, 1 << 20);
  if (text.find(what) == std::string::npos) throw InputError(concat(path, ": holds no PEM ", what));
  return text;
}

}  // namespace

ServerAccess ServerAccess::from_config(const ConfigSection& section) {
  ServerAccess access{.certificate = section.text("certificate", ""),
                      .key = section.text("key", ""),
                      .token = section.text("token", "")};
  const std::pair<const char*, const std::string&> keys[] = {
      {"certificate", access.certificate}, {"key", access.key}, {"token", access.token}};
  const auto missing = [](const auto& key) { return key.second.empty(); };
  if (std::all_of(std::begin(keys), std::end(keys), missing)) return access;
  if (const auto key = std::find_if(std::begin(keys), std::end(keys), missing); key != std::end(keys))
    section.reject(key->first, "is missing: access needs certificate, key and token");
  return access;
}

std::shared_ptr<grpc::ServerCredentials> server_credentials(const ServerAccess& access,
                                                            const std::string& address) {
  if (address.rfind(':') == std::string::npos)
    throw InputError(concat("verifier.listen: ", address, " is not HOST:PORT"));
  if (!access.given()) {
    if (is_loopback(address)) return grpc::InsecureServerCredentials();
    throw InputError(concat("verifier.listen: ", address,
                            " is reached from other machines, and a verifier runs what it is sent: give "
                            "access.certificate, access.key and access.token, or listen on loopback "
                            "(127.0.0.1, localhost or [::1])"));
  }
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back(
      {pem(access.key, "PRIVATE KEY"), pem(access.certificate, "CERTIFICATE")});
  auto credentials = grpc::SslServerCredentials(options);
  credentials->SetAuthMetadataProcessor(std::make_shared<TokenCheck>(read_token(access.token)));
  return credentials;
}

}  // namespace bicrl
