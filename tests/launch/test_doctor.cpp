// What `bicrl doctor` makes of a machine's figures, at and around its thresholds.
#include <stdlib.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <sstream>

#include "common/files/files.h"
#include "common/usable_machine.h"
#include "launch/doctor/doctor_machine.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;
constexpr uint64_t kGiBytes = 1ull << 30;

TEST_CASE("fewer than two CPUs are a limit, as is a quota below them") {
  CHECK(check_cpus(2).status == CheckStatus::kOk);
  CHECK(check_cpus(128).status == CheckStatus::kOk);
  CHECK(check_cpus(1).status == CheckStatus::kLimited);
  CHECK(check_cpus(0.5).status == CheckStatus::kLimited);
  CHECK_THAT(check_cpus(0.5).found, ContainsSubstring("0.5"));
  CHECK(usable_cpus() > 0);
  CHECK(usable_cpus() <= static_cast<double>(sysconf(_SC_NPROCESSORS_CONF)));
}

TEST_CASE("memory: too little, little, enough") {
  CHECK(check_memory(kGiBytes).status == CheckStatus::kMissing);
  CHECK(check_memory(2 * kGiBytes).status == CheckStatus::kLimited);
  CHECK(check_memory(8 * kGiBytes).status == CheckStatus::kOk);
  const uint64_t physical =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  CHECK(available_memory_bytes() > 0);
  CHECK(available_memory_bytes() < physical);
}

TEST_CASE("what a control group has left is its limit without what it holds, cached files aside") {
  const testing::TemporaryFolder group;
  const auto write = [&](const char* name, const char* text) { std::ofstream(group.path() / name) << text; };
  CHECK_FALSE(memory_left_in_group(group.path()));
  write("memory.max", "max\n");
  write("memory.current", "700\n");
  CHECK_FALSE(memory_left_in_group(group.path()));
  write("memory.max", "1000\n");
  CHECK(memory_left_in_group(group.path()) == 300);
  write("memory.stat", "anon 400\ninactive_file 250\nactive_file 50\n");
  CHECK(memory_left_in_group(group.path()) == 600);
  write("memory.current", "1200\n");
  CHECK(memory_left_in_group(group.path()) == 100);
  write("memory.current", "1300\n");
  CHECK(memory_left_in_group(group.path()) == 0);

  const testing::TemporaryFolder old;  // version 1
  std::ofstream(old.path() / "memory.limit_in_bytes") << "1000\n";
  std::ofstream(old.path() / "memory.usage_in_bytes") << "700\n";
  std::ofstream(old.path() / "memory.stat")
      << "cache 300\ninactive_file 7\ntotal_inactive_file 200\ntotal_active_file 50\n";
  CHECK(memory_left_in_group(old.path()) == 550);
}

