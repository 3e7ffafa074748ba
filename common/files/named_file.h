// Files under names that a user gives. A name may be a link, a pipe or a device: it stays what it is, where a
// file of our own would be replaced (common/files/atomic_file.h). Free functions without state.
#pragma once
#include <filesystem>
#include <string_view>

#include "common/files/unique_fd.h"

namespace bicrl {

// Where the links of a name lead, whether there is a file or not; the name itself if it is no link.
// Throws Error if they lead nowhere.
std::filesystem::path follow_links(const std::filesystem::path& path);

// Whether bytes are to go straight to what has the name: a pipe, a device, a terminal, a socket; and what a
// shell has opened already (/dev/stdout, /dev/fd/3), which a file of the same name would not be.
bool is_stream(const std::filesystem::path& path);

// What is_stream() says. Not thread-safe.
class OutputStream {
 public:
  // Opens it for writing at its end, and waits for a pipe's reader. Throws Error.
  explicit OutputStream(const std::filesystem::path& path);
  void write(std::string_view bytes);  // throws Error

 private:
  std::filesystem::path path_;
  UniqueFd file_;
};

// Writes to a stream directly, else as write_file_atomically() to where the links lead. Throws Error with the
// path and the system's reason.
void write_named_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace bicrl
