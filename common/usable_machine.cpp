#include "common/usable_machine.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>

namespace bicrl {
namespace {
namespace fs = std::filesystem;

// The first word of a file as a number; nothing if there is none ("max", "-1", no such file).
std::optional<double> number_in(const fs::path& file, int word = 0) {
  std::ifstream in(file);
  std::string text;
  for (int i = 0; i <= word; ++i)
    if (!(in >> text)) return std::nullopt;
  char* end = nullptr;
  const double value = strtod(text.c_str(), &end);
  if (end == text.c_str() || value <= 0) return std::nullopt;
  return value;
}

// The number behind a key, in a file of such lines (a unit may follow).
std::optional<double> number_of(const fs::path& file, const std::string& key) {
  std::ifstream in(file);
  std::string name, unit;
  for (double value = 0; in >> name >> value && std::getline(in, unit);)
    if (name == key) return value;
  return std::nullopt;
}

std::vector<fs::path> own_group_folders(const std::string& controller) {
  std::ifstream in("/proc/self/cgroup");
  const std::string groups{std::istreambuf_iterator<char>(in), {}};
  return group_folders(groups, controller, "/sys/fs/cgroup");
}

}  // namespace

std::vector<fs::path> group_folders(const std::string& groups, const std::string& controller,
                                    const fs::path& mount) {
  std::vector<fs::path> folders;
  std::istringstream in(groups);
  for (std::string line; std::getline(in, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    const fs::path root = names == ",," ? mount : mount / controller;
    if (names != ",," && names.find("," + controller + ",") == std::string::npos) continue;
    // A limit of any group above holds, too (a slice, a batch job). Inside a container the group's own path
    // may not be visible, and the mount shows the group itself.
    for (fs::path below = line.substr(second + 1); below.has_relative_path(); below = below.parent_path())
      folders.push_back(root / below.relative_path());
    folders.push_back(root);
  }
  return folders;
}

double usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  double usable = sched_getaffinity(0, sizeof set, &set) == 0
                      ? CPU_COUNT(&set)
                      : static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  for (const fs::path& group : own_group_folders("cpu")) {
    const auto quota = number_in(group / "cpu.max"), period = number_in(group / "cpu.max", 1);
    if (quota && period) usable = std::min(usable, *quota / *period);
    const auto old_quota = number_in(group / "cpu.cfs_quota_us"),
               old_period = number_in(group / "cpu.cfs_period_us");
    if (old_quota && old_period) usable = std::min(usable, *old_quota / *old_period);
  }
  return usable;
}

uint64_t available_memory_bytes() {
  const auto kibibytes = number_of("/proc/meminfo", "MemAvailable:");
  double available = kibibytes ? *kibibytes * 1024 : std::numeric_limits<double>::infinity();
  for (const fs::path& group : own_group_folders("memory"))
    if (const auto left = memory_left_in_group(group))
      available = std::min(available, static_cast<double>(*left));
  return static_cast<uint64_t>(std::min(available, 1e18));
}

uint64_t usable_memory_bytes() {
  const auto physical =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return std::min(physical, memory_limit_of_groups(own_group_folders("memory")).value_or(physical));
}

std::optional<uint64_t> memory_limit_of_groups(const std::vector<fs::path>& groups) {
  std::optional<uint64_t> least;
  for (const fs::path& group : groups)
    for (const char* name : {"memory.max", "memory.limit_in_bytes"})
      if (const auto limit = number_in(group / name)) {
        const auto bytes = static_cast<uint64_t>(std::min(*limit, 1e18));
        least = std::min(least.value_or(bytes), bytes);
      }
  return least;
}

std::optional<uint64_t> memory_left_in_group(const fs::path& group) {
  struct Names {
    const char *limit, *held, *inactive, *active;  // the last two of cached files
  };
  for (const Names& names : {Names{"memory.max", "memory.current", "inactive_file", "active_file"},
                             Names{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file",
                                   "total_active_file"}}) {
    const auto limit = number_in(group / names.limit);
    if (!limit) continue;
    const fs::path statistics = group / "memory.stat";
    const double cached =
        number_of(statistics, names.inactive).value_or(0) + number_of(statistics, names.active).value_or(0);
    const double kept = std::max(0.0, number_in(group / names.held).value_or(0) - cached);
    return static_cast<uint64_t>(std::clamp(*limit - kept, 0.0, 1e18));
  }
  return std::nullopt;
}

}  // namespace bicrl
