#include "reward/client/transport_probe.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string_view>

#include "common/error.h"
#include "common/files/unique_fd.h"

namespace bicrl {
namespace {

constexpr int kPatience_ms = 1000;
// RFC 9113, section 3.4: the preface, and a SETTINGS frame without settings.
constexpr std::string_view kPreface("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
constexpr unsigned char kSettingsFrame = 4;  // at byte 3 of a frame
constexpr unsigned char kTlsAlert = 21;      // at byte 0 of a record
constexpr size_t kFrameHeaderBytes = 9;

struct AddressList {
  explicit AddressList(const std::string& address) {
    const size_t colon = address.rfind(':');
    if (colon == address.npos) return;
    std::string host = address.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    if (getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &first) != 0) first = nullptr;
  }
  ~AddressList() {
    if (first) freeaddrinfo(first);
  }
  AddressList(const AddressList&) = delete;
  AddressList& operator=(const AddressList&) = delete;
  addrinfo* first = nullptr;
};

bool ready(int fd, short event) {
  pollfd waited{fd, event, 0};
  return poll(&waited, 1, kPatience_ms) == 1;
}

UniqueFd connected(const addrinfo& address) {
  UniqueFd fd(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() < 0) return {};
  if (connect(fd.get(), address.ai_addr, address.ai_addrlen) == 0) return fd;
  if (errno != EINPROGRESS || !ready(fd.get(), POLLOUT)) return {};
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? std::move(fd) : UniqueFd();
}

// What a server that took the connection answers to the preface.
Transport answer_of(int fd) {
  if (send(fd, kPreface.data(), kPreface.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(kPreface.size()))
    return Transport::kUnknown;
  std::array<unsigned char, kFrameHeaderBytes> bytes{};
  size_t count = 0;
  while (count < bytes.size()) {
    if (!ready(fd, POLLIN)) return Transport::kUnknown;
    const ssize_t n = recv(fd, bytes.data() + count, bytes.size() - count, 0);
    if (n <= 0) break;  // closed
    count += static_cast<size_t>(n);
  }
  if (count == bytes.size() && bytes[3] == kSettingsFrame) return Transport::kPlain;
  // gRPC closes a connection whose first bytes are no handshake, with and without an alert before.
  return count == 0 || bytes[0] == kTlsAlert ? Transport::kTls : Transport::kUnknown;
}

}  // namespace

Transport probe_transport(const std::string& address) {
  const AddressList list(address);
  for (const addrinfo* each = list.first; each; each = each->ai_next)
    if (const UniqueFd fd = connected(*each); fd.get() >= 0) return answer_of(fd.get());
  return Transport::kUnknown;
}

std::string transport_problem(const std::string& address, bool with_tls) {
  const Transport spoken = probe_transport(address);
  if (spoken == Transport::kTls && !with_tls)
    return concat("the verifier ", address,
                  " speaks TLS: name its certificate and token "
                  "(verifier.access.authority and verifier.access.token)");
  if (spoken == Transport::kPlain && with_tls)
    return concat(
        "the verifier ", address,
        " does not speak TLS, which verifier.access.authority asks for: start it with access.certificate, "
        "access.key and access.token, or, if it is on this machine, leave out the client's access");
  return "";
}

bool is_certificate_refusal(const std::string& message) {
  for (const char* sign : {"CERTIFICATE_VERIFY_FAILED", "certificate verify failed", "Peer name "})
    if (message.find(sign) != std::string::npos) return true;
  return false;
}

bool is_tls_refusal(const std::string& message) {
  return is_certificate_refusal(message) || message.find("handshake failed") != std::string::npos;
}

}  // namespace bicrl
