// Windows of the GPU backend from plan to times: both processes, the lease, checks of what was timed, and
// what follows when a side fails. Where there is no GPU a driver of the tests' own stands in for NVIDIA's,
// whose kernels take fixed times, and references run on the CPU.
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include "common/device_lock.h"
#include "sandbox/gpu/device_lease.h"
#include "sandbox/gpu/device_monitor.h"
#include "tests/sandbox/box/child_processes.h"
#include "tests/sandbox/gpu/gpu_programs.h"
#include "tests/sandbox/service/service_support.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
using testing::gpu_launch;

constexpr const char* kTask = R"(
import torch
import torch.nn as nn
class Model(nn.Module):
    def forward(self, x):
        return x * 2
def get_inputs():
    return [torch.randn(4)]
def get_init_inputs():
    return []
)";

GpuOptions options() {
  GpuOptions made{.processes = 1, .run_s = 1, .max_buffer_bytes = 1ull << 30};
  made.timing.on = true;
  if (!testing::has_gpu()) made.timing.baseline.device = "cpu";
  // Nothing of how steady the times are: four floats take no time, and this machine may be busy.
  made.timing.window.steadiness = {
      .least_pairs = 4, .most_pairs = 4, .enough = 1e9, .most = 1e9, .step = 1e9};
  return made;
}

Backend& timing_backend() {
  static const std::unique_ptr<Backend> backend = testing::make_gpu_backend(options());
  return *backend;
}

struct Asked {
  std::string kernel = "twice";
  bool in_constructor = false;  // where nobody times it; forward launches a kernel that leaves all as it is
  std::string task = kTask;
  uint64_t least_read_bytes = 0;
  std::stop_token stop = {};
  std::function<void(size_t call)> meanwhile = [](size_t) {};
};

TimingResult time(Backend& backend, const Asked& asked) {
  testing::GpuRecording recording{.ops = {gpu_launch(asked.kernel)}};
  if (asked.in_constructor) {
    recording.ops.push_back(gpu_launch(asked.kernel, /*n=*/0));
    recording.construction_ops = 1;
  }
  const Trace trace = testing::gpu_trace(recording);
  std::vector<std::vector<std::string>> test_inputs;
  std::vector<std::string> expected;
  for (const float first : {1.f, 5.f, -3.f}) {
    const float values[4] = {first, first + 1, first + 2, first + 3};
    const float twice[4] = {2 * values[0], 2 * values[1], 2 * values[2], 2 * values[3]};
    test_inputs.push_back({std::string(reinterpret_cast<const char*>(values), sizeof values)});
    expected.emplace_back(reinterpret_cast<const char*>(twice), sizeof twice);
  }
  TimingPlan plan{.trace = &trace,
                  .modules = {{std::make_shared<const std::string>(testing::kGpuText)}},
                  .test_inputs = {},
                  .task_code = asked.task,
                  .check = {},
                  .least_read_bytes = asked.least_read_bytes};
  for (const auto& leaves : test_inputs) plan.test_inputs.push_back({"", &leaves});
  size_t call = 0;
  plan.check = [&](size_t test_input, std::string_view outputs) {
    asked.meanwhile(call++);
    return outputs.starts_with(expected[test_input])
               ? Fault{}
               : Fault::of_program(FaultClass::kWrongValue, "not twice");
  };
  return backend.time(plan, asked.stop);
}

void check_timed(const TimingResult& result) {
  CHECK(result.end.reason == "");
  CHECK(result.untimed == "");
  REQUIRE(!result.end);
  CHECK(result.candidate_ms > 0);
  CHECK(result.eager_ms > 0);
  const json measured = json::parse(result.measurement);
  CHECK(measured.at("pairs") >= 4);
  CHECK(measured.at("windows") >= 1);
  CHECK(measured.at("launch_us") > 0);
}

void kill_descendants(const std::string& text) {
  for (const pid_t process : testing::descendants_with(text)) kill(process, SIGKILL);
}

}  // namespace

