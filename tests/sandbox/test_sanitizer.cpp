// compute-sanitizer: its reports, and how it comes to see a program's kernels. Where there is no GPU, or no
// compute-sanitizer, a script stands in for it.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cstdlib>
#include <fstream>
#include <map>

#include "sandbox/sanitizer_report.h"
#include "tests/sandbox/gpu_programs.h"
#include "tests/sandbox/service_support.h"

namespace bicrl {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
using Findings = std::vector<SanitizerFinding>;

const std::vector<std::string> kAllTools{kSanitizerTools.begin(), kSanitizerTools.end()};

Findings read(const std::string& tool, const std::string& text) {
  const auto found = read_sanitizer_report(tool, text);
  INFO(text);
  REQUIRE(found);
  return found.value();
}

// (const float* x, float* y, int n), as those of kGpuText; buffer 2, which nobody writes to, is not passed.
const char* const kFaultyText = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry honest(.param .u64 x, .param .u64 y, .param .u32 n) {
  .reg .f32 %f<3>; .reg .b32 %r<2>; .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  mov.u32 %r1, %tid.x;
  mul.wide.s32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  ld.global.f32 %f1, [%rd4];
  add.f32 %f2, %f1, %f1;
  add.s64 %rd5, %rd2, %rd3;
  st.global.f32 [%rd5], %f2;
  ret;
}
.visible .entry beyond(.param .u64 x, .param .u64 y, .param .u32 n) {
  .reg .f32 %f<2>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [y];
  mov.f32 %f1, 0f3F800000;
  st.global.f32 [%rd1+16], %f1;
  ret;
}
.visible .entry unwritten(.param .u64 x, .param .u64 y, .param .u32 n) {
  .reg .f32 %f<3>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [y];
  ld.global.f32 %f1, [%rd1+4];
  add.f32 %f2, %f1, %f1;
  st.global.f32 [%rd1], %f2;
  ret;
}
.visible .entry races(.param .u64 x, .param .u64 y, .param .u32 n) {
  .reg .b32 %r<5>; .reg .b64 %rd<2>;
  .shared .align 4 .b8 words[4096];
  ld.param.u64 %rd1, [y];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, words;
  shl.b32 %r3, %r1, 2;
  add.s32 %r3, %r3, %r2;
  st.shared.u32 [%r3], %r1;
  xor.b32 %r4, %r3, 128;
  ld.shared.u32 %r4, [%r4];
  st.global.u32 [%rd1], %r4;
  ret;
}
.visible .entry diverges(.param .u64 x, .param .u64 y, .param .u32 n) {
  .reg .pred %p<2>; .reg .b32 %r<2>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [y];
  mov.u32 %r1, %tid.x;
  setp.lt.u32 %p1, %r1, 32;
  @!%p1 bra $done;
  bar.sync 0;
  st.global.u32 [%rd1], %r1;
$done:
  ret;
}
)";

SanitizerResult sanitized(Backend& backend, const std::string& kernel, int threads,
                          const char* text = kFaultyText) {
  const Trace trace = testing::gpu_trace({.ops = {testing::gpu_launch(kernel, 4, threads)}});
  const float values[4] = {1, 2, 3, 4};
  const std::vector<std::string> leaves{std::string(reinterpret_cast<const char*>(values), sizeof values)};
  const RunPlan plan{
      &trace, {{std::make_shared<const std::string>(text)}}, {{"draw", &leaves}}, {{.seed = 1}}};
  return backend.sanitize(plan, kAllTools, {});
}

// A compute-sanitizer that says what `report` makes of the tool's name, as a shell says it.
class PretendedSanitizer {
 public:
  explicit PretendedSanitizer(const std::string& report) {
    char name[] = "/tmp/bicrl_sanitizer_XXXXXX";
    REQUIRE(mkdtemp(name));
    home_ = name;
    const fs::path folder = home_ / "compute-sanitizer";
    fs::create_directories(folder);
    for (const char* part : {"libsanitizer-collection.so", "TreeLauncherSubreaper"})
      std::ofstream(folder / part) << "none\n";
    std::ofstream(folder / "compute-sanitizer")
        << "#!/bin/sh\n"
           "while [ \"${1#--}\" != \"$1\" ]; do\n"
           "  case $1 in --tool) tool=$2;; --log-file) log=$2;; esac\n"
           "  shift 2\n"
           "done\n"
           "\"$@\" || exit 9\n"
           "{ echo '========= COMPUTE-SANITIZER'; "
        << report << "; } > \"$log\"\n";
    fs::permissions(folder / "compute-sanitizer", fs::perms(0755));
    for (const fs::path& place : {home_, folder}) fs::permissions(place, fs::perms(0755));
    setenv("CUDA_HOME", home_.c_str(), 1);
  }
  ~PretendedSanitizer() {
    unsetenv("CUDA_HOME");
    std::error_code ignored;
    fs::remove_all(home_, ignored);
  }

 private:
  fs::path home_;
};

std::unique_ptr<Backend> backend() {
  return testing::make_gpu_backend({.processes = 1, .run_s = 1, .max_buffer_bytes = 1ull << 30});
}

}  // namespace

