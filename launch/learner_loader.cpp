#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/error.h"
#include "common/files/files.h"
#include "launch/learner.h"
#include "sandbox/box/process/command.h"
#include "sandbox/box/process/descriptors.h"

namespace bicrl {

namespace {

constexpr double kLoadSeconds = 120;  // LibTorch from a cold disk can take most of a minute

template <class Entry>
Entry* load_entry(const char* name) {
  const auto path = program_folder().parent_path() / "lib" / "libbicrl_learner.so";
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!module) throw Error(concat("cannot load the learner module: ", dlerror()), ExitCode::kUnavailable);
  const auto entry = reinterpret_cast<Entry*>(dlsym(module, name));
  if (!entry) throw Error(concat(path.string(), " has no entry point: ", dlerror()), ExitCode::kUnavailable);
  return entry;
}

// In the fork. Nothing but the text may reach the pipe, and no destructor of the libraries is run.
[[noreturn]] void describe_into(int pipe) {
  int code = 1;
  std::string text;
  try {
    text = load_entry<decltype(bicrl_learner_description)>("bicrl_learner_description")();
    code = 0;
  } catch (const std::exception& error) {
    text = error.what();
  }
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = write(pipe, text.data() + done, text.size() - done);
    if (n <= 0) _exit(2);
    done += static_cast<size_t>(n);
  }
  _exit(code);
}

}  // namespace

int run_learner(const LearnerCommand& command) {
  return load_entry<decltype(bicrl_learner_main)>("bicrl_learner_main")(&command);
}

Result<std::string> describe_learner() {
  FdPair pipe = make_pipe();
  const pid_t pid = fork();
  if (pid < 0) return Result<std::string>::failure(concat("fork failed: ", strerror(errno)));
  if (pid == 0) describe_into(pipe.theirs.get());
  pipe.theirs.reset();
  const CommandResult result = collect_output(pid, pipe.ours.get(), kLoadSeconds);
  if (result.succeeded) return result.output;
  return Result<std::string>::failure(result.output.empty() ? "it crashes while it is loaded"
                                                            : result.output);
}

}  // namespace bicrl
