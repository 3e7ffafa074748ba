#include "curation/input_path.h"

#include <cstdlib>

#include "common/error.h"

namespace bicrl::curation {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kData = "data/";

// Below the folder of published data.
std::optional<fs::path> find_in_data(const std::string& path) {
  const char* data = getenv("BICRL_DATA");
  if (!data || !path.starts_with(kData)) return std::nullopt;
  const fs::path found = fs::path(data) / path.substr(kData.size());
  return fs::exists(found) ? std::optional(found) : std::nullopt;
}

}  // namespace

std::optional<fs::path> find_input(const std::string& path, const fs::path& config_folder) {
  if (fs::exists(path)) return path;
  if (fs::path(path).is_absolute()) return std::nullopt;
  fs::path folder = fs::absolute(config_folder.empty() ? "." : config_folder).lexically_normal();
  for (;; folder = folder.parent_path()) {
    if (fs::exists(folder / path)) return folder / path;
    if (folder == folder.parent_path()) return find_in_data(path);
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

InputFiles inputs_or_others(const ConfigSection& section, const std::string& key, const fs::path& folder) {
  if (!section.has("otherwise")) return {.found = input_paths(section, key, folder), .missing = {}};
  InputFiles files;
  for (const std::string& text : section.texts(key)) {
    if (const auto path = find_input(text, folder))
      files.found.push_back(*path);
    else
      files.missing.push_back(text);
  }
  const std::vector<fs::path> others = input_paths(section, "otherwise", folder);
  files.stand_in = files.found.empty();
  if (files.stand_in) files.found = others;
  return files;
}

}  // namespace bicrl::curation
