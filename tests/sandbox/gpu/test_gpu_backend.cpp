// The GPU backend from request to outcome: processes, files, guard bands, faults and what follows them. Where
// there is no GPU a driver of the tests' own stands in for NVIDIA's.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <bit>
#include <cstdlib>

#include "sandbox/gpu/loader/driver_fault.h"
#include "sandbox/gpu/loader/memory_layout.h"
#include "tests/sandbox/gpu/gpu_programs.h"
#include "tests/sandbox/service/service_support.h"

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
using testing::gpu_launch;
using testing::gpu_view;
using testing::GpuRan;
using testing::GpuRecording;
using testing::run_on;
using testing::small_gpu_backend;

using Calls = std::vector<std::vector<float>>;

void check_honest(const std::string& after) {
  INFO("after " << after);
  const GpuRan ran = run_on(small_gpu_backend(), {.ops = {gpu_launch("twice")}});
  CHECK(ran.message == "");
  REQUIRE(ran.fault_class == "");
  CHECK(ran.calls == Calls{{2, 4, 6, 8}});
}

}  // namespace

TEST_CASE("buffers lie apart by guard bands, elsewhere for each seed") {
  const std::vector<uint64_t> sizes{0, 1, 16, 4096, 10'000'000, 513};
  const gpu::MemoryLayout layout = gpu::lay_out(sizes, 1);
  std::vector<gpu::Span> all = layout.guards;
  for (size_t i = 0; i < sizes.size(); ++i) {
    CHECK(layout.buffers[i].bytes == sizes[i]);
    CHECK(layout.buffers[i].begin % gpu::kBufferAlignment == 0);
    all.push_back(layout.buffers[i]);
  }
  // Guards and buffers are all there is, and a buffer has guards on both sides.
  std::ranges::sort(all, {}, [](const gpu::Span& s) { return std::pair(s.begin, s.end()); });
  uint64_t end = 0;
  for (const gpu::Span& span : all) {
    CHECK(span.begin == end);
    end = span.end();
  }
  CHECK(end == layout.bytes);
  for (const gpu::Span& buffer : layout.buffers)
    for (const gpu::Span& other : layout.buffers)
      if (!(other == buffer))
        CHECK((other.begin >= buffer.end() + gpu::kLeastGuardBytes ||
               buffer.begin >= other.end() + gpu::kLeastGuardBytes));
  CHECK(gpu::lay_out(sizes, 1).buffers == layout.buffers);
  CHECK(gpu::lay_out(sizes, 2).buffers != layout.buffers);
  CHECK(gpu::lay_out({}, 1).buffers.empty());
}

TEST_CASE("errors of the driver are somebody's fault") {
  using gpu::fault_class_of;
  using gpu::FaultPlace;
  CHECK(fault_class_of(700, FaultPlace::kKernel) == FaultClass::kIllegalAccess);
  CHECK(fault_class_of(719, FaultPlace::kKernel) == FaultClass::kTrap);
  CHECK(fault_class_of(701, FaultPlace::kLaunch) == FaultClass::kLaunch);
  CHECK_FALSE(fault_class_of(700, FaultPlace::kLaunch));  // another program's, so a defect of ours
  for (const int lost : {2, 46, 214, 226, 999}) CHECK_FALSE(fault_class_of(lost, FaultPlace::kKernel));
}