TEST_CASE("reports of compute-sanitizer are read, those alike once") {
  CHECK(
      read(
          "memcheck",
          "========= COMPUTE-SANITIZER\n"
          "========= Invalid __global__ write of size 4 bytes\n"
          "=========     at _Z5scalePfi+0x90\n"
          "=========     by thread (3,0,0) in block (0,0,0)\n"
          "=========     Access to 0x7fb1e2000210 is out of bounds\n"
          "=========     and is 17 bytes after the nearest allocation at 0x7fb1e2000200 of size 16 bytes\n"
          "========= \n"
          "========= Invalid __global__ write of size 4 bytes\n"
          "=========     at _Z5scalePfi+0x90\n"
          "=========     by thread (4,0,0) in block (0,0,0)\n"
          "========= \n"
          "========= Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) due to \"unspecified launch failure\"\n"
          "=========     Saved host backtrace up to driver entry point at error\n"
          "========= ERROR SUMMARY: 3 errors\n") ==
      Findings{{"memcheck", "Invalid __global__ write of size 4 bytes", "_Z5scalePfi", 2}});
  const Findings races =
      read("racecheck",
           "========= COMPUTE-SANITIZER\n"
           "========= Error: Race reported between Write access at scan+0x80 in scan.cu:12\n"
           "=========     and Read access at scan+0x110 in scan.cu:14 [508 hazards]\n"
           "========= \n"
           "========= Warning: Race reported between Read access at other+0x80\n"
           "=========     and Write access at other+0x110 [4 hazards]\n"
           "========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)\n");
  CHECK(races == Findings{{"racecheck", "Error: Race reported between Write access", "scan", 1},
                          {"racecheck", "Warning: Race reported between Read access", "other", 1}});
  CHECK(sanitizer_text(races) ==
        "racecheck: Error: Race reported between Write access in scan; racecheck: Warning: Race reported "
        "between Read access in other");
  CHECK(read("synccheck",
             "another program's line\n"
             "========= COMPUTE-SANITIZER\n"
             "========= Barrier error detected. Divergent thread(s) in block.\n"
             "=========     at diverges+0x70\n"
             "=========     by thread (0,0,0) in block (0,0,0)\n"
             "========= \n"
             "========= ERROR SUMMARY: 1 error\n") ==
        Findings{{"synccheck", "Barrier error detected. Divergent thread(s) in block.", "diverges", 1}});
  CHECK(read("initcheck", "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n").empty());
}

TEST_CASE("a tool that has not seen a program to its end says nothing of it") {
  const auto reason = [](const std::string& text) {
    const auto found = read_sanitizer_report("memcheck", text);
    CHECK(!found);
    return found.reason();
  };
  CHECK_THAT(reason(""), ContainsSubstring("says nothing"));
  CHECK_THAT(reason("========= COMPUTE-SANITIZER\n"), ContainsSubstring("says nothing"));
  for (const char* trouble : {"Error: process didn't terminate successfully",
                              "Error: Target application terminated before first instrumented API call",
                              "Error: Device not supported. Please refer to the documentation",
                              "Internal Sanitizer Error: The Sanitizer encountered an error"})
    CHECK_THAT(reason(concat("========= COMPUTE-SANITIZER\n========= ", trouble,
                             "\n========= ERROR SUMMARY: 0 errors\n")),
               ContainsSubstring(trouble));
}

TEST_CASE("a program is looked at by each tool, in allocations of its own") {
  testing::box_host();
  if (testing::has_gpu()) SKIP("asks for the driver of the tests");
  const PretendedSanitizer tool(
      "[ $tool != racecheck ] || echo '========= Error: Race reported between Write access at twice+0x80'; "
      "echo '========= ERROR SUMMARY: some'");
  const auto gpu = backend();
  CHECK(gpu->features().sanitizes);
  for (const char* kernel : {"twice", "count"}) {
    const SanitizerResult result = sanitized(*gpu, kernel, 4, testing::kGpuText);
    CHECK(result.problem == "");
    CHECK(result.findings ==
          Findings{{"racecheck", "Error: Race reported between Write access", "twice", 1}});
  }
  CHECK(gpu->devices().front().sanitized == 2);
  CHECK(gpu->devices().front().sanitizer_findings == 2);
  CHECK(testing::run_on(*gpu, {.ops = {testing::gpu_launch("twice")}}).fault_class.empty());
}

TEST_CASE("a tool that fails is told, and the device serves on") {
  testing::box_host();
  if (testing::has_gpu()) SKIP("asks for the driver of the tests");
  const PretendedSanitizer tool("echo '========= Error: Device not supported'");
  const auto gpu = backend();
  const SanitizerResult result = sanitized(*gpu, "twice", 4, testing::kGpuText);
  CHECK_THAT(result.problem, ContainsSubstring("memcheck: Error: Device not supported"));
  CHECK(!result.device_lost);
  CHECK(testing::run_on(*gpu, {.ops = {testing::gpu_launch("twice")}}).fault_class.empty());
}

TEST_CASE("compute-sanitizer's tools find what each is for, and nothing in an honest program",
          "[gpu][sanitizer]") {
  testing::box_host();
  if (!testing::has_gpu()) SKIP("this machine has no GPU's driver");
  if (find_sanitizer().empty()) SKIP(no_sanitizer());
  const auto gpu = backend();
  const auto found_by = [&](const std::string& kernel, int threads) {
    const SanitizerResult result = sanitized(*gpu, kernel, threads);
    INFO(kernel << ": " << sanitizer_text(result.findings));
    CHECK(result.problem == "");
    std::string tools;
    for (const SanitizerFinding& found : result.findings)
      if (tools.find(found.tool) == std::string::npos) tools += concat(tools.empty() ? "" : " ", found.tool);
    printf("%s: %s\n", kernel.c_str(), sanitizer_text(result.findings).c_str());
    return tools;
  };
  CHECK(found_by("honest", 4) == "");
  CHECK(found_by("beyond", 1) == "memcheck");
  CHECK(found_by("unwritten", 1) == "initcheck");
  CHECK(found_by("races", 64) == "racecheck");
  CHECK(found_by("diverges", 64) == "synccheck");
}

}  // namespace bicrl
