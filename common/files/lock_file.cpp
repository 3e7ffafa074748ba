#include "common/files/lock_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/error.h"

namespace bicrl {

// A file of another user's in a folder like this one may be opened, but not with O_CREAT
// (fs.protected_regular).
LockFile open_lock_file(std::string name) {
  std::ranges::replace(name, '/', '-');
  const std::string path = concat("/dev/shm/", name);
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  UniqueFd file;
  for (int round = 0; round < 2 && !file; ++round) {  // another process may make it between the two
    file = UniqueFd(open(path.c_str(), kFlags));
    if (file || errno != ENOENT) break;
    file = UniqueFd(open(path.c_str(), kFlags | O_CREAT | O_EXCL, 0666));
    if (file) (void)fchmod(file.get(), 0666);
  }
  if (file) return {.file = std::move(file), .problem = {}};
  return {.file = {}, .problem = concat("cannot open ", path, ": ", strerror(errno))};
}

}  // namespace bicrl
