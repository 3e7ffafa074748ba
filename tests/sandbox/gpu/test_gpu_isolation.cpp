// What a candidate's kernels, and the process that runs them, can find of others: secrets planted in freed
// memory, shared memory and other contexts, in files and in the environment.
#include <unistd.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/sandbox/box/child_processes.h"
#include "tests/sandbox/gpu/gpu_programs.h"
#include "tests/sandbox/service/service_support.h"

namespace bicrl {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::gpu_launch;
using testing::gpu_view;

constexpr uint32_t kSecret = 0x5EC2E7ED;
constexpr const char* kSecretBytes = "ede7c25e";  // as they lie in memory
constexpr int kScratchWords = 16 << 10;

// (const float* x, float* y, int n): `scan` counts the words n in the two mebibytes around y, of which all
// can be read, since a device maps no less; `plant` leaves n in shared memory, `peek` counts it there. All of
// a block of 256 threads.
const char* const kProbes = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry scan(.param .u64 x, .param .u64 y, .param .u32 n) {
  .reg .pred %p<4>; .reg .b32 %r<6>; .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [y];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  and.b64 %rd2, %rd1, -2097152;
  add.s64 %rd3, %rd2, 2097152;
  mul.wide.u32 %rd4, %r2, 4;
  add.s64 %rd5, %rd2, %rd4;
$next:
  ld.volatile.global.u32 %r4, [%rd5];
  setp.eq.u32 %p2, %r4, %r1;
  @%p2 red.global.add.u32 [%rd1], 1;
  add.s64 %rd5, %rd5, 1024;
  setp.lt.u64 %p3, %rd5, %rd3;
  @%p3 bra $next;
  ret;
}
.visible .entry plant(.param .u64 x, .param .u64 y, .param .u32 n) {
  .reg .pred %p<2>; .reg .b32 %r<6>;
  .shared .align 4 .b8 words[32768];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  shl.b32 %r2, %r2, 2;
  mov.u32 %r3, words;
  add.s32 %r4, %r3, %r2;
  add.s32 %r5, %r3, 32768;
$next:
  st.volatile.shared.u32 [%r4], %r1;
  add.s32 %r4, %r4, 1024;
  setp.lt.u32 %p1, %r4, %r5;
  @%p1 bra $next;
  ret;
}
.visible .entry peek(.param .u64 x, .param .u64 y, .param .u32 n) {
  .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<2>;
  .shared .align 4 .b8 words[32768];
  ld.param.u64 %rd1, [y];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  shl.b32 %r2, %r2, 2;
  mov.u32 %r3, words;
  add.s32 %r4, %r3, %r2;
  add.s32 %r5, %r3, 32768;
$next:
  ld.volatile.shared.u32 %r6, [%r4];
  setp.eq.u32 %p2, %r6, %r1;
  @%p2 red.global.add.u32 [%rd1], 1;
  add.s32 %r4, %r4, 1024;
  setp.lt.u32 %p3, %r4, %r5;
  @%p3 bra $next;
  ret;
}
)";

json probe(const char* kernel, int blocks = 1) {
  json launch = gpu_launch(kernel, static_cast<int>(kSecret), 256);
  launch["grid"] = {blocks, 1, 1};
  return launch;
}
json zero() { return {{"op", "fill"}, {"target", gpu_view(1, 4)}, {"value", "00000000"}}; }
json hold_secret() {
  return {{"op", "fill"}, {"target", gpu_view(2, kScratchWords)}, {"value", kSecretBytes}};
}

RunResult run_probes(Backend& backend, const json& ops) {
  const testing::GpuPlan probes({.ops = ops, .scratch_bytes = 4 * kScratchWords}, kProbes);
  return backend.run(probes.plan, {});
}

// The first word of the answer.
uint32_t counted(Backend& backend, const json& ops) {
  const RunResult result = run_probes(backend, ops);
  INFO(result.fault.reason);
  REQUIRE_FALSE(result.fault);
  INFO(result.runs.back().fault.reason);
  REQUIRE_FALSE(result.runs.back().fault);
  uint32_t first = 0;
  result.runs.back().first.outputs.copy(reinterpret_cast<char*>(&first), sizeof first);
  return first;
}

