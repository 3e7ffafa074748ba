#include "sandbox/box/brief_command.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>

#include "common/clock.h"
#include "common/error.h"
#include "sandbox/box/spawn.h"
#include "sandbox/box/unique_fd.h"

namespace bicrl {
namespace {

constexpr size_t kMostBytes = 64u << 10;

}  // namespace

BriefAnswer hear_out(pid_t pid, int output, double limit_s) {
  BriefAnswer answer;
  const Stopwatch clock;
  bool ended = false;
  while (!ended && clock.seconds() < limit_s && answer.said.size() < kMostBytes) {
    pollfd ready{output, POLLIN, 0};
    if (poll(&ready, 1, 100) <= 0) continue;
    char text[4096];
    const ssize_t n = read(output, text, sizeof text);
    if (n > 0) answer.said.append(text, static_cast<size_t>(n));
    ended = n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
  }
  if (!ended) kill(pid, SIGKILL);
  int status = -1;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  while (!answer.said.empty() && isspace(static_cast<unsigned char>(answer.said.back())))
    answer.said.pop_back();
  if (!ended && answer.said.size() < kMostBytes)
    answer.said += concat(answer.said.empty() ? "" : "; ", "no end within ", limit_s, " s");
  if (WIFEXITED(status)) answer.exit_code = WEXITSTATUS(status);
  answer.succeeded = ended && answer.exit_code == 0;
  return answer;
}

BriefAnswer run_briefly(const std::vector<std::string>& argv, const std::vector<std::string>& env,
                        double limit_s) {
  FdPair output = make_pipe();
  pid_t pid = 0;
  try {
    pid = spawn({argv, env, {{output.theirs.get(), 1}, {output.theirs.get(), 2}}, {}});
  } catch (const Error& error) {
    BriefAnswer answer;
    answer.said = error.what();
    return answer;
  }
  output.theirs.reset();
  return hear_out(pid, output.ours.get(), limit_s);
}

}  // namespace bicrl
