#include "trainer/run_directory.h"

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files.h"

namespace bicrl {
namespace fs = std::filesystem;

RunDirectory::RunDirectory(const fs::path& wanted) {
  std::error_code error;
  if (wanted.has_parent_path()) fs::create_directories(wanted.parent_path(), error);
  if (error) throw Error(concat("cannot create ", wanted.parent_path().string(), ": ", error.message()));
  // create_directory tells by its result who was first, so two runs started at once get two folders.
  for (int number = 1;; ++number) {
    path_ = number == 1 ? wanted : fs::path(concat(wanted.string(), "-", number));
    if (fs::create_directory(path_, error)) break;
    if (error) throw Error(concat("cannot create the run directory ", path_.string(), ": ", error.message()));
  }
  metrics_.open(path_ / "metrics.jsonl");
  if (!metrics_)
    throw Error(concat("cannot write ", (path_ / "metrics.jsonl").string(), ": ", strerror(errno)));
}

void RunDirectory::write(const std::string& file, const std::string& text) const {
  write_file_atomically(path_ / file, text);
}

void RunDirectory::append_metrics(const nlohmann::json& record) {
  metrics_ << record.dump() << '\n' << std::flush;
  if (!metrics_)
    throw Error(concat("cannot append to ", (path_ / "metrics.jsonl").string(), ": ", strerror(errno)));
}

}  // namespace bicrl
