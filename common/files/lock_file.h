// Files in /dev/shm by which the processes of a host, of whatever user, know who works on what: locked with
// flock() for as long as that is so, and free again with whoever dies.
#pragma once
#include <string>

#include "common/files/unique_fd.h"

namespace bicrl {

struct LockFile {
  UniqueFd file;
  std::string problem;  // why there is none, in one line
};

// The file of that name; slashes count as dashes. Made where it is not there. Each call opens it anew, and
// holds a lock of its own.
LockFile open_lock_file(std::string name);

}  // namespace bicrl