TEST_CASE("a window times a program beside its task's module", "[gpu]") {
  Backend& backend = timing_backend();
  CHECK_THAT(backend.features().clock_device, ContainsSubstring("windows"));
  const TimingResult first = time(backend, {});
  check_timed(first);
  CHECK_FALSE(json::parse(first.measurement).at("device").empty());
  // The processes stay, and so does the task.
  check_timed(time(backend, {}));
  if (testing::has_gpu()) return;
  // The driver of the tests knows what takes how long.
  CHECK(std::abs(first.candidate_ms - 0.3) < 1e-6);
  CHECK(std::abs(time(backend, {.kernel = "twice_slowly"}).candidate_ms - 0.33) < 1e-6);
}

TEST_CASE("a window of a device that was throttled is repeated, and says why") {
  Backend& backend = timing_backend();
  if (testing::has_gpu()) SKIP("asks for the driver of the tests");
  const auto& present = backend.features().present;
  CHECK(std::ranges::any_of(present, [](const std::string& text) { return text.starts_with("nvml: "); }));
  setenv("BICRL_FAKE_THROTTLED", "1", 1);
  const TimingResult result = time(backend, {});
  unsetenv("BICRL_FAKE_THROTTLED");
  check_timed(result);
  const json measured = json::parse(result.measurement);
  CHECK(measured.at("windows") == 2);
  CHECK_THAT(measured.at("repeated_because").at(0).get<std::string>(),
             ContainsSubstring("thermal (hardware)"));
  CHECK(measured.at("device").at("sm_mhz") == json{1980, 1980});
  CHECK(measured.at("device").at("processes") == 2);
  CHECK(measured.at("device").at("slowed_by") == "");
}

TEST_CASE("a machine without NVML reports it and measures times all the same") {
  DeviceMonitor nowhere("ffff:ff:ff.0");
  CHECK_FALSE(nowhere.problem().empty());
  const timing::DeviceHealth health = nowhere.look();
  CHECK_FALSE(health.known);
  CHECK(health.unknown_because == nowhere.problem());
}

TEST_CASE("a program that beats the device's memory has no times, and the reason is reported", "[gpu]") {
  const TimingResult result = time(timing_backend(), {.least_read_bytes = 1ull << 40});
  CHECK(!result.end);
  CHECK_THAT(result.untimed, ContainsSubstring("that the device's memory takes"));
  CHECK(result.candidate_ms == 0);
  CHECK(result.eager_ms == 0);
}

TEST_CASE("a module that cannot be replayed is timed call by call, and so is the program", "[gpu]") {
  const auto replayed = [](const TimingResult& result) -> bool {
    check_timed(result);
    return json::parse(result.measurement).at("replayed");
  };
  std::string task = kTask;
  task.replace(task.find("return x * 2"), 12, "return x * (2 if x.sum().item() > -1e9 else 3)");
  CHECK_FALSE(replayed(time(timing_backend(), {.task = task})));
  CHECK(replayed(time(timing_backend(), {})) == testing::has_gpu());
}

TEST_CASE("a module that a GPU cannot run leaves a program without times", "[gpu]") {
  std::string task = kTask;
  task.replace(task.find("return x * 2"), 12, "raise ValueError('not here')");
  const TimingResult result = time(timing_backend(), {.task = task});
  CHECK(!result.end);
  CHECK_THAT(result.untimed, ContainsSubstring("not here"));
  check_timed(time(timing_backend(), {}));
}

