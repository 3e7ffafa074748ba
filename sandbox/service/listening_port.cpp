#include "sandbox/service/listening_port.h"

#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "common/error.h"
#include "common/files/unique_fd.h"

namespace bicrl {

void require_free_port(const std::string& key, const std::string& address) {
  const size_t colon = address.rfind(':');
  const std::string port = colon == address.npos ? "" : address.substr(colon + 1);
  if (port.empty() || port == "0") return;
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int code = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); code != 0)
    throw InputError(concat(key, ": cannot listen on ", address, ": ", gai_strerror(code)));
  const UniqueFd fd(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // A port whose last connections are not gone yet is free all the same.
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const int refused = bind(fd.get(), found->ai_addr, found->ai_addrlen) == 0 ? 0 : errno;
  freeaddrinfo(found);
  if (refused != 0)
    throw InputError(concat(key, ": cannot listen on ", address, ": ", strerror(refused),
                            refused == EADDRINUSE ? "; another port, or 0 for any that is free" : ""));
}

}  // namespace bicrl
