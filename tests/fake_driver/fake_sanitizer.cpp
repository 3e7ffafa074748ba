// Stands in for compute-sanitizer: runs the program that it is given, and then reports what lies beside it in
// a file of the tool's name. Without one it never ends.
//   fake_sanitizer [--option value]... PROGRAM [ARGUMENT]...
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

int main(int argc, char** argv) {
  std::string tool, log;
  int at = 1;
  for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
    if (strcmp(argv[at], "--tool") == 0) tool = argv[at + 1];
    if (strcmp(argv[at], "--log-file") == 0) log = argv[at + 1];
  }
  if (at >= argc || tool.empty() || log.empty()) return 2;
  const pid_t child = fork();
  if (child == 0) {
    execv(argv[at], argv + at);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const auto report = std::filesystem::path(argv[0]).parent_path() / tool;
  if (!std::filesystem::exists(report)) pause();
  std::error_code error;
  std::filesystem::copy_file(report, log, error);
  return error ? 3 : WIFEXITED(status) ? WEXITSTATUS(status) : 4;
}
