#include "sandbox/box/process/command.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>

#include "common/clock.h"
#include "common/error.h"
#include "sandbox/box/process/descriptors.h"
#include "sandbox/box/process/spawn.h"

namespace bicrl {
namespace {

constexpr size_t kMaxOutputBytes = 64u << 10;

}  // namespace

CommandResult collect_output(pid_t pid, int pipe, double limit_s) {
  CommandResult result;
  const Stopwatch clock;
  bool ended = false;
  while (!ended && clock.seconds() < limit_s && result.output.size() < kMaxOutputBytes) {
    pollfd ready{pipe, POLLIN, 0};
    if (poll(&ready, 1, 100) <= 0) continue;
    char text[4096];
    const ssize_t n = read(pipe, text, sizeof text);
    if (n > 0) result.output.append(text, static_cast<size_t>(n));
    ended = n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
  }
  if (!ended) kill(pid, SIGKILL);
  int status = -1;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  while (!result.output.empty() && isspace(static_cast<unsigned char>(result.output.back())))
    result.output.pop_back();
  if (!ended && result.output.size() < kMaxOutputBytes)
    result.output += concat(result.output.empty() ? "" : "; ", "no end within ", limit_s, " s");
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  result.succeeded = ended && result.exit_code == 0;
  return result;
}

CommandResult run_command(const std::vector<std::string>& argv, const std::vector<std::string>& env,
                          double limit_s) {
  FdPair pipe = make_pipe();
  pid_t pid = 0;
  try {
    pid = spawn({argv, env, {{pipe.theirs.get(), 1}, {pipe.theirs.get(), 2}}, {}});
  } catch (const Error& error) {
    CommandResult result;
    result.output = error.what();
    return result;
  }
  pipe.theirs.reset();
  return collect_output(pid, pipe.ours.get(), limit_s);
}

}  // namespace bicrl
