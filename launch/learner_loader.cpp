#include <dlfcn.h>

#include "common/error.h"
#include "common/files.h"
#include "launch/learner.h"

namespace bicrl {

int run_learner(const LearnerCommand& command) {
  const auto path = program_folder().parent_path() / "lib" / "libbicrl_learner.so";
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!module) throw Error(concat("cannot load the learner module: ", dlerror()), ExitCode::kUnavailable);
  const auto entry = reinterpret_cast<decltype(&bicrl_learner_main)>(dlsym(module, "bicrl_learner_main"));
  if (!entry) throw Error(concat(path.string(), " has no entry point: ", dlerror()), ExitCode::kUnavailable);
  return entry(&command);
}

}  // namespace bicrl
