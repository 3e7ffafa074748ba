// What a verifier's port speaks. TLS itself is met by the end-to-end tests; here are ports that behave as
// such.
#include "reward/client/transport_probe.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "common/error.h"

using namespace bicrl;
using Catch::Matchers::ContainsSubstring;

namespace {

// Takes one connection, reads what comes first, answers with these bytes and closes.
class Port {
 public:
  explicit Port(const std::string& answer) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(listen(socket_, 4) == 0);
    getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    name_ = concat("127.0.0.1:", ntohs(address.sin_port));
    thread_ = std::jthread([this, answer] {
      const int fd = accept(socket_, nullptr, nullptr);
      char read_bytes[64];
      if (fd < 0 || read(fd, read_bytes, sizeof read_bytes) < 0) return;
      [[maybe_unused]] const ssize_t sent = write(fd, answer.data(), answer.size());
      close(fd);
    });
  }
  ~Port() {
    shutdown(socket_, SHUT_RDWR);
    thread_ = {};
    close(socket_);
  }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  const std::string& name() const { return name_; }

 private:
  int socket_;
  std::string name_;
  std::jthread thread_;
};

const std::string kSettings("\0\0\0\4\0\0\0\0\0", 9), kAlert("\x15\x03\x03\0\2\2\x46", 7);

}  // namespace

TEST_CASE("what a port speaks shows in its first bytes") {
  CHECK(probe_transport(Port(kSettings).name()) == Transport::kPlain);
  CHECK(probe_transport(Port(kAlert).name()) == Transport::kTls);
  CHECK(probe_transport(Port("").name()) == Transport::kTls);  // closes without a word
  CHECK(probe_transport(Port("HTTP/1.1 400 Bad Request\r\n").name()) == Transport::kUnknown);
  std::string gone;
  {
    const Port port("");
    gone = port.name();
  }
  CHECK(probe_transport(gone) == Transport::kUnknown);
  CHECK(probe_transport("no address") == Transport::kUnknown);
}

TEST_CASE("mismatch of TLS is named with its remedy") {
  CHECK_THAT(transport_problem(Port(kAlert).name(), /*with_tls=*/false),
             ContainsSubstring("speaks TLS") && ContainsSubstring("access.authority"));
  CHECK_THAT(transport_problem(Port(kSettings).name(), /*with_tls=*/true),
             ContainsSubstring("does not speak TLS") && ContainsSubstring("access.certificate"));
  CHECK(transport_problem(Port(kSettings).name(), false).empty());
  CHECK(transport_problem(Port(kAlert).name(), true).empty());
}
