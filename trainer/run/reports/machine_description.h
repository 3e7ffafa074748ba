// Description of a machine for a person who compares runs: processor, GPUs, system. Read from files of the
// kernel, so that no driver is needed.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace bicrl {

// How many GPUs of each model this machine has, as the driver names them.
std::map<std::string, int> gpu_models(const std::filesystem::path& root = "/");

// Name and value, in the order in which a person reads them; what is not known is left out. `root`: of
// another file system, for tests.
std::vector<std::pair<std::string, std::string>> machine_description(const std::filesystem::path& root = "/");

}  // namespace bicrl
