#include "trainer/inputs/existing_path.h"

namespace bicrl {
namespace fs = std::filesystem;

fs::path existing_or_given(const std::string& path, const fs::path& config_folder) {
  if (fs::exists(path)) return path;
  if (!fs::path(path).is_absolute()) {
    const fs::path start = config_folder.empty() ? "." : config_folder;
    for (fs::path folder = fs::absolute(start).lexically_normal();; folder = folder.parent_path()) {
      if (fs::exists(folder / path)) return folder / path;
      if (folder == folder.parent_path()) break;
    }
  }
  return path;
}

fs::path existing_path(const ConfigSection& section, const std::string& key, const std::string& path,
                       const fs::path& config_folder) {
  const fs::path found = existing_or_given(path, config_folder);
  if (fs::exists(found)) return found;
  section.reject_later(key,
                       concat("'", path, "' does not exist, neither from the working directory nor from ",
                              config_folder.empty() ? "." : config_folder.string(), " or a folder above it"));
  return path;
}

std::vector<fs::path> existing_paths(const ConfigSection& section, const std::string& key,
                                     const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const std::string& text : section.texts(key))
    paths.push_back(existing_path(section, key, text, folder));
  return paths;
}

}  // namespace bicrl
