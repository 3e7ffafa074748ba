// A verifier server as a child process on loopback, for runs whose configuration names no verifier.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace bicrl {

// Owns the child: it is stopped with the object, and stops by itself should this process die.
class EmbeddedVerifier {
 public:
  // Starts `bicrl verifier CONFIG --of-run overrides...` and waits until it listens. The server's log goes to
  // `log_path` (empty: this process's stderr). Throws Error with the log's end if it does not come up.
  EmbeddedVerifier(const std::string& config_path, const std::vector<std::string>& overrides,
                   const std::string& log_path);
  ~EmbeddedVerifier();
  EmbeddedVerifier(const EmbeddedVerifier&) = delete;
  EmbeddedVerifier& operator=(const EmbeddedVerifier&) = delete;

  const std::string& address() const { return address_; }  // "127.0.0.1:PORT"

 private:
  void stop();
  pid_t pid_ = -1;
  int stdout_fd_ = -1;
  std::string address_;
};

}  // namespace bicrl
