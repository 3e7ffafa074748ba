#include "sandbox/frontend/host_compiler.h"

#include <sstream>
#include <string_view>

#include "common/error.h"
#include "common/files/file_fingerprint.h"
#include "common/files/files.h"
#include "common/hash.h"
#include "sandbox/box/process/command.h"
#include "sandbox/frontend/warm_compiler.h"

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

// Stand for what differs from program to program.
constexpr const char* kObjects = "OBJECTS";
constexpr const char* kOutput = "OUTPUT";

// One flag a line.
std::vector<std::string> flags_of(const fs::path& host_folder) {
  std::vector<std::string> flags;
  std::istringstream lines(read_file(host_folder / "compile_flags"));
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) flags.push_back(line);
  return flags;
}

// The words of a line as the driver prints it: some between quotation marks, with backslashes inside.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  bool quoted = false, open = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == ' ' && !quoted) {
      open = false;
      continue;
    }
    if (!open) words.emplace_back();
    open = true;
    if (line[i] == '"')
      quoted = !quoted;
    else
      words.back() += line[i] == '\\' && i + 1 < line.size() ? line[++i] : line[i];
  }
  return words;
}

// What the driver would start of that name, if it were asked that.
std::vector<std::string> driver_command(const std::vector<std::string>& asked, const std::string& program) {
  std::vector<std::string> driver{host_compiler().path, "-###"};
  driver.insert(driver.end(), asked.begin(), asked.end());
  const CommandResult said = run_command(driver, {"PATH=/usr/bin", "LC_ALL=C"});
  std::istringstream lines(said.output);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(" ")) continue;
    std::vector<std::string> words = words_of(line);
    if (!words.empty() && fs::path(words.front()).filename() == program) return words;
  }
  throw Error(concat(host_compiler().path, " does not say how it starts ", program, ": ", said.output),
              ExitCode::kUnavailable);
}

// Absolute; the driver prefers its own folders to the system's.
std::string program_of_driver(const std::string& name) {
  const std::string said =
      run_command({host_compiler().path, "-print-prog-name=" + name}, {"PATH=/usr/bin", "LC_ALL=C"}).output;
  if (fs::path(said).is_absolute()) return said;
  const std::string found = find_program({name.c_str()});
  if (found.empty()) throw Error(concat("the verifier needs ", name, " in /usr/bin"), ExitCode::kUnavailable);
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
  for (const Prelude& prelude : kPreludes) {
    const fs::path header = host_folder / "include" / "bicrl" / prelude.file;
    // -H lists the headers that are read, with a "!" before a precompiled one that is used.
    const CommandResult result =
        run_command({host_compiler().path, "@" + (host_folder / "compile_flags").string(), prelude.standard,
                     "-I" + (host_folder / "include").string(), "-H", "-fsyntax-only", "-x", "c++",
                     "-include", header.string(), "/dev/null"},
                    {"PATH=/usr/bin", "LC_ALL=C"}, 60);
    if (result.output.find("! " + header.string() + ".gch") == std::string::npos)
      unusable.push_back(prelude.file);
  }
  return unusable;
}

std::vector<std::string> warm_compiler_command(const Prelude& prelude, const fs::path& host_folder,
                                               const fs::path& target_folder) {
  std::vector<std::string> asked = flags_of(host_folder);
  asked.insert(asked.end(), {prelude.standard, "-I" + (target_folder / "include").string(), "-x", "c++",
                             "-include", (target_folder / "include" / "bicrl" / prelude.file).string(),
                             "-include", box::kUnitPath, "-S", "/dev/null", "-o", "-"});
  return driver_command(asked, "cc1plus");
}

ModuleLinker::ModuleLinker(const fs::path& host_folder, const fs::path& target_folder) {
  const fs::path library = host_folder / "libbicrl_host.so";
  std::vector<std::string> asked = flags_of(host_folder);
  asked.insert(asked.end(), {"-shared", concat("-Wl,", kObjects), library.string(), "-Wl,--no-undefined",
                             "-Wl,-z,now", "-o", kOutput});
  linker_ = driver_command(asked, "collect2");
  // What only the driver's own program between it and the linker understands.
  std::erase_if(linker_, [](const std::string& word) {
    return word.starts_with("-plugin") || word.ends_with("liblto_plugin.so") ||
           word.starts_with("-fuse-ld") || word.starts_with("-fno-lto");
  });
  linker_.front() = program_of_driver(has_mold() ? "mold" : "ld");
  assembler_ = program_of_driver("as");
  for (std::string& word : linker_)
    if (word == library.string()) word = (target_folder / library.filename()).string();
}

std::vector<std::vector<std::string>> ModuleLinker::commands(size_t units, const std::string& output) const {
  std::vector<std::vector<std::string>> commands;
  std::vector<std::string> objects;
  for (size_t i = 0; i < units; ++i) {
    const std::string unit = concat("unit_", i);
    objects.push_back(unit + ".o");
    commands.push_back({assembler_, "--64", "-o", objects.back(), unit + ".s"});
  }
  std::vector<std::string>& link = commands.emplace_back();
  for (const std::string& word : linker_) {
    if (word == kObjects)
      link.insert(link.end(), objects.begin(), objects.end());
    else
      link.push_back(word == kOutput ? output : word);
  }
  return commands;
}

std::string host_toolchain_id(const fs::path& host_folder) {
  return hash_hex({host_compiler().version, read_file(host_folder / "compile_flags"),
                   file_fingerprint(host_folder / "include"),
                   file_fingerprint(host_folder / "libbicrl_host.so")});
}

}  // namespace bicrl
