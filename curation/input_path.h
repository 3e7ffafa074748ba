// Input files that a pipeline's file names.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/config/config.h"

namespace bicrl::curation {

// `path` from the working directory, else below `config_folder` or the nearest folder above it that has it. A
// path that begins with "data/" also counts from the folder that the environment variable BICRL_DATA names.
std::optional<std::filesystem::path> find_input(const std::string& path,
                                                const std::filesystem::path& config_folder);
// The same. Rejects the key if there is none.
std::filesystem::path input_path(const ConfigSection& section, const std::string& key,
                                 const std::string& path, const std::filesystem::path& config_folder);
// The files that `path` stands for, found in the same places: the file itself, the data files of a folder (of
// a run's folder those of its texts/), or those that a pattern with *, ? and [...] fits, in the order of
// their names. Empty if there is none.
std::vector<std::filesystem::path> find_inputs(const std::string& path,
                                               const std::filesystem::path& config_folder);
// Those of each text of a list. Rejects the key if a text stands for none.
std::vector<std::filesystem::path> input_paths(const ConfigSection& section, const std::string& key,
                                               const std::filesystem::path& config_folder);

// Files of which a user may lack some: published ones.
struct InputFiles {
  std::vector<std::filesystem::path> found;
  std::vector<std::string> missing;  // as the pipeline's file names them
  bool stand_in = false;             // none was there: `found` are those of the key `otherwise`
};
// The files of `key`; with a key `otherwise` those that are there, and where none is, those of `otherwise`.
// Without that key it rejects `key` if one is missing.
InputFiles inputs_or_others(const ConfigSection& section, const std::string& key,
                            const std::filesystem::path& config_folder);

}  // namespace bicrl::curation
