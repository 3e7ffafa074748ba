#include "curation/input_path.h"

#include <glob.h>

#include <algorithm>
#include <cstdlib>

#include "common/error.h"

namespace bicrl::curation {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kData = "data/";
constexpr const char* kWildcards = "*?[";
constexpr std::string_view kEndings[] = {".json", ".jsonl", ".gz", ".arrow", ".feather", ".parquet"};

// The paths that `path` may mean, in the order in which they count.
std::vector<fs::path> places_of(const std::string& path, const fs::path& config_folder) {
  std::vector<fs::path> places = {path};
  if (fs::path(path).is_absolute()) return places;
  fs::path folder = fs::absolute(config_folder.empty() ? "." : config_folder).lexically_normal();
  for (;; folder = folder.parent_path()) {
    places.push_back(folder / path);
    if (folder == folder.parent_path()) break;
  }
  if (const char* data = getenv("BICRL_DATA"); data && *data && path.starts_with(kData))
    places.push_back(fs::path(data) / path.substr(kData.size()));
  return places;
}

std::vector<fs::path> data_files_in(const fs::path& folder) {
  // Of a run all responses, or those that it keeps by default.
  if (fs::exists(folder / "run.json")) {
    if (fs::is_directory(folder / "texts")) return data_files_in(folder / "texts");
    if (const fs::path kept = folder / "samples.jsonl"; fs::exists(kept)) return {kept};
  }
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const bool is_data = std::ranges::count(kEndings, entry.path().extension().string()) > 0;
    if (entry.is_regular_file() && is_data && !entry.path().filename().string().starts_with('.'))
      files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::vector<fs::path> fitting(const fs::path& pattern) {
  std::vector<fs::path> files;
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc; ++i)
      if (fs::is_regular_file(found.gl_pathv[i])) files.emplace_back(found.gl_pathv[i]);
  globfree(&found);
  std::ranges::sort(files);
  return files;
}

std::vector<fs::path> files_at(const fs::path& place) {
  if (fs::is_directory(place)) return data_files_in(place);
  if (fs::exists(place)) return {place};
  const bool is_pattern = place.string().find_first_of(kWildcards) != std::string::npos;
  return is_pattern ? fitting(place) : std::vector<fs::path>{};
}

}  // namespace

std::optional<fs::path> find_input(const std::string& path, const fs::path& config_folder) {
  for (const fs::path& place : places_of(path, config_folder))
    if (fs::exists(place)) return place;
  return std::nullopt;
}

std::vector<fs::path> find_inputs(const std::string& path, const fs::path& config_folder) {
  for (const fs::path& place : places_of(path, config_folder))
    if (std::vector<fs::path> files = files_at(place); !files.empty()) return files;
  return {};
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
  for (const std::string& text : section.texts(key)) {
    const std::vector<fs::path> files = find_inputs(text, folder);
    if (files.empty()) {
      const fs::path place = input_path(section, key, text, folder);  // rejects the key if there is nothing
      section.reject(key, concat("the folder '", place.string(), "' holds no data files"));
    }
    paths.insert(paths.end(), files.begin(), files.end());
  }
  return paths;
}

InputFiles inputs_or_others(const ConfigSection& section, const std::string& key, const fs::path& folder) {
  if (!section.has("otherwise")) return {.found = input_paths(section, key, folder), .missing = {}};
  InputFiles files;
  for (const std::string& text : section.texts(key)) {
    const std::vector<fs::path> found = find_inputs(text, folder);
    files.found.insert(files.found.end(), found.begin(), found.end());
    if (found.empty()) files.missing.push_back(text);
  }
  const std::vector<fs::path> others = input_paths(section, "otherwise", folder);
  files.stand_in = files.found.empty();
  if (files.stand_in) files.found = others;
  return files;
}

}  // namespace bicrl::curation
