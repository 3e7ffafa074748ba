// Whole-file reading and writing, and where the program's own files lie.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace bicrl {

// Throws InputError with the path and the system's reason, also where the file holds more than `most_bytes`
// (a device or a pipe that never ends would fill the memory).
std::string read_file(const std::filesystem::path& path, size_t most_bytes = size_t{1} << 30);

// Writes a temporary file beside `path`, syncs it and renames it: readers see the old or the new content.
// Throws Error with the path and the system's reason (for instance a full disk).
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

// bin/../share/bicrl of the running program ($BICRL_SHARE overrides): runtimes of the boxes.
std::filesystem::path share_folder();

// The folder of the running program itself.
std::filesystem::path program_folder();

}  // namespace bicrl
