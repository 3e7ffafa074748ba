#include "launch/rank_checks.h"

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <system_error>
#include <thread>

#include "common/clock.h"
#include "common/error.h"
#include "common/files/files.h"
#include "common/hash.h"
#include "common/host_name.h"
#include "trainer/run/reports/model_flops.h"

namespace bicrl {
namespace {

namespace fs = std::filesystem;

// The program and its libraries as they are loaded; of others, which take long to read, the sizes.
std::string hash_of_program() {
  std::set<fs::path> loaded = {fs::read_symlink("/proc/self/exe")};
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (const size_t path = line.find('/');
        path != std::string::npos && line.find(".so") != std::string::npos)
      loaded.insert(line.substr(path));
  std::set<std::string> parts;  // wherever they lie on this host
  for (const fs::path& file : loaded) {
    const std::string name = file.filename();
    std::error_code gone;
    if (!fs::exists(file, gone))  // replaced since it was loaded
      parts.insert(concat(name, "\n"));
    else if (name.starts_with("bicrl") || name.starts_with("libbicrl"))
      parts.insert(concat(name, " ", hash_file(file).hex, "\n"));
    else if (name.starts_with("libtorch") || name.starts_with("libc10"))
      parts.insert(concat(name, " ", fs::file_size(file, gone), "\n"));
  }
  std::string all;
  for (const std::string& part : parts) all += part;
  return hash_hex(all);
}

std::string at_rank(size_t rank, const RankMachine& machine) {
  return concat("rank ", rank, " on host ", machine.host);
}

std::string read_text(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool appears(const fs::path& path, const std::string& text, double patience_s) {
  const Stopwatch watch;
  while (read_text(path) != text) {
    if (watch.seconds() > patience_s) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return true;
}

}  // namespace

RankMachine RankMachine::here(bool uses_gpu) {
  return {host_name(), hash_of_program(), uses_gpu ? gpu_name() : ""};
}

std::string machines_problem(const std::vector<RankMachine>& machines) {
  const RankMachine& first = machines.front();
  for (size_t rank = 1; rank < machines.size(); ++rank) {
    const RankMachine& other = machines[rank];
    const std::string both = concat(at_rank(rank, other), " and ", at_rank(0, first));
    if (other.program != first.program)
      return concat(
          both, " run different programs: build or copy the same bicrl, and the same LibTorch, to all hosts");
    if (other.gpu != first.gpu)
      return concat(
          both, " have different GPUs (", other.gpu, "; ", first.gpu,
          "): a step is as slow as its slowest rank, and equal ranks give equal sums; use hosts of one kind");
  }
  return {};
}

void expect_like_machines(ControlPlane& control, bool uses_gpu) {
  const RankMachine mine = RankMachine::here(uses_gpu);
  std::vector<RankMachine> machines;
  for (const std::string& text :
       control.all_gather(nlohmann::json{mine.host, mine.program, mine.gpu}.dump())) {
    const auto json = nlohmann::json::parse(text);
    machines.push_back({json.at(0), json.at(1), json.at(2)});
  }
  if (const std::string problem = machines_problem(machines); !problem.empty())
    throw SharedError(problem, ExitCode::kUsage);
}

void expect_shared_folder(ControlPlane& control, const fs::path& folder, double patience_s) {
  if (control.hosts() == 1) return;
  const fs::path path = folder / ".seen-by-all-ranks";
  const std::string text = control.all_gather(std::to_string(std::random_device()())).front();
  on_rank_zero(control, [&] { write_file_atomically(path, text); });
  const bool seen = appears(path, text, patience_s);
  const std::vector<std::string> hosts = control.all_gather(seen ? "" : host_name());
  if (control.rank() == 0) {
    std::error_code kept;
    fs::remove(path, kept);
  }
  for (size_t rank = 0; rank < hosts.size(); ++rank)
    if (!hosts[rank].empty())
      throw SharedError(
          concat("rank ", rank, " on host ", hosts[rank], " does not see what rank 0 writes to ",
                 folder.string(), ": run.directory must lie on a file system that all hosts share"),
          ExitCode::kUsage);
}

}  // namespace bicrl
