// Input files that a pipeline's file names.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/config/config.h"

namespace bicrl::curation {

// `path` from the working directory, else below `config_folder` or the nearest folder above it that has it.
std::optional<std::filesystem::path> find_input(const std::string& path,
                                                const std::filesystem::path& config_folder);
// The same. Rejects the key if there is none.
std::filesystem::path input_path(const ConfigSection& section, const std::string& key,
                                 const std::string& path, const std::filesystem::path& config_folder);
std::vector<std::filesystem::path> input_paths(const ConfigSection& section, const std::string& key,
                                               const std::filesystem::path& config_folder);

}  // namespace bicrl::curation
