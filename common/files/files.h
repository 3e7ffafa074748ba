// Whole-file reading and writing, and where the program's own files lie.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "common/files/file_operations.h"
#include "common/hash.h"

namespace bicrl {

// Throws InputError with the path and the system's reason, also if the file holds more than `most_bytes`.
// Of what is no regular file (a pipe, a device that never ends) at most 1 GiB is taken in any case.
std::string read_file(const std::filesystem::path& path, size_t most_bytes = SIZE_MAX);

// Writes a temporary file beside `path`, syncs it and renames it: readers see the old or the new content.
// Throws Error with the path and the system's reason (for instance a full disk). See atomic_file.h.
FileHash write_file_atomically(const std::filesystem::path& path, std::string_view bytes,
                               FileOperations& files = system_files());

// A file for write_named_file(), checked before long work: throws Error with exit code kUsage if it, or its
// folder, is missing or not writable. Empty: nothing to check.
void check_writable(const std::string& path);

// bin/../share/bicrl of the running program ($BICRL_SHARE overrides): runtimes of the boxes.
std::filesystem::path share_folder();

// The folder of the running program itself.
std::filesystem::path program_folder();

}  // namespace bicrl
