// A fingerprint of installed files by name, size and time, for the keys of caches.
#pragma once
#include <filesystem>
#include <string>

namespace bicrl {

// Name, size and time of the file, or of every file below the folder: cheap, and other bytes hardly have the
// same. Empty if there is neither.
std::string file_fingerprint(const std::filesystem::path& path);

}  // namespace bicrl
