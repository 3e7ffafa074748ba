// Several GPUs of a host behind one backend: counting them, leaving out what cannot be used, a device that is
// lost and comes back. The driver of the tests pretends them (tests/fake_driver).
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/sandbox/gpu/gpu_programs.h"
#include "tests/sandbox/gpu/pretended_host.h"

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::gpu_launch;
using testing::GpuRan;
using testing::make_gpu_host;
using testing::PretendedHost;
using testing::run_on;

const GpuOptions kOptions{.processes = 1, .run_s = 1, .max_buffer_bytes = 1ull << 30};

bool works(Backend& backend) {
  const GpuRan ran = run_on(backend, {.ops = {gpu_launch("twice")}});
  INFO(ran.message);
  return ran.fault_class.empty() && ran.calls == std::vector<std::vector<float>>{{2, 4, 6, 8}};
}

bool says(const std::vector<std::string>& lines, const std::string& words) {
  return std::ranges::any_of(lines, [&](const std::string& line) { return line.find(words) != line.npos; });
}

}  // namespace

TEST_CASE("a backend uses all devices that the driver shows, or those that are named") {
  const PretendedHost host("0,1,2");
  {
    const auto all = make_gpu_host(kOptions);
    CHECK_THAT(all->features().name, ContainsSubstring("gpu/Pretended GPU/sm_90"));
    for (int i = 0; i < 3; ++i) CHECK(says(all->features().present, concat("gpu ", i, ": Pretended GPU")));
    for (int i = 0; i < 6; ++i) CHECK(works(*all));
    const auto devices = all->devices();
    REQUIRE(devices.size() == 3);
    for (const BackendDevice& device : devices) {
      CHECK(device.runs == 2);
      CHECK(device.trouble.empty());
    }
  }
  const auto named = make_gpu_host(kOptions, {2, 0});
  CHECK(named->devices().size() == 2);
  CHECK(works(*named));
  CHECK_FALSE(says(named->features().present, "gpu 1: "));
  CHECK_THROWS_WITH(make_gpu_host(kOptions, {3}), ContainsSubstring("GPU 3 is not there"));
}

TEST_CASE("of all devices those that work will do, of named ones each is wanted, and one model is") {
  const PretendedHost host("0,1");
  host.lose(1);
  const auto all = make_gpu_host(kOptions);
  CHECK(all->devices().size() == 1);
  CHECK(says(all->features().missing, "gpu 1: "));
  CHECK(works(*all));
  CHECK_THROWS_WITH(make_gpu_host(kOptions, {0, 1}), ContainsSubstring("no context on the GPU"));
  PretendedHost::show("0,8");
  CHECK_THROWS_WITH(make_gpu_host(kOptions), ContainsSubstring("of several models") &&
                                                 ContainsSubstring("Pretended GPU") &&
                                                 ContainsSubstring("Pretended other GPU"));
}

TEST_CASE("a device that is lost takes itself out, and comes back when it works") {
  const PretendedHost host("0,1");
  const auto backend = make_gpu_host(kOptions);
  host.lose(1);
  for (int i = 0; i < 4; ++i) CHECK(works(*backend));
  auto devices = backend->devices();
  CHECK(devices[0].trouble.empty());
  CHECK_THAT(devices[1].trouble, ContainsSubstring("no context on the GPU"));
  CHECK(devices[1].contexts == 0);
  CHECK(devices[1].runs == 1);
  // A program that takes its process's context along takes no device out.
  for (int i = 0; i < 2; ++i)
    CHECK(run_on(*backend, {.ops = {gpu_launch("loses_device")}}).fault_class == "infrastructure");
  CHECK(works(*backend));
  CHECK(backend->devices()[0].trouble.empty());
  host.find(1);
  testing::wait_for_devices(*backend);
  for (int i = 0; i < 4; ++i) CHECK(works(*backend));
  CHECK(backend->devices()[1].runs > 1);
  // Without any, everything is the verifier's fault.
  host.lose(0);
  host.lose(1);
  const GpuRan ran = run_on(*backend, {.ops = {gpu_launch("twice")}});
  CHECK(ran.fault_class == "infrastructure");
}

TEST_CASE("a driver that is too old is refused in one line") {
  const PretendedHost host("0");
  const auto refusal = [] {
    try {
      make_gpu_host(kOptions);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kUnavailable);
      CHECK(std::string(error.what()).find('\n') == std::string::npos);
      return std::string(error.what());
    }
    return std::string("none");
  };
  host.tell("driver-version", 12080);
  CHECK_THAT(refusal(),
             ContainsSubstring("the driver knows CUDA 12.8") && ContainsSubstring("install a newer driver"));
  host.tell("driver-version", 0);
  host.lose_functions();
  CHECK_THAT(refusal(), ContainsSubstring("the NVIDIA driver is too old: it lacks cu"));
}

// Device code is compiled and assembled here for the device at hand, so what it does not take is no
// program's; and neither is memory that others hold.
TEST_CASE(
    "code and memory that the device refuses are the verifier's fault, and the next program is served") {
  const PretendedHost host("0");
  const auto backend = make_gpu_host(kOptions);
  for (const auto& [what, code] : {std::pair("refuses-code", 209), std::pair("refuses-memory", 2)}) {
    INFO(what);
    CHECK(works(*backend));
    host.tell(what, code);
    const GpuRan ran = run_on(*backend, {.ops = {gpu_launch("twice")}});
    CHECK(ran.fault_class == "infrastructure");
    CHECK_THAT(ran.message, ContainsSubstring(concat("(", code, ")")));
    CHECK(ran.message.find('\n') == std::string::npos);
    host.tell(what, 0);
    testing::wait_for_devices(*backend);
    CHECK(works(*backend));
  }
}

}  // namespace bicrl
