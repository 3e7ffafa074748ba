#include "curation/table_process.h"

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "common/error.h"
#include "common/files/files.h"
#include "common/json.h"
#include "sandbox/box/python_install.h"

namespace bicrl::curation {
namespace {

namespace fs = std::filesystem;

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

[[noreturn]] void throw_failure(const fs::path& file, const nlohmann::json& said) {
  const std::string why = said.value("error", "");
  if (said.value("kind", "") == "missing")
    throw Error(concat(file.string(), ": Arrow and Parquet files need pyarrow, which is not installed (", why,
                       "): launch/setup --with-tables installs it"),
                ExitCode::kUnavailable);
  if (said.value("kind", "") == "malformed")
    throw InputError(concat(file.string(), ": is no such table: ", why));
  throw Error(concat("cannot write ", file.string(), ": ", why));
}

// A row, or the converter's own complaint about `file`.
nlohmann::json parsed(const std::string& line, const fs::path& file) {
  nlohmann::json said = nlohmann::json::parse(line, nullptr, false);
  if (said.is_discarded() || !said.is_object())
    throw Error(concat("the converter of tables prints what is no answer about ", file.string(), ": ",
                       line.substr(0, 200)));
  if (said.contains("error")) throw_failure(file, said);
  return said;
}

}  // namespace

void TableProcess::run(const std::string& what, const std::vector<fs::path>& files,
                       const std::function<void(const nlohmann::json& row)>& take) {
  if (python_.empty()) python_ = PythonInstall::find().interpreter;
  std::string command =
      concat(quoted(python_), " -I ", quoted((share_folder() / "curation" / "convert_table.py").string()),
             " ", what);
  for (const fs::path& file : files) command += " " + quoted(fs::absolute(file).string());
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "re"),
                                                   [](FILE* open) { return pclose(open); });
  if (!pipe) throw Error("cannot start the converter of tables");
  char* line = nullptr;
  size_t size = 0;
  const auto release = std::unique_ptr<char*, void (*)(char**)>(&line, [](char** text) { free(*text); });
  bool done = false;
  for (ssize_t got; (got = getline(&line, &size, pipe.get())) >= 0;) {
    const nlohmann::json said = parsed(std::string(line, static_cast<size_t>(got)), files.back());
    if (said.contains("row")) take(said["row"]);
    done = said.contains("done");
  }
  if (!done) throw Error(concat("the converter of tables ended before the end of ", files.back().string()));
}

void TableProcess::read(const fs::path& table,
                        const std::function<void(size_t number, const nlohmann::json& row)>& take) {
  if (!fs::is_regular_file(table)) throw InputError(concat("cannot read ", table.string()));
  size_t number = 0;
  run("read", {table}, [&](const nlohmann::json& row) { take(++number, row); });
}

void TableProcess::write(const fs::path& lines, const fs::path& table) {
  run("write", {lines, table}, [](const nlohmann::json&) {});
}

}  // namespace bicrl::curation
