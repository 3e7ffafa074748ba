// What a machine is, for a person who compares runs: processor, GPUs, system. Read from files of the kernel,
// so that no driver is needed.
#pragma once
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace bicrl {

// Name and value, in the order in which a person reads them; what is not known is left out. `root`: of
// another file system, for tests.
std::vector<std::pair<std::string, std::string>> machine_description(const std::filesystem::path& root = "/");

}  // namespace bicrl
