#include "sandbox/candidate/host_compiler.h"

#include <string_view>

#include "common/error.h"
#include "common/file_fingerprint.h"
#include "common/files.h"
#include "common/hash.h"
#include "sandbox/box/command.h"

namespace bicrl {
namespace {
namespace fs = std::filesystem;

std::string find_program(std::initializer_list<const char*> names) {
  for (const char* name : names)
    for (const char* folder : {"/usr/bin", "/usr/local/bin"}) {
      std::error_code ignored;
      const fs::path path = fs::path(folder) / name;
      if (fs::exists(path, ignored)) return path.string();
    }
  return "";
}

bool has_mold() {
  static const bool found = !find_program({"mold"}).empty();
  return found;
}

}  // namespace

const HostCompiler& host_compiler() {
  static const HostCompiler found = [] {
    HostCompiler compiler;
    compiler.path = find_program({"g++", "g++-12", "g++-13", "g++-14"});
    if (compiler.path.empty())
      throw Error("the verifier needs g++ in /usr/bin. Run `apt-get install g++`", ExitCode::kUnavailable);
    compiler.version = run_command({compiler.path, "-dumpfullversion", "-dumpversion"}).output;
    return compiler;
  }();
  return found;
}

std::vector<std::string> unusable_preludes(const fs::path& host_folder) {
  std::vector<std::string> unusable;
  for (const char* name : {"prelude.h", "prelude_std.h"}) {
    const fs::path header = host_folder / "include" / "bicrl" / name;
    // -H lists the headers that are read, with a "!" before a precompiled one that is used.
    const CommandResult result =
        run_command({host_compiler().path, "@" + (host_folder / "compile_flags").string(),
                     "-I" + (host_folder / "include").string(), "-H", "-fsyntax-only", "-x", "c++",
                     "-include", header.string(), "/dev/null"},
                    {"PATH=/usr/bin", "LC_ALL=C"}, 60);
    if (result.output.find("! " + header.string() + ".gch") == std::string::npos) unusable.push_back(name);
  }
  return unusable;
}

HostCompileCommand host_compile_command(const SplitProgram& program, const fs::path& work_folder,
                                        const fs::path& host_folder) {
  HostCompileCommand command;
  command.output_file = "module.so";
  command.argv.push_back(host_compiler().path);
  // The precompiled prelude was made with the same file; other flags would make it useless.
  command.argv.push_back("@" + (host_folder / "compile_flags").string());
  command.argv.push_back("-shared");
  command.argv.push_back("-I" + (host_folder / "include").string());
  for (const auto& unit : program.units) command.argv.push_back((work_folder / unit.file_name).string());
  command.argv.insert(command.argv.end(),
                      {"-o", (work_folder / command.output_file).string(), "-L" + host_folder.string(),
                       "-lbicrl_host", "-Wl,--no-undefined", "-Wl,-z,now"});
  if (has_mold()) command.argv.push_back("-fuse-ld=mold");
  return command;
}

std::string host_toolchain_id(const fs::path& host_folder) {
  return hash_hex({host_compiler().version, read_file(host_folder / "compile_flags"),
                   file_fingerprint(host_folder / "include"),
                   file_fingerprint(host_folder / "libbicrl_host.so")});
}

}  // namespace bicrl
