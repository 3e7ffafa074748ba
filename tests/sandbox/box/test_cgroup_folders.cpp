// Control groups of dead servers are removed; those of living ones are not, whatever process namespace they
// are in.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>

#include "common/error.h"
#include "sandbox/box/cgroup.h"

namespace bicrl {
namespace fs = std::filesystem;

TEST_CASE("control groups that dead servers left are removed, and no others") {
  const CgroupTree first;
  const auto slot = first.make_slot(0);
  if (slot->join_files().empty()) SKIP(first.missing());
  const fs::path own = fs::path(slot->join_files().front()).parent_path().parent_path();
  const pid_t child = fork();
  if (child == 0) _exit(0);
  REQUIRE(waitpid(child, nullptr, 0) == child);  // a process number that nobody has
  const fs::path left = own.parent_path() / concat("bicrl-", child);
  const fs::path elsewhere = own.parent_path() / concat("bicrl-", child, "-1");
  for (const fs::path& path : {left, elsewhere}) REQUIRE(mkdir(path.c_str(), 0755) == 0);
  // As a server in another process namespace has it.
  const UniqueFd lock(open(elsewhere.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  REQUIRE(flock(lock.get(), LOCK_EX) == 0);

  const CgroupTree second;
  CHECK(!fs::exists(left));
  CHECK(fs::exists(elsewhere));
  CHECK(fs::exists(own));
  const UniqueFd other(open(own.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  CHECK(flock(other.get(), LOCK_EX | LOCK_NB) != 0);
  rmdir(elsewhere.c_str());
}

}  // namespace bicrl
