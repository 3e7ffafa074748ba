#include "common/files/file_fingerprint.h"

#include <algorithm>
#include <vector>

#include "common/error.h"

namespace bicrl {
namespace fs = std::filesystem;

std::string file_fingerprint(const fs::path& path) {
  std::vector<std::string> files;
  const auto note = [&](const fs::directory_entry& entry) {
    if (entry.is_regular_file())
      files.push_back(concat(entry.path().lexically_relative(path.parent_path()).string(), " ",
                             entry.file_size(), " ", entry.last_write_time().time_since_epoch().count(),
                             "\n"));
  };
  if (fs::is_directory(path)) {
    for (const auto& entry : fs::recursive_directory_iterator(path)) note(entry);
  } else if (fs::exists(path)) {
    note(fs::directory_entry(path));
  }
  std::sort(files.begin(), files.end());
  std::string text;
  for (const std::string& file : files) text += file;
  return text;
}

}  // namespace bicrl
