// Thousands of plans on GPUs, honest ones between faulty ones, and what must not grow meanwhile. Each honest
// plan has to be answered right, whatever ran before it. BICRL_SOAK_SECONDS bounds it, BICRL_SOAK_SHARD seeds
// it: shards of one soak are runs of any length on any machine, whose lines are added up
// (bench/gpu_service.md). Without a GPU the driver of the tests stands in, and a device is lost now and then
// as well.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "common/clock.h"
#include "common/rng.h"
#include "sandbox/box/process/command.h"
#include "tests/sandbox/box/child_processes.h"
#include "tests/sandbox/gpu/gpu_programs.h"
#include "tests/sandbox/gpu/pretended_host.h"
#include "tests/sandbox/service/service_support.h"

namespace bicrl {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::descendants;
using testing::descendants_with;
using testing::gpu_launch;
using testing::GpuRan;
using testing::GpuRecording;

constexpr int kTries = 5;
constexpr size_t kProcessesOfContext = 3;    // the box's two and the loader
constexpr size_t kProcessesOfAssembler = 3;  // its box, and the fork that the next module is for

struct Kind {
  const char* name;
  int weight;
  GpuRecording recording;
  std::vector<std::string> classes;  // any of them is right; "": an answer
  bool is_cancelled = false, kills_a_process = false, loses_a_device = false;
};

std::vector<Kind> kinds(bool pretended) {
  json many_threads = gpu_launch("twice", 4, 1025), giant_grid = gpu_launch("twice", 4, 1024);
  giant_grid["grid"] = {0x7FFFFFFF, 1, 1};
  const json copy{{"op", "copy"}, {"target", testing::gpu_view(2, 4)}, {"source", testing::gpu_view(0, 4)}};
  std::vector<Kind> all{
      {"honest", 60, {.ops = {gpu_launch("twice")}}, {""}},
      {"honest, with copies", 10, {.ops = {copy, gpu_launch("twice")}}, {""}},
      {"honest, again",
       10,
       {.ops = {gpu_launch("twice")}, .repeats = {{gpu_launch("twice")}, {gpu_launch("twice")}}},
       {""}},
      {"null pointer", 3, {.ops = {gpu_launch("wild")}}, {"illegal_access"}},
      {"beyond a buffer", 3, {.ops = {gpu_launch("beyond")}}, {"illegal_access"}},
      {"misaligned", 2, {.ops = {gpu_launch("misaligned")}}, {"illegal_access"}},
      {"trap", 2, {.ops = {gpu_launch("traps")}}, {"trap"}},
      {"no end", 1, {.ops = {gpu_launch("endless")}}, {"timeout"}},
      {"no end, cancelled", 2, {.ops = {gpu_launch("endless")}}, {"infrastructure", "timeout"}, true},
      {"a giant grid", 1, {.ops = {giant_grid}}, {"timeout"}},
      // Twenty thousand, for which a device that is shared may take more than the second.
      {"a flood of lines", 1, {.ops = {gpu_launch("prints", 4, 1), gpu_launch("twice")}}, {"timeout", ""}},
      {"too many threads", 2, {.ops = {many_threads}}, {"launch"}},
      {"100 GB", 2, {.ops = {gpu_launch("twice")}, .scratch_bytes = 100ull << 30}, {"memory"}},
      {"a process killed meanwhile", 1, {.ops = {gpu_launch("twice")}}, {""}, false, true}};
  if (pretended)
    all.push_back({"a device lost meanwhile", 1, {.ops = {gpu_launch("twice")}}, {""}, false, false, true});
  return all;
}

void kill_a_loader(uint64_t which) {
  const std::vector<pid_t> loaders = descendants_with("/gpu/bicrl-gpu-load");
  if (!loaders.empty()) kill(loaders[which % loaders.size()], SIGKILL);
}

// What all contexts and the assembler that they share take. They start in their own time: a look at the
// beginning may find fewer.
size_t processes_of(const Backend& backend) {
  size_t processes = kProcessesOfAssembler;
  for (const BackendDevice& device : backend.devices())
    processes += static_cast<size_t>(device.contexts) * kProcessesOfContext;
  return processes;
}

struct Figures {
  size_t processes = 0, descriptors = 0, files = 0, resident_mib = 0;
  long gpu_mib = -1;  // of all GPUs; -1: nobody says
};

size_t entries(const fs::path& folder) {
  std::error_code none;
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder, none), fs::directory_iterator()));
}

Figures look() {
  Figures now;
  now.processes = descendants().size();
  now.descriptors = entries("/proc/self/fd");
  for (const auto& entry : fs::directory_iterator("/dev/shm"))
    if (entry.path().filename().string().find(concat("-", getpid(), "-")) != std::string::npos)
      now.files += entries(entry.path());
  std::ifstream statm("/proc/self/statm");
  size_t pages = 0;
  statm >> pages >> pages;
  now.resident_mib = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) >> 20;
  const CommandResult said =
      run_command({"/usr/bin/nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"});
  if (said.succeeded) {
    now.gpu_mib = 0;
    std::istringstream lines(said.output);
    for (long mib; lines >> mib;) now.gpu_mib += mib;
  }
  return now;
}

json to_json(const Figures& f) {
  return {{"processes", f.processes},
          {"descriptors", f.descriptors},
          {"files", f.files},
          {"resident_mib", f.resident_mib},
          {"gpu_mib", f.gpu_mib}};
}

struct Tally {
  std::mutex mutex;
  std::map<std::string, int> done;   // by kind
  std::map<std::string, int> other;  // "kind: class" that was not to be
  int honest_after_bad = 0;
  std::vector<double> cancelled_ms;  // from a stop to the end of its process
};