TEST_CASE("a recording runs on the device", "[gpu]") {
  check_honest("the start");
  const auto copy = [](int to, int from) -> json {
    return {{"op", "copy"}, {"target", gpu_view(to, 4)}, {"source", gpu_view(from, 4)}};
  };
  const json fill{{"op", "fill"}, {"target", gpu_view(1, 2, 8)}, {"value", "0000803f"}};
  const GpuRan moved = run_on(small_gpu_backend(), {.ops = {copy(2, 0), copy(1, 2), fill}});
  CHECK(moved.calls == Calls{{1, 2, 1, 1}});
  CHECK(moved.result.runs[0].changed_inputs.empty());
  const GpuRan changed = run_on(small_gpu_backend(), {.ops = {gpu_launch("twice"), copy(0, 1)}});
  REQUIRE(changed.fault_class == "");
  CHECK(changed.result.runs[0].changed_inputs == std::vector<uint32_t>{0});
  const GpuRan skipped = run_on(small_gpu_backend(), {.ops = {copy(1, 0), gpu_launch("twice")}},
                                {.seed = 1, .skip_launches = true});
  CHECK(skipped.calls == Calls{{1, 2, 3, 4}});
}

TEST_CASE("uninitialised memory reads as NaN, and modules begin anew", "[gpu]") {
  const GpuRan partly = run_on(small_gpu_backend(), {.ops = {gpu_launch("twice", 2)}});
  REQUIRE(partly.fault_class == "");
  CHECK(partly.calls[0][1] == 4);
  CHECK(partly.calls[0][2] != partly.calls[0][2]);
  for (int i = 0; i < 2; ++i) {
    const GpuRan counted = run_on(small_gpu_backend(), {.ops = {gpu_launch("count")}});
    REQUIRE(counted.fault_class == "");
    CHECK(std::bit_cast<uint32_t>(counted.calls[0][0]) == 8);
  }
}

TEST_CASE("each fault on the device has its class, and the next program is served", "[gpu]") {
  struct Case {
    const char* name;
    json op;
    const char* fault_class;
    const char* words;
  };
  json many_threads = gpu_launch("twice", 4, 1025), no_grid = gpu_launch("twice"),
       unknown = gpu_launch("nobody"), short_arguments = gpu_launch("twice"),
       much_shared = gpu_launch("twice"), giant_grid = gpu_launch("twice", 4, 1024),
       tall_grid = gpu_launch("twice");
  no_grid["grid"] = {0, 1, 1};
  short_arguments["args"] = std::string(32, '0');
  much_shared["shared"] = 60000;
  giant_grid["grid"] = {0x7FFFFFFF, 1, 1};
  tall_grid["grid"] = {1, 65536, 1};
  const Case cases[] = {
      {"a write behind the output", gpu_launch("beyond", 4), "illegal_access", "behind the end of output 0"},
      {"a write before the output", gpu_launch("beyond", -2), "illegal_access", "before output 0"},
      {"a null pointer", gpu_launch("wild"), "illegal_access", "wild"},
      {"a misaligned access", gpu_launch("misaligned"), "illegal_access", "misaligned"},
      {"a trap", gpu_launch("traps"), "trap", "traps"},
      {"a kernel without end", gpu_launch("endless"), "timeout", "endless: has not ended after 1 s"},
      {"a giant grid", giant_grid, "timeout", "twice: has not ended after 1 s"},
      {"a grid that no device has", tall_grid, "launch", "configuration"},
      {"too many threads", many_threads, "launch", "1025 threads"},
      {"more threads than the kernel's text allows", gpu_launch("twice_by_64", 4, 128), "launch",
       "128 threads in a block, the kernel has room for 64"},
      {"an empty grid", no_grid, "launch", ""},
      {"too much shared memory", much_shared, "launch", "60000 bytes of shared memory"},
      {"too few arguments", short_arguments, "launch", "16 bytes of parameters"},
      {"a kernel that is not there", unknown, "unsupported", "not among the device code's entries"}};
  for (const Case& one : cases) {
    INFO(one.name);
    const GpuRan ran = run_on(small_gpu_backend(), {.ops = {one.op}});
    INFO(ran.message);
    CHECK(ran.fault_class == one.fault_class);
    CHECK_THAT(ran.message, ContainsSubstring(one.words));
    check_honest(one.name);
  }
  // Large buffers and guard bands are looked at in pieces; what ends at an odd byte begins its band there.
  const auto write_at = [](int64_t place) {
    json op = gpu_launch("beyond", 0);
    op["relocations"] = {{0, 0, 0}, {8, 2, place}};
    return op;
  };
  constexpr int64_t kOdd = 10'000'001, kFreed = 9 << 20, kPiece = 4 << 20;
  for (const int64_t place : {kOdd - 1, kOdd + 3, kOdd + 3 + (1 << 19)}) {
    INFO("at " << place);
    const GpuRan ran = run_on(small_gpu_backend(), {.ops = {write_at(place)}, .scratch_bytes = kOdd});
    CHECK(ran.fault_class == "illegal_access");
    CHECK_THAT(ran.message, ContainsSubstring("behind the end of an intermediate buffer"));
  }
  for (const int64_t place : {int64_t{0}, kPiece - 4, kPiece, kFreed - 4}) {
    INFO("at " << place);
    const json free = {{"op", "free"}, {"buffer", 2}};
    const GpuRan ran = run_on(small_gpu_backend(), {.ops = {free, write_at(place)}, .scratch_bytes = kFreed});
    CHECK(ran.fault_class == "illegal_access");
    CHECK_THAT(ran.message, ContainsSubstring("which was freed"));
  }
  for (const uint64_t bytes : {uint64_t{kOdd}, uint64_t{kFreed}}) {
    const GpuRan ran =
        run_on(small_gpu_backend(), {.ops = {write_at(kPiece), gpu_launch("twice")}, .scratch_bytes = bytes});
    CHECK(ran.fault_class == "");
    CHECK(ran.calls == Calls{{2, 4, 6, 8}});
  }
  // Twenty thousand lines are nobody's.
  CHECK(run_on(small_gpu_backend(), {.ops = {gpu_launch("prints", 4, 1)}}).fault_class == "");
  check_honest("a flood of lines");
  const GpuRan giant =
      run_on(small_gpu_backend(), {.ops = {gpu_launch("twice")}, .scratch_bytes = 100ull << 30});
  CHECK(giant.fault_class == "memory");
  check_honest("a giant allocation");
}

