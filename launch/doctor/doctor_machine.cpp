#include "launch/doctor/doctor_machine.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iomanip>
#include <sstream>

#include "common/error.h"
#include "sandbox/box/box_host.h"
#include "sandbox/box/process/command.h"

namespace bicrl {
namespace {
namespace fs = std::filesystem;

constexpr double kGiB = 1024.0 * 1024 * 1024;
// Two ranks of the quickstart, the two interpreters of the boxes and one compiler took 1.6 GiB.
constexpr double kLeastMemory_GiB = 1.5, kEnoughMemory_GiB = 4;

std::string gibibytes(uint64_t bytes) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << static_cast<double>(bytes) / kGiB << " GiB";
  return text.str();
}

fs::path nearest_existing(fs::path folder) {
  std::error_code ignored;
  folder = fs::absolute(folder, ignored).lexically_normal();
  while (!fs::exists(folder, ignored) && folder != folder.root_path()) folder = folder.parent_path();
  return folder;
}

// Why no file can be written in the folder; empty if one can. Quotas and full disks show only on writing.
std::string write_problem(const fs::path& folder) {
  std::string name = (folder / ".bicrl-doctor-XXXXXX").string();
  const int fd = mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) return strerror(errno);
  const std::string block(1 << 20, 'x');
  std::string problem;
  if (write(fd, block.data(), block.size()) != static_cast<ssize_t>(block.size()) || fsync(fd) != 0)
    problem = strerror(errno ? errno : ENOSPC);
  close(fd);
  unlink(name.c_str());
  return problem;
}

// The first "1.2.3" of a text.
std::string version_in(const std::string& text) {
  for (size_t at = text.find_first_of("0123456789"); at != std::string::npos;
       at = text.find_first_of("0123456789", at)) {
    size_t end = text.find_first_not_of("0123456789.", at);
    if (end == std::string::npos) end = text.size();
    const std::string word = text.substr(at, end - at);
    if (word.find('.') != std::string::npos) return word;
    at = end;
  }
  return "";
}

}  // namespace

Check check_cpus(double usable) {
  std::ostringstream found;
  found << std::setprecision(3) << usable << " usable";
  if (usable >= 2) return check_ok("CPUs", found.str());
  return check_limited("CPUs", found.str(),
                       "ranks and verifier share it: expect training to take twice as long; use one rank");
}

Check check_memory(uint64_t available_bytes) {
  const std::string found = gibibytes(available_bytes) + " available";
  const auto available = static_cast<double>(available_bytes) / kGiB;
  if (available < kLeastMemory_GiB)
    return check_missing("memory", found,
                         concat("a small run needs ", kLeastMemory_GiB,
                                " GiB: end other programs, or raise the container's limit"));
  if (available < kEnoughMemory_GiB)
    return check_limited("memory", found,
                         concat("enough for small tasks with one or two ranks; ", kEnoughMemory_GiB,
                                " GiB or more are better"));
  return check_ok("memory", found);
}

Check check_folder(const std::string& name, const fs::path& folder, const FolderNeeds& needs) {
  const fs::path existing = nearest_existing(folder);
  std::error_code ignored;
  if (!fs::is_directory(existing, ignored))
    return check_missing(name, concat(existing.string(), " is not a folder"), needs.remedy);
  struct statvfs info;
  if (statvfs(existing.c_str(), &info) != 0)
    return check_missing(name, concat(existing.string(), ": ", strerror(errno)), needs.remedy);
  if (const std::string problem = write_problem(existing); !problem.empty())
    return check_missing(name, concat(existing.string(), " cannot be written: ", problem), needs.remedy);
  const uint64_t free_bytes = static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
  const std::string found = concat(folder.string(), ": ", gibibytes(free_bytes), " free");
  if (free_bytes < needs.least_bytes) return check_missing(name, found, needs.remedy);
  if (free_bytes < needs.enough_bytes) return check_limited(name, found, needs.remedy);
  return check_ok(name, found);
}

Check check_mpi_launcher(const std::string& library) {
  constexpr const char* kName = "MPI launcher";
  std::string path = find_program("mpirun");
  if (path.empty()) path = find_program("mpiexec");
  if (path.empty())
    return check_limited(kName, "neither mpirun nor mpiexec is on PATH",
                         "runs have one rank; `apt-get install openmpi-bin` for more");
  const CommandResult result = run_command({path, "--version"}, {"PATH=/usr/local/bin:/usr/bin:/bin"});
  const std::string said = result.output.substr(0, result.output.find('\n'));
  const std::string version = version_in(said);
  if (!result.succeeded || version.empty())
    return check_limited(kName, concat(path, " does not say its version: ", said),
                         "runs have one rank; install Open MPI's launcher for more");
  const std::string found = concat(path, ", ", said);
  // A launcher of another MPI starts ranks that each think they are alone.
  if (!library.empty() && version_in(library) != version)
    return check_limited(kName, concat(found, ", but the ranks use ", library.substr(0, library.find(','))),
                         "put the launcher of that library first on PATH");
  return check_ok(kName, found);
}

}  // namespace bicrl
