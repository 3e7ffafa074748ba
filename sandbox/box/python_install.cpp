#include "sandbox/box/python_install.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/files.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr const char* kQuestion =
    "import importlib.util, json, sys; s = importlib.util.find_spec('torch'); "
    "v = importlib.import_module('importlib.metadata').version('torch') if s else ''; "
    "print(json.dumps({'paths': [p for p in sys.path if p], 'prefixes': [sys.prefix, sys.base_prefix, "
    "sys.exec_prefix, sys.base_exec_prefix], 'executable': sys.executable, 'torch': v}))";

std::string ask(const std::string& interpreter) {
  std::string quoted;
  for (const char c : interpreter) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  FILE* pipe = popen(concat("'", quoted, "' -I -c \"", kQuestion, "\"").c_str(), "re");
  if (!pipe) return {};
  std::string said;
  char buffer[4096];
  while (const size_t n = fread(buffer, 1, sizeof buffer, pipe)) said.append(buffer, n);
  const int status = pclose(pipe);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? said : std::string();
}

bool lies_within(const fs::path& path, const fs::path& folder) {
  const auto [end, unused] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

// Folders without those that lie within another; a distribution's own prefix is narrowed to what Python
// needs.
std::vector<BoxMount> mounts_of(const nlohmann::json& answer) {
  std::vector<fs::path> wanted;
  const auto want = [&](fs::path path) {
    path = path.lexically_normal();
    if (path == "/usr") {
      wanted.insert(wanted.end(), {"/usr/bin", "/usr/lib", "/usr/local/lib"});
    } else if (path != "/" && fs::exists(path)) {
      wanted.push_back(path);
    }
  };
  for (const auto& path : answer["prefixes"]) want(path.get<std::string>());
  for (const auto& path : answer["paths"]) want(path.get<std::string>());
  // A virtual environment's interpreter is a chain of links; every link must exist in the box.
  for (fs::path link = answer["executable"].get<std::string>();;) {
    want(link.parent_path() == "/usr/bin" ? fs::path("/usr") : link.parent_path());
    std::error_code none;
    if (!fs::is_symlink(link, none)) break;
    const fs::path next = fs::read_symlink(link);
    link = (next.is_absolute() ? next : link.parent_path() / next).lexically_normal();
  }
  std::vector<BoxMount> mounts;
  for (const auto& path : wanted) {
    const bool covered = std::any_of(wanted.begin(), wanted.end(), [&](const fs::path& other) {
      return other != path && lies_within(path, other);
    });
    const bool repeated =
        std::any_of(mounts.begin(), mounts.end(), [&](const auto& m) { return m.source == path; });
    if (!covered && !repeated && fs::exists(path)) mounts.push_back({path, path});
  }
  return mounts;
}

// The interpreter whose torch this program was linked with; empty if it is not on this machine.
std::string interpreter_of_build() {
  const fs::path note = share_folder() / "python";
  if (!fs::exists(note)) return {};
  std::string path = read_file(note);
  while (!path.empty() && path.back() == '\n') path.pop_back();
  return fs::exists(path) ? path : std::string();
}

}  // namespace

PythonInstall PythonInstall::find(const std::string& named) {
  std::string name = named;
  if (name.empty())
    if (const char* environment = getenv("BICRL_PYTHON")) name = environment;
  if (name.empty()) name = interpreter_of_build();
  PythonInstall found;
  found.interpreter = find_program(name.empty() ? "python3" : name);
  if (found.interpreter.empty())
    throw Error(concat("no Python interpreter ", name.empty() ? "python3" : name,
                       ". Set BICRL_PYTHON to a Python that has torch"),
                ExitCode::kUnavailable);
  const auto answer = nlohmann::json::parse(ask(found.interpreter), nullptr, false);
  if (!answer.is_object() || answer.value("torch", "").empty())
    throw Error(concat(found.interpreter,
                       " has no torch. Set BICRL_PYTHON to a Python that has it (launch/setup makes one)"),
                ExitCode::kUnavailable);
  found.torch_version = answer["torch"].get<std::string>();
  found.mounts = mounts_of(answer);
  for (const auto& path : answer["paths"]) found.packages.emplace_back(path.get<std::string>());
  return found;
}

}  // namespace bicrl