TEST_CASE("limits of control groups hold from a process's own group up to the root") {
  const testing::TemporaryFolder mount;
  const auto folder = [&](const std::string& below) { return mount.path() / below; };
  const auto folders = group_folders(
      "5:memory:/batch/job\n4:cpu,cpuacct:/cpus\n0::/a.slice/b.service/c\nbroken\n", "memory", mount.path());
  CHECK(folders == std::vector{folder("memory/batch/job"), folder("memory/batch"), folder("memory"),
                               folder("a.slice/b.service/c"), folder("a.slice/b.service"), folder("a.slice"),
                               mount.path()});
  CHECK(group_folders("4:cpu,cpuacct:/cpus\n", "cpu", mount.path()) ==
        std::vector{folder("cpu/cpus"), folder("cpu")});
  CHECK(group_folders("0::/\n", "memory", mount.path()) == std::vector{mount.path()});

  CHECK_FALSE(memory_limit_of_groups(folders));
  const auto limit = [&](const std::string& below, const char* name, const char* text) {
    std::filesystem::create_directories(folder(below));
    std::ofstream(folder(below) / name) << text;
  };
  limit("a.slice/b.service/c", "memory.max", "max\n");
  CHECK_FALSE(memory_limit_of_groups(folders));
  limit("a.slice/b.service", "memory.max", "4096\n");
  limit("a.slice", "memory.max", "8192\n");
  CHECK(memory_limit_of_groups(folders) == 4096);
  limit("memory/batch", "memory.limit_in_bytes", "2048\n");
  limit("memory", "memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(memory_limit_of_groups(folders) == 2048);
}

TEST_CASE("a folder must be writable and have room") {
  const testing::TemporaryFolder temporary;
  const auto check = [&](const std::filesystem::path& folder, uint64_t least, uint64_t enough) {
    return check_folder("folder", folder, {least, enough, "make room"});
  };
  CHECK(check(temporary.path(), 1, 1).status == CheckStatus::kOk);
  CHECK(check(temporary.path() / "not" / "yet" / "there", 1, 1).status == CheckStatus::kOk);
  CHECK(check(temporary.path(), 1, 1ull << 60).status == CheckStatus::kLimited);
  const Check full = check(temporary.path(), 1ull << 60, 1ull << 60);
  CHECK(full.status == CheckStatus::kMissing);
  CHECK(full.remedy == "make room");
  CHECK(check("/proc/no/such", 0, 0).status == CheckStatus::kMissing);
  write_file_atomically(temporary.path() / "file", "x");
  CHECK(check(temporary.path() / "file", 0, 0).status == CheckStatus::kMissing);
  CHECK_THAT(check(temporary.path() / "file" / "below", 0, 0).found, ContainsSubstring("not a folder"));
  CHECK(std::filesystem::exists(temporary.path() / "file"));
  size_t left = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(temporary.path())) ++left;
  CHECK(left == 1);  // the file for trying is gone
}

TEST_CASE("the MPI launcher must belong to the library of the ranks") {
  const testing::TemporaryFolder temporary;
  const std::string path = getenv("PATH");
  const auto pretend = [&](const std::string& script) {
    write_file_atomically(temporary.path() / "mpirun", "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(temporary.path() / "mpirun", std::filesystem::perms::owner_all);
  };
  setenv("PATH", temporary.path().c_str(), 1);
  const Check none = check_mpi_launcher("Open MPI v4.1.4, package: x");
  pretend("echo 'mpirun (Open MPI) 4.1.4'");
  const Check same = check_mpi_launcher("Open MPI v4.1.4, package: x");
  const Check unknown = check_mpi_launcher("");
  pretend("echo 'HYDRA build details: Version: 4.0.2'");
  const Check other = check_mpi_launcher("Open MPI v4.1.4, package: x");
  pretend("echo broken 1.2.3; exit 3");
  const Check broken = check_mpi_launcher("Open MPI v1.2.3");
  setenv("PATH", path.c_str(), 1);
  CHECK(none.status == CheckStatus::kLimited);
  CHECK(same.status == CheckStatus::kOk);
  CHECK(unknown.status == CheckStatus::kOk);
  CHECK(other.status == CheckStatus::kLimited);
  CHECK_THAT(other.found, ContainsSubstring("4.0.2") && ContainsSubstring("Open MPI v4.1.4"));
  CHECK(broken.status == CheckStatus::kLimited);
}

TEST_CASE("the report is one line per check, and the same as JSON") {
  std::ostringstream lines;
  DoctorReport report(&lines);
  report.add(check_ok("one", "fine"));
  report.add(check_limited("two", "slow\n  and old", "buy\nanother"));
  CHECK(report.can_train());
  report.add(check_missing("three", "nothing", "get it"));
  CHECK_FALSE(report.can_train());
  CHECK(lines.str() ==
        "ok       one                 fine\n"
        "limited  two                 slow and old -> buy another\n"
        "missing  three               nothing -> get it\n");
  report.print_conclusion();
  CHECK_THAT(lines.str(), ContainsSubstring("cannot run here: three."));
  const auto json = report.to_json();
  CHECK(json["can_train"] == false);
  CHECK(json["checks"].size() == 3);
  CHECK(json["checks"][1]["status"] == "limited");
  CHECK(json["checks"][2]["remedy"] == "get it");
}

}  // namespace
}  // namespace bicrl
