#include "curation/input_path.h"

#include "common/error.h"

namespace bicrl::curation {

namespace fs = std::filesystem;

std::optional<fs::path> find_input(const std::string& path, const fs::path& config_folder) {
  if (fs::exists(path)) return path;
  if (fs::path(path).is_absolute()) return std::nullopt;
  fs::path folder = fs::absolute(config_folder.empty() ? "." : config_folder).lexically_normal();
  for (;; folder = folder.parent_path()) {
    if (fs::exists(folder / path)) return folder / path;
    if (folder == folder.parent_path()) return std::nullopt;
  }
}

fs::path input_path(const ConfigSection& section, const std::string& key, const std::string& path,
                    const fs::path& config_folder) {
  if (const auto found = find_input(path, config_folder)) return *found;
  section.reject(key, concat("'", path, "' does not exist, neither from the working directory nor from ",
                             config_folder.empty() ? "." : config_folder.string(), " or a folder above it"));
}

std::vector<fs::path> input_paths(const ConfigSection& section, const std::string& key,
                                  const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const std::string& text : section.texts(key)) paths.push_back(input_path(section, key, text, folder));
  return paths;
}

}  // namespace bicrl::curation
