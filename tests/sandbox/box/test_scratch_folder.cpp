// Folders of dead servers are removed; those in use are not, whatever process namespace their server is in.
#include "sandbox/box/scratch_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>

#include "common/error.h"
#include "tests/support/support.h"

namespace bicrl {
namespace fs = std::filesystem;

TEST_CASE("folders that dead servers left are removed, and no others") {
  const testing::TemporaryFolder parent;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  REQUIRE(waitpid(child, nullptr, 0) == child);  // a process number that nobody has
  const fs::path left = parent.path() / concat("bicrl-verifier-", child, "-aaaaaa");
  const fs::path elsewhere = parent.path() / concat("bicrl-verifier-", child, "-bbbbbb");
  const fs::path alive = parent.path() / concat("bicrl-verifier-", getpid(), "-cccccc");
  const fs::path another = parent.path() / "another-program";
  for (const fs::path& path : {left, elsewhere, alive, another}) fs::create_directories(path / "inside");
  // As a server in another process namespace has it.
  const UniqueFd lock(open(elsewhere.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  REQUIRE(flock(lock.get(), LOCK_EX) == 0);

  const ScratchFolder folder(parent.path());
  CHECK(!fs::exists(left));
  CHECK(fs::exists(elsewhere));
  CHECK(fs::exists(alive));
  CHECK(fs::exists(another));

  // Its own folder is locked as long as it lives.
  const UniqueFd other(open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  CHECK(flock(other.get(), LOCK_EX | LOCK_NB) != 0);
}

}  // namespace bicrl