TEST_CASE("a driver that is lost, silent or dead is not the program's fault, unless the device is well",
          "[gpu]") {
  small_gpu_backend();
  if (testing::has_gpu()) SKIP("asks for the driver of the tests");
  const GpuRan lost = run_on(small_gpu_backend(), {.ops = {gpu_launch("loses_device")}});
  CHECK(lost.fault_class == "infrastructure");
  CHECK_THAT(lost.message, ContainsSubstring("999"));
  check_honest("a lost device");
  const GpuRan dead = run_on(small_gpu_backend(), {.ops = {gpu_launch("kills_loader")}});
  CHECK(dead.fault_class == "infrastructure");
  CHECK_THAT(dead.message, ContainsSubstring("signal"));
  check_honest("a dead process");
  // Another process has its context: the device is well.
  const GpuRan silent = run_on(small_gpu_backend(), {.ops = {gpu_launch("silences_driver")}});
  CHECK(silent.fault_class == "timeout");
  CHECK_THAT(silent.message, ContainsSubstring("has not come back"));
  check_honest("a driver that was silent");
}

TEST_CASE("a machine without a driver is refused in one line") {
  BoxHost& host = testing::box_host();
  if (testing::has_gpu()) SKIP("this machine has a GPU's driver");
  const char* before = getenv("LD_LIBRARY_PATH");
  const std::string kept = before ? before : "";
  unsetenv("LD_LIBRARY_PATH");
  try {
    GpuBackend backend(host, nullptr, PythonInstall{}, nullptr, {});
    FAIL("there is a backend without a driver");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUnavailable);
    CHECK_THAT(error.what(), ContainsSubstring("no NVIDIA driver on this machine"));
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
  }
  if (before) setenv("LD_LIBRARY_PATH", kept.c_str(), 1);
}

}  // namespace bicrl
