// How the units of a host part become a module, and the compiler that does it. For candidates it
// only names files and arguments; the caller runs them in a box.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "sandbox/candidate/splitter.h"

namespace bicrl {

struct HostCompileCommand {
  std::vector<std::string> argv;  // argv[0] is absolute; working directory: work_folder
  std::string output_file;        // the module, within work_folder ("module.so")
};

// `work_folder` is where the units were written under their file names, `host_folder` is
// share_folder()/"host" (both as seen inside the box).
HostCompileCommand host_compile_command(const SplitProgram& program, const std::filesystem::path& work_folder,
                                        const std::filesystem::path& host_folder);

// The compiler of the compile box. Found once; throws Error(kUnavailable) if there is none.
struct HostCompiler {
  std::string path;
  std::string version;
};
const HostCompiler& host_compiler();

// Names of the preludes whose precompiled form this compiler does not use: another version made it, or it is
// not there. Candidates then take several times as long to compile.
std::vector<std::string> unusable_preludes(const std::filesystem::path& host_folder);

// Names the compiler, its version and the flags: part of the key of a compile cache.
std::string host_toolchain_id(const std::filesystem::path& host_folder);

}  // namespace bicrl
