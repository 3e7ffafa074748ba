#include "launch/embedded_verifier.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/clock.h"
#include "common/error.h"
#include "common/files.h"

namespace bicrl {
namespace {

// Importing torch from a cold disk can take most of a minute; the server itself gives its self-check three
// times that, and then says why it failed.
constexpr double kStartSeconds = 200;
constexpr double kStopSeconds = 10;
constexpr std::string_view kListening = "listening on ";

// The first line of `fd`, or what came before the end of file or the deadline.
std::string read_line(int fd, double seconds) {
  std::string line;
  const Stopwatch watch;
  while (watch.seconds() < seconds) {
    pollfd ready{fd, POLLIN, 0};
    const int n = poll(&ready, 1, 200);
    if (n < 0 && errno != EINTR) break;
    if (n <= 0) continue;
    char c;
    if (read(fd, &c, 1) != 1) break;
    if (c == '\n') return line;
    line += c;
  }
  return line;
}

std::string tail_of(const std::string& path) {
  if (path.empty()) return "";
  const std::string text = read_file(path);
  return text.substr(text.size() > 2000 ? text.size() - 2000 : 0);
}

}  // namespace

EmbeddedVerifier::EmbeddedVerifier(const std::string& config_path, const std::vector<std::string>& overrides,
                                   const std::string& log_path) {
  std::vector<std::string> words = {"/proc/self/exe", "verifier", "--of-run"};
  if (!config_path.empty()) words.push_back(config_path);
  words.insert(words.end(), overrides.begin(), overrides.end());
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  int pipe_fds[2];
  if (pipe2(pipe_fds, O_CLOEXEC) != 0) throw Error(concat("pipe failed: ", strerror(errno)));
  const int log_fd =
      log_path.empty() ? -1 : open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (!log_path.empty() && log_fd < 0) throw Error(concat("cannot write ", log_path, ": ", strerror(errno)));
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw Error(concat("fork failed: ", strerror(errno)));
  if (pid_ == 0) {
    // Only calls that are safe between fork and exec in a threaded process.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(1);
    setpgid(0, 0);  // Ctrl-C in the terminal stops the run, which then stops its server in order
    dup2(pipe_fds[1], STDOUT_FILENO);
    if (log_fd >= 0) dup2(log_fd, STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(pipe_fds[1]);
  if (log_fd >= 0) close(log_fd);
  stdout_fd_ = pipe_fds[0];
  const std::string line = read_line(stdout_fd_, kStartSeconds);
  if (line.compare(0, kListening.size(), kListening) != 0) {
    stop();
    throw Error(concat("the embedded verifier did not start", line.empty() ? "" : ": " + line, "\n",
                       tail_of(log_path)),
                ExitCode::kUnavailable);
  }
  address_ = line.substr(kListening.size());
}

EmbeddedVerifier::~EmbeddedVerifier() { stop(); }

void EmbeddedVerifier::stop() {
  if (pid_ > 0) {
    kill(pid_, SIGTERM);
    const Stopwatch watch;
    while (waitpid(pid_, nullptr, WNOHANG) == 0) {
      if (watch.seconds() > kStopSeconds) kill(pid_, SIGKILL);
      usleep(20'000);
    }
    pid_ = -1;
  }
  if (stdout_fd_ >= 0) close(stdout_fd_);
  stdout_fd_ = -1;
}

}  // namespace bicrl
