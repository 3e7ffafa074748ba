// A verifier server as a child process on loopback, for runs whose configuration names no verifier.
#pragma once
#include <sys/types.h>

#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace bicrl {

// Owns the child: it is stopped with the object, and stops by itself should this process die. A server that
// ends although nobody asked it to is replaced by another at the same address; its clients try again until
// then.
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
  std::string start(const std::stop_token& stop);  // its first line
  void replace_when_dead(const std::stop_token& stop);
  void end_server();

  std::vector<std::string> words_;  // of the server's command
  std::string log_path_;
  std::string address_;
  // Of the guard, once that runs.
  pid_t pid_ = -1;
  int stdout_fd_ = -1;
  std::jthread guard_;
};

}  // namespace bicrl
