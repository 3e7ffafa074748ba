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
#include "common/files/files.h"
#include "common/log.h"

namespace bicrl {
namespace {

// Importing torch from a cold disk can take most of a minute; the server itself gives its self-check three
// times that, and then says why it failed.
constexpr double kStartSeconds = 200;
constexpr double kStopSeconds = 10;
constexpr int kMaxReplacements = 20;
constexpr std::string_view kListening = "listening on ";

// The first line of `fd`, or what came before the end of file, the deadline or the stop.
std::string read_line(int fd, double seconds, const std::stop_token& stop) {
  std::string line;
  const Stopwatch watch;
  while (watch.seconds() < seconds && !stop.stop_requested()) {
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
                                   const std::string& log_path)
    : words_({"/proc/self/exe", "verifier", "--of-run"}), log_path_(log_path) {
  if (!config_path.empty()) words_.push_back(config_path);
  words_.insert(words_.end(), overrides.begin(), overrides.end());
  const std::string line = start({});
  if (line.compare(0, kListening.size(), kListening) != 0) {
    end_server();
    throw Error(concat("the embedded verifier did not start", line.empty() ? "" : ": " + line, "\n",
                       tail_of(log_path)),
                ExitCode::kUnavailable);
  }
  address_ = line.substr(kListening.size());
  words_.push_back("verifier.server.listen=" + address_);  // its clients will look for the next one there
  guard_ = std::jthread([this](std::stop_token stop) { replace_when_dead(stop); });
}

EmbeddedVerifier::~EmbeddedVerifier() {
  guard_ = {};
  end_server();
}

std::string EmbeddedVerifier::start(const std::stop_token& stop) {
  std::vector<char*> argv;
  for (auto& word : words_) argv.push_back(word.data());
  argv.push_back(nullptr);
  int pipe_fds[2];
  if (pipe2(pipe_fds, O_CLOEXEC) != 0) throw Error(concat("pipe failed: ", strerror(errno)));
  const int log_fd =
      log_path_.empty() ? -1 : open(log_path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (!log_path_.empty() && log_fd < 0)
    throw Error(concat("cannot write ", log_path_, ": ", strerror(errno)));
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
  return read_line(stdout_fd_, kStartSeconds, stop);
}

void EmbeddedVerifier::replace_when_dead(const std::stop_token& stop) {
  for (int replacements = 0; !stop.stop_requested();) {
    usleep(100'000);
    int status = 0;
    if (pid_ <= 0 || waitpid(pid_, &status, WNOHANG) != pid_) continue;
    pid_ = -1;
    end_server();
    const std::string how =
        WIFSIGNALED(status) ? concat("signal ", WTERMSIG(status)) : concat("exit code ", WEXITSTATUS(status));
    if (replacements == kMaxReplacements) {
      log_error("the embedded verifier ended again (", how, "); no other one is started");
      return;
    }
    ++replacements;
    log_warning("the embedded verifier ended (", how, "); starting another");
    try {
      const std::string line = start(stop);
      if (line.compare(0, kListening.size(), kListening) != 0)
        log_warning("the embedded verifier did not start again: ", line);
    } catch (const Error& error) {
      log_warning(error.what());
    }
  }
}

void EmbeddedVerifier::end_server() {
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