TEST_CASE("a program that works only when it is not timed is found out") {
  Backend& backend = timing_backend();
  if (testing::has_gpu()) SKIP("asks for the driver of the tests");
  // What it does in its first launch alone it does in each: variables begin anew.
  check_timed(time(backend, {.kernel = "twice_once"}));
  for (const char* kernel : {"idles_later", "answers_again"}) {
    const TimingResult result = time(backend, {.kernel = kernel});
    INFO(kernel << ": " << result.end.reason);
    CHECK(result.end.blame == Fault::Blame::kProgram);
    CHECK(result.end.is(FaultClass::kWrongValue));
    CHECK(result.candidate_ms == 0);
    check_timed(time(backend, {}));
  }
  const TimingResult lost = time(backend, {.kernel = "dies_later"});
  CHECK(lost.end.is_infrastructure());
  CHECK_THAT(lost.end.reason, ContainsSubstring("999"));
  check_timed(time(backend, {}));
}

TEST_CASE("shared memory is poisoned before each call that is timed") {
  Backend& backend = timing_backend();
  if (testing::has_gpu()) SKIP("asks for the driver of the tests");
  check_timed(time(backend, {.kernel = "twice_of_poison"}));
}

TEST_CASE("a constructor that finds where inputs lie finds none there", "[gpu]") {
  Backend& backend = timing_backend();
  const TimingResult result = time(backend, {.in_constructor = true});
  CHECK(result.end.blame == Fault::Blame::kProgram);
  CHECK(result.end.is(FaultClass::kWrongValue));
  CHECK(result.candidate_ms == 0);
  check_timed(time(backend, {}));
}

TEST_CASE("a program that is at fault where it is timed has its class", "[gpu]") {
  Backend& backend = timing_backend();
  for (const auto& [kernel, fault_class] :
       {std::pair{"wild", FaultClass::kIllegalAccess}, std::pair{"endless", FaultClass::kTimeout},
        std::pair{"traps", FaultClass::kTrap}}) {
    const TimingResult result = time(backend, {.kernel = kernel});
    INFO(kernel << ": " << result.end.reason);
    CHECK(result.end.is(fault_class));
    check_timed(time(backend, {}));
  }
}

TEST_CASE("what torch.compile has made of a task is gone with the next one") {
  testing::run_python(testing::source_path("tests/sandbox/gpu/baseline_check.py"),
                      {testing::source_path("sandbox/runtimes").string()});
}

TEST_CASE("references whose process dies within a window are infrastructure, and another one starts",
          "[gpu]") {
  Backend& backend = timing_backend();
  const TimingResult result = time(backend, {.meanwhile = [](size_t call) {
                                     if (call == 2) kill_descendants("/references/baseline.py");
                                   }});
  CHECK(result.end.is_infrastructure());
  CHECK_THAT(result.end.reason, ContainsSubstring("references"));
  check_timed(time(backend, {}));
}

TEST_CASE("a loader that dies within a window is infrastructure, and another one starts", "[gpu]") {
  Backend& backend = timing_backend();
  const TimingResult result = time(backend, {.meanwhile = [](size_t call) {
                                     if (call == 2) kill_descendants("/gpu/bicrl-gpu-load");
                                   }});
  CHECK(result.end.is_infrastructure());
  CHECK_THAT(result.end.reason, ContainsSubstring("the GPU's process"));
  check_timed(time(backend, {}));
}

TEST_CASE("a stop ends a window, and the next one is served", "[gpu]") {
  Backend& backend = timing_backend();
  std::stop_source source;
  const TimingResult result = time(backend, {.stop = source.get_token(), .meanwhile = [&](size_t call) {
                                               if (call == 1) source.request_stop();
                                             }});
  CHECK(result.end.is_infrastructure());
  CHECK(result.end.reason == "cancelled");
  check_timed(time(backend, {}));
}

