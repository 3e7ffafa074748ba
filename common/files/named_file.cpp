#include "common/files/named_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>

#include "common/error.h"
#include "common/files/files.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr int kMostLinks = 40;  // as the kernel

fs::path folder_of(const fs::path& path) {
  std::error_code unknown;
  return fs::canonical(path.has_parent_path() ? path.parent_path() : ".", unknown);
}

// A link of /proc/PID/fd stands for an open file, whatever path its text is.
bool is_open_file(const fs::path& path) { return folder_of(path).string().starts_with("/proc/"); }

// Of this process: its own descriptor shares the place in the file with whoever else writes there. Else -1.
int own_descriptor(const fs::path& path) {
  if (folder_of(path) != concat("/proc/", getpid(), "/fd")) return -1;
  int number = -1;
  const std::string name = path.filename();
  std::from_chars(name.data(), name.data() + name.size(), number);
  return number;
}

// Calls visit(path) for the name and each that its links lead to, until it returns false.
template <class Visit>
void for_each_link(fs::path path, const Visit& visit) {
  std::error_code unknown;
  for (int links = 0; visit(path) && fs::is_symlink(fs::symlink_status(path, unknown)); ++links) {
    if (links == kMostLinks) throw Error(concat("cannot write ", path.string(), ": its links lead nowhere"));
    const fs::path target = fs::read_symlink(path);
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
}

}  // namespace

fs::path follow_links(const fs::path& path) {
  fs::path last = path;
  for_each_link(path, [&](const fs::path& one) {
    last = one;
    return true;
  });
  return last;
}

bool is_stream(const fs::path& path) {
  std::error_code unknown;
  const fs::file_status status = fs::status(path, unknown);
  if (!fs::exists(status) || fs::is_directory(status)) return false;
  bool open = !fs::is_regular_file(status);
  for_each_link(path, [&](const fs::path& one) {
    open = open || is_open_file(one);
    return !open;
  });
  return open;
}

OutputStream::OutputStream(const fs::path& path) : path_(path) {
  for_each_link(path, [&](const fs::path& one) {
    if (const int own = own_descriptor(one); own >= 0) file_ = UniqueFd(fcntl(own, F_DUPFD_CLOEXEC, 0));
    return !file_;
  });
  if (!file_) file_ = UniqueFd(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY));
  if (!file_) throw Error(concat("cannot write ", path.string(), ": ", strerror(errno)));
}

void OutputStream::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error(concat("cannot write ", path_.string(), ": ", strerror(errno)));
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

void write_named_file(const fs::path& path, std::string_view bytes) {
  if (is_stream(path))
    OutputStream(path).write(bytes);
  else
    write_file_atomically(follow_links(path), bytes);
}

}  // namespace bicrl
