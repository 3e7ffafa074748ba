// Finds files and folders that a configuration names.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "common/config/config.h"

namespace bicrl {

// `path` as given if it exists, else below `config_folder` or the nearest folder above it that has it; as
// given if none has.
std::filesystem::path existing_or_given(const std::string& path, const std::filesystem::path& config_folder);

// The same of a key. If it does not exist, the document's finish() reports that together with whatever else
// is missing: nothing may be read from the path before.
std::filesystem::path existing_path(const ConfigSection& section, const std::string& key,
                                    const std::string& path, const std::filesystem::path& config_folder);

// The same for each path of a list.
std::vector<std::filesystem::path> existing_paths(const ConfigSection& section, const std::string& key,
                                                  const std::filesystem::path& config_folder);

}  // namespace bicrl