// A file that this process has open, for whoever it starts as well.
class PlantedFile {
 public:
  explicit PlantedFile(const std::string& text) {
    char name[] = "/tmp/bicrl_planted_XXXXXX";
    file_ = mkstemp(name);
    path_ = name;
    REQUIRE(write(file_, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  ~PlantedFile() {
    close(file_);
    unlink(path_.c_str());
  }
  const fs::path& path() const { return path_; }

 private:
  int file_ = -1;
  fs::path path_;
};

std::string contents_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("kernels find nothing of other programs' in memory that was given back, nor of other contexts'",
          "[gpu]") {
  if (!testing::has_gpu()) SKIP("the driver of the tests executes no probes");
  constexpr int kBlocks = 1000;
  const auto one = testing::make_gpu_backend({.processes = 1, .run_s = 5});
  const auto in_memory = [&] { return counted(*one, {zero(), probe("scan")}); };
  const auto in_shared = [&] { return counted(*one, {zero(), probe("peek", kBlocks)}); };
  // The probes can find it.
  CHECK(counted(*one, {zero(), hold_secret(), probe("scan")}) >= kScratchWords);
  CHECK(counted(*one, {zero(), probe("plant", kBlocks), probe("peek", kBlocks)}) > 0);
  for (int i = 0; i < 4; ++i) {
    CHECK(in_memory() == 0);
    CHECK(in_shared() == 0);
  }
  // Contexts of other processes that hold it at the same time.
  const auto other = testing::make_gpu_backend({.processes = 2, .run_s = 5});
  std::atomic<int> planted = 0;
  {
    const std::jthread busy([&](std::stop_token stop) {
      while (!stop.stop_requested()) {
        const RunResult ran =
            run_probes(*other, {zero(), hold_secret(), probe("plant", kBlocks), probe("scan")});
        planted += !ran.fault.is_infrastructure() && !ran.runs.empty() && !ran.runs.back().fault;
      }
    });
    for (int i = 0; i < 20 || (planted == 0 && i < 1000); ++i) {
      CHECK(in_memory() == 0);
      CHECK(in_shared() == 0);
    }
  }
  CHECK(planted > 0);
}

TEST_CASE("the process that runs kernels sees no file, variable or process of others", "[gpu]") {
  testing::box_host();
  const std::string secret = "planted-5ec2e7";
  const PlantedFile planted(secret);
  setenv("BICRL_PLANTED", secret.c_str(), 1);
  const auto backend = testing::make_gpu_backend({.processes = 1, .run_s = 5});
  unsetenv("BICRL_PLANTED");
  CHECK(testing::run_on(*backend, {.ops = {gpu_launch("twice")}}).fault_class.empty());
  int looked_at = 0;
  for (const pid_t pid : testing::descendants_with("/gpu/bicrl-gpu-load")) {
    const fs::path process = fs::path("/proc") / std::to_string(pid);
    // Of the box's own processes: those around it hold the command line as well.
    if (!contents_of(process / "cmdline").starts_with("/gpu/bicrl-gpu-load")) continue;
    ++looked_at;
    CHECK(contents_of(process / "environ").find(secret) == std::string::npos);
    CHECK(!contents_of(process / "environ").empty());
    const fs::path root = process / "root";
    std::error_code none;
    CHECK(fs::exists(root / "gpu/bicrl-gpu-load", none));
    CHECK(!fs::exists(root / planted.path().relative_path(), none));
    for (const char* folder : {"home", "root", "tmp", "work", "var", "etc/passwd", "etc/shadow", "sys"})
      CHECK(!fs::exists(root / folder, none));
    int processes = 0;
    for (const auto& entry : fs::directory_iterator(root / "proc", none))
      if (isdigit(static_cast<unsigned char>(entry.path().filename().string().front())) != 0) ++processes;
    CHECK(processes <= 3);  // with the box's first
    // What this process has open, it has not.
    for (const auto& entry : fs::directory_iterator(process / "fd", none)) {
      const std::string target = fs::read_symlink(entry.path(), none);
      CHECK(target.find("bicrl_planted_") == std::string::npos);
    }
  }
  CHECK(looked_at > 0);
}

}  // namespace bicrl
