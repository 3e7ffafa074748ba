#include "sandbox/host_compiler.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "common/error.h"
#include "common/files.h"
#include "common/hash.h"

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

const std::string& compiler() {
  static const std::string path = [] {
    std::string found = find_program({"g++", "g++-12", "g++-13", "g++-14"});
    if (found.empty()) throw Error("the host backend needs g++ in /usr/bin", ExitCode::kUnavailable);
    return found;
  }();
  return path;
}

bool has_mold() {
  static const bool found = !find_program({"mold"}).empty();
  return found;
}

std::string compiler_version() {
  std::string text;
  const std::string command = "'" + compiler() + "' -dumpfullversion -dumpversion 2>/dev/null";
  if (FILE* pipe = popen(command.c_str(), "r")) {
    std::array<char, 128> buffer{};
    while (fgets(buffer.data(), buffer.size(), pipe)) text += buffer.data();
    pclose(pipe);
  }
  return text;
}

}  // namespace

HostCompileCommand host_compile_command(const SplitProgram& program, const fs::path& work_folder,
                                        const fs::path& host_folder) {
  HostCompileCommand command;
  command.output_file = "module.so";
  command.argv.push_back(compiler());
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
  static const std::string version = compiler_version();
  std::string all = version + read_file(host_folder / "compile_flags");
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(host_folder / "include"))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& file : files)
    all += fs::relative(file, host_folder).string() + std::to_string(fs::file_size(file)) +
           std::to_string(fs::last_write_time(file).time_since_epoch().count());
  const fs::path library = host_folder / "libbicrl_host.so";
  if (fs::exists(library))
    all += std::to_string(fs::file_size(library)) +
           std::to_string(fs::last_write_time(library).time_since_epoch().count());
  return hash_hex(all);
}

}  // namespace bicrl