class Soak {
 public:
  Soak(Backend& backend, uint64_t seed, const testing::PretendedHost* host)
      : backend_(backend), host_(host), kinds_(kinds(host != nullptr)), seed_(seed) {
    for (const Kind& kind : kinds_) weights_ += kind.weight;
  }

  void work(int workers, double seconds) {
    const Stopwatch clock;
    std::vector<std::jthread> threads;
    for (int i = 0; i < workers; ++i)
      threads.emplace_back([&] {
        bool was_bad = false;
        while (clock.seconds() < seconds) was_bad = one(next_++, was_bad);
      });
  }

  Tally tally;

 private:
  const Kind& kind_of(uint64_t number) const {
    auto place = static_cast<int>(uniform_at(mix_key(seed_, "kind"), number) * weights_);
    for (const Kind& kind : kinds_)
      if ((place -= kind.weight) < 0) return kind;
    return kinds_.front();
  }

  bool one(uint64_t number, bool was_bad) {
    const Kind& kind = kind_of(number);
    if (kind.kills_a_process) kill_a_loader(number);
    std::stop_source stop;
    std::jthread gives_up;
    const Stopwatch clock;
    std::atomic<double> stopped_ms = -1;
    if (kind.is_cancelled)
      gives_up = std::jthread([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(number % 100));
        stopped_ms = clock.ms();
        stop.request_stop();
      });
    if (kind.loses_a_device && host_) host_->lose(1);
    const bool honest = kind.classes.front().empty();
    GpuRan ran = testing::run_on(backend_, kind.recording, {.seed = number + 1}, stop.get_token());
    const double returned_ms = clock.ms();
    // What somebody else's shot has met is asked again, as the pipeline does.
    for (int i = 0; i < kTries && ran.fault_class == "infrastructure" && !kind.is_cancelled; ++i)
      ran = testing::run_on(backend_, kind.recording, {.seed = number + 1});
    if (kind.loses_a_device && host_) host_->find(1);
    bool right = std::ranges::find(kind.classes, ran.fault_class) != kind.classes.end();
    for (const auto& call : ran.calls) right = right && call == std::vector<float>{2, 4, 6, 8};
    const std::lock_guard lock(tally.mutex);
    ++tally.done[kind.name];
    if (ran.message == "cancelled") tally.cancelled_ms.push_back(returned_ms - stopped_ms);
    if (!right) ++tally.other[concat(kind.name, ": ", ran.fault_class, " ", ran.message)];
    if (honest && was_bad) ++tally.honest_after_bad;
    return !honest;
  }

  Backend& backend_;
  const testing::PretendedHost* const host_;
  const std::vector<Kind> kinds_;
  const uint64_t seed_;
  int weights_ = 0;
  std::atomic<uint64_t> next_ = 0;
};

double number_from(const char* name, double otherwise) {
  const char* said = getenv(name);
  return said ? atof(said) : otherwise;
}

}  // namespace

// Without BICRL_SOAK_SECONDS it is a test like any other: a few seconds, whatever they hold.
TEST_CASE("honest plans between faulty ones are answered right, and nothing is left behind", "[soak]") {
  const double seconds = number_from("BICRL_SOAK_SECONDS", 4);
  const auto workers = static_cast<int>(number_from("BICRL_SOAK_WORKERS", 4));
  std::optional<testing::PretendedHost> host;
  if (!testing::has_gpu()) host.emplace("0,1");
  const size_t of_others = descendants().size();
  // Where several contexts fault at once a driver takes a third of a second to say so.
  const auto backend = testing::make_gpu_host({.processes = 3, .run_s = 1, .max_buffer_bytes = 1ull << 30});
  Soak soak(*backend, static_cast<uint64_t>(number_from("BICRL_SOAK_SHARD", 0)), host ? &*host : nullptr);
  // What is made once is there after a while.
  soak.work(workers, seconds / 8);
  testing::wait_for_devices(*backend);
  const Figures before = look();
  const Stopwatch clock;
  soak.work(workers, seconds);
  const double spent_s = clock.seconds();
  testing::wait_for_devices(*backend);
  // Contexts of a device that was lost start one after the other, and those that end take their time.
  const auto at_rest = [&] { return of_others + processes_of(*backend); };
  for (const Stopwatch patience; descendants().size() > at_rest() && patience.seconds() < 60;) usleep(20'000);
  const Figures after = look();
  int all = 0;
  for (const auto& [kind, count] : soak.tally.done) all += count;
  auto& cancelled = soak.tally.cancelled_ms;
  std::ranges::sort(cancelled);
  const auto cancelled_at = [&](size_t percent) {
    return cancelled.empty() ? -1 : cancelled[(cancelled.size() - 1) * percent / 100];
  };
  printf("SOAK %s\n", json{{"plans", all},
                           {"seconds", spent_s},
                           {"honest_after_bad", soak.tally.honest_after_bad},
                           {"cancelled", cancelled.size()},
                           {"cancelled_p50_ms", cancelled_at(50)},
                           {"cancelled_max_ms", cancelled_at(100)},
                           {"kinds", soak.tally.done},
                           {"wrong", soak.tally.other},
                           {"before", to_json(before)},
                           {"after", to_json(after)},
                           {"device", backend->features().name}}
                          .dump()
                          .c_str());
  CHECK(soak.tally.other.empty());
  CHECK(soak.tally.honest_after_bad > 0);
  CHECK(at_rest() > of_others);
  CHECK(after.processes <= at_rest());
  CHECK(after.descriptors <= before.descriptors + 8);
  CHECK(after.files <= before.files + 8);
  if (before.gpu_mib > 0) CHECK(after.gpu_mib <= before.gpu_mib + 64);
}

}  // namespace bicrl
