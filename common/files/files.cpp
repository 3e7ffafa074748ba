#include "common/files/files.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "common/error.h"
#include "common/files/atomic_file.h"
#include "common/files/named_file.h"

namespace bicrl {
namespace fs = std::filesystem;

std::string read_file(const fs::path& path, size_t most_bytes) {
  const auto fail = [&](const std::string& reason) {
    throw InputError(concat("cannot read ", path.string(), ": ", reason));
  };
  std::error_code unknown;
  if (fs::is_directory(path, unknown)) fail("is a folder");
  std::ifstream in(path, std::ios::binary);
  if (!in) fail(strerror(errno));
  constexpr size_t kPieceBytes = 1 << 16;
  if (!fs::is_regular_file(path, unknown)) most_bytes = std::min(most_bytes, size_t{1} << 30);
  std::string bytes;
  while (in) {
    const size_t begin = bytes.size();
    bytes.resize(begin + kPieceBytes);
    in.read(bytes.data() + begin, kPieceBytes);
    bytes.resize(begin + static_cast<size_t>(in.gcount()));
    if (bytes.size() > most_bytes) fail(concat("holds more than ", most_bytes, " bytes"));
  }
  if (in.bad()) fail(strerror(errno));
  return bytes;
}

FileHash write_file_atomically(const fs::path& path, std::string_view bytes, FileOperations& files) {
  AtomicFile file(path, files);
  file.write(bytes);
  return file.commit();
}

fs::path program_folder() { return fs::read_symlink("/proc/self/exe").parent_path(); }

fs::path share_folder() {
  if (const char* named = getenv("BICRL_SHARE")) return named;
  return program_folder().parent_path() / "share" / "bicrl";
}

void check_writable(const std::string& path) {
  if (path.empty()) return;
  if (is_stream(path)) {
    if (access(path.c_str(), W_OK) != 0)
      throw Error(concat("cannot write ", path, ": ", strerror(errno)), ExitCode::kUsage);
    return;
  }
  const fs::path file = follow_links(path);
  const fs::path folder = file.has_parent_path() ? file.parent_path() : ".";
  // No InputError: other ranks, which write nothing, do not find it.
  if (!fs::is_directory(folder))
    throw Error(concat("cannot write ", path, ": ", folder.string(), " is no folder"), ExitCode::kUsage);
  if (access(folder.c_str(), W_OK) != 0 || fs::is_directory(path))
    throw Error(concat("cannot write ", path, fs::is_directory(path) ? ": is a folder" : ""),
                ExitCode::kUsage);
}

}  // namespace bicrl