TEST_CASE("a window waits for the ranks that work on its GPU, and programs run meanwhile") {
  if (testing::has_gpu()) SKIP("the tests' own driver says where the device is");
  constexpr const char* kBus = "0000:18:00.0";
  Backend& backend = timing_backend();
  const testing::GpuPlan plan({.ops = {gpu_launch("twice")}});
  std::optional<DeviceLock> lock(DeviceLock::among_ranks(kBus, 60));
  REQUIRE(*lock);
  RunResult meanwhile;
  std::atomic<bool> rank_is_done = false;
  std::jthread rank([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // so that the window waits by then
    meanwhile = backend.run(plan.plan, {});
    rank_is_done = true;
    lock.reset();
  });
  bool waited = true;
  const TimingResult result = time(backend, {.meanwhile = [&](size_t) { waited &= rank_is_done; }});
  rank.join();
  check_timed(result);
  CHECK(waited);
  CHECK_FALSE(meanwhile.fault);

  lock = DeviceLock::among_ranks(kBus, 60);
  std::stop_source source;
  std::jthread asker([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    source.request_stop();
  });
  CHECK(time(backend, {.stop = source.get_token()}).end.reason == "cancelled");
}

TEST_CASE("a lease is one window's or many runs'") {
  DeviceLease lease("tests:order");
  auto first = lease.share({});
  auto second = lease.share({});
  CHECK((first && second));
  std::stop_source gives_up;
  bool was_taken = true;
  std::jthread patient([&] { was_taken = bool(lease.take(gives_up.get_token())); });
  std::jthread clock([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    gives_up.request_stop();
  });
  clock.join();
  patient.join();
  CHECK_FALSE(was_taken);
  // Nobody waits any more.
  CHECK(lease.share({}));
  first.release();
  second.release();
  auto window = lease.take({});
  CHECK(window);
  std::stop_source at_once;
  at_once.request_stop();
  CHECK_FALSE(lease.share(at_once.get_token()));
  window.release();
  CHECK(lease.share({}));
}

TEST_CASE("a window has its turn beside a server whose runs overlap for ever") {
  const std::string device = "tests:overlap";
  DeviceLease windows(device), busy(device);
  std::atomic<int> begun = 0;
  std::stop_source stop;
  // Each run ends when the other thread's next one has begun, unless that does not come.
  const auto runs = [&] {
    while (!stop.stop_requested()) {
      const auto hold = busy.share(stop.get_token());
      const int mine = ++begun;
      for (int look = 0; look < 100 && begun == mine; ++look)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  };
  std::jthread one(runs), other(runs);
  while (begun < 4) std::this_thread::yield();
  std::stop_source patience;
  std::jthread clock([&](std::stop_token done) {
    for (int look = 0; look < 3000 && !done.stop_requested(); ++look)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    patience.request_stop();
  });
  CHECK(windows.take(patience.get_token()));
  clock.request_stop();
  stop.request_stop();
}

TEST_CASE("a lease that other servers cannot know of says so, and holds within its process") {
  const std::string device = concat("tests:folder-", getpid());
  const std::filesystem::path file = concat("/dev/shm/bicrl-gpu-", device, ".lock");
  std::filesystem::create_directory(file);
  DeviceLease lease(device);
  CHECK_THAT(lease.problem(), ContainsSubstring(file));
  auto window = lease.take({});
  std::stop_source at_once;
  at_once.request_stop();
  CHECK_FALSE(lease.share(at_once.get_token()));
  std::filesystem::remove(file);
  CHECK(DeviceLease(device).problem().empty());
  for (const char* end : {".lock", ".gate"})
    std::filesystem::remove(concat("/dev/shm/bicrl-gpu-", device, end));
}

TEST_CASE("a lease that another server holds is waited for, given up on request, and lost with its holder") {
  const std::string device = "tests:other";
  DeviceLease lease(device);
  // Another server: a lock of its own on the same file.
  const int other = open(("/dev/shm/bicrl-gpu-" + device + ".lock").c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(other >= 0);
  REQUIRE(flock(other, LOCK_EX | LOCK_NB) == 0);
  std::stop_source source;
  std::jthread impatient([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    source.request_stop();
  });
  CHECK_FALSE(lease.take(source.get_token()));
  std::jthread dies([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    close(other);  // as the system does for who dies
  });
  CHECK(lease.take({}));
}

}  // namespace bicrl
