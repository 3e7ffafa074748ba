// compute-sanitizer: its reports, and how it comes to see a program's kernels. Without a GPU a program of the
// tests stands in for it (NVIDIA's own does not start one there): what is shown of the box and of the
// reports' forms is shown on a GPU alone.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cstdlib>
#include <fstream>
#include <future>
#include <map>
#include <thread>

#include "sandbox/gpu/sanitizer_report.h"
#include "tests/sandbox/gpu/gpu_programs.h"
#include "tests/sandbox/service/service_support.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
using Findings = std::vector<SanitizerFinding>;

Findings findings_of(const std::string& tool, const std::string& text) {
  const SanitizerReport report = read_sanitizer_report(tool, text);
  INFO(text);
  CHECK(report.problem == "");
  return report.findings;
}

// (const float* x, float* y, int n), as those of kGpuText; buffer 2, which nobody writes to, is not passed.
const char* const kFaultyText = R"(
.version 8.0
.target sm_90
.address_size 64
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
  setp.lt.u32 %p1, %r1, 40;
  @!%p1 bra $together;
  bar.sync 0;
$together:
  st.global.u32 [%rd1], %r1;
  ret;
}
)";

SanitizerReport sanitized(Backend& backend, const std::string& kernel, int threads, const char* text,
                          std::stop_token stop = {}) {
  // Beside the launch, what the loader does itself: a casting copy, and a fill, of what nobody wrote.
  json half = testing::gpu_view(2, 4);
  half["dtype"] = "float16";
  const testing::GpuPlan recorded(
      {.ops = {testing::gpu_launch(kernel, 4, threads),
               {{"op", "copy"}, {"target", half}, {"source", testing::gpu_view(0, 4)}},
               {{"op", "fill"}, {"target", testing::gpu_view(2, 1, 12)}, {"value", "0000803f"}}}},
      text);
  return backend.sanitize(recorded.plan, testing::all_tools(), std::move(stop));
}

constexpr const char* kHead = "========= COMPUTE-SANITIZER\n";
constexpr const char* kNothing = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n";

// A compute-sanitizer whose tools have these reports; one without never ends.
class PretendedSanitizer {
 public:
  explicit PretendedSanitizer(const std::map<std::string, std::string>& reports) {
    char name[] = "/tmp/bicrl_sanitizer_XXXXXX";
    REQUIRE(mkdtemp(name));
    home_ = name;
    const fs::path folder = home_ / "compute-sanitizer";
    fs::create_directories(folder);
    fs::copy(testing::build_path("fake_sanitizer/compute-sanitizer"), folder);
    for (const char* part : {"libsanitizer-collection.so", "TreeLauncherSubreaper"})
      std::ofstream(folder / part) << "none\n";
    for (const auto& [tool, report] : reports) std::ofstream(folder / tool) << report;
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

std::map<std::string, std::string> all_say(const std::string& report) {
  std::map<std::string, std::string> reports;
  for (const std::string& tool : testing::all_tools()) reports[tool] = report;
  return reports;
}

std::unique_ptr<Backend> backend() {
  return testing::make_gpu_backend(
      {.processes = 1, .run_s = 1, .max_buffer_bytes = 1ull << 30, .sanitizer_s = 0.5});
}

}  // namespace

TEST_CASE("reports of compute-sanitizer are read, those alike once") {
  CHECK(
      findings_of(
          "memcheck",
          "========= COMPUTE-SANITIZER\n"
          "========= Invalid __global__ write of size 4 bytes\n"
          "=========     at _Z5scalePfi+0x90\n"
          "=========     by thread (3,0,0) in block (0,0,0)\n"
          "=========     Access to 0x7fb1e2000210 is out of bounds\n"
          "=========     and is 17 bytes after the nearest allocation at 0x7fb1e2000200 of size 16 bytes\n"
          "========= \n"
          "========= Invalid __global__ write of size 4 bytes\n"
          "=========     at scale(float *, int)+0x90 in scale.cu:7\n"
          "=========     by thread (4,0,0) in block (0,0,0)\n"
          "========= \n"
          "========= Invalid __global__ write of size 4 bytes\n"
          "=========     at _Z5scalePfi+0x90\n"
          "=========     by thread (4,0,0) in block (0,0,0)\n"
          "========= \n"
          "========= Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) due to \"unspecified launch failure\"\n"
          "=========     Saved host backtrace up to driver entry point at error\n"
          "========= ERROR SUMMARY: 4 errors\n") ==
      Findings{{"memcheck", "Invalid __global__ write of size 4 bytes", "_Z5scalePfi", 2},
               {"memcheck", "Invalid __global__ write of size 4 bytes", "scale", 1}});
  const Findings races =
      findings_of("racecheck",
                  "========= COMPUTE-SANITIZER\n"
                  "========= Error: Race reported between Write access at scan+0x80 in scan.cu:12\n"
                  "=========     and Read access at scan+0x110 in scan.cu:14 [508 hazards]\n"
                  "========= \n"
                  "========= WARNING: Race reported between Read access at other(int *)+0x80\n"
                  "=========     and Write access at other+0x110 [4 hazards]\n"
                  "========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)\n");
  CHECK(races ==
        Findings{{"racecheck", "Error: Race reported between Write access and Read access", "scan", 1},
                 {"racecheck", "WARNING: Race reported between Read access and Write access", "other", 1}});
  CHECK(sanitizer_text(races) ==
        "racecheck: Error: Race reported between Write access and Read access in scan; racecheck: "
        "WARNING: Race reported between Read access and Write access in other");
  // Threads differ, the kind does not.
  std::string deadlocks = kHead;
  for (int i = 0; i < 40; ++i)
    deadlocks += concat("========= Barrier called by threads starting at (", i,
                        ",0,0) in block (1,0,0), (active mask: 0xffffffff) at k+0x2b0 in app.cu:36\n");
  const Findings barriers = findings_of("synccheck", deadlocks + "========= ERROR SUMMARY: 40 errors\n");
  CHECK(barriers == Findings{{"synccheck", "Barrier called by threads", "k", 40}});
  CHECK(sanitizer_text(barriers) == "synccheck: Barrier called by threads in k (40 reports)");
  CHECK(findings_of("racecheck",
                    "========= ERROR: Potential WAW hazard detected at __shared__ 0x8c in block (0,0,0) :\n"
                    "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n") ==
        Findings{{"racecheck", "ERROR: Potential WAW hazard", "", 1}});
  CHECK(findings_of("synccheck",
                    "another program's line\n"
                    "========= COMPUTE-SANITIZER\n"
                    "========= Barrier error detected. Divergent thread(s) in block.\n"
                    "=========     at diverges+0x70\n"
                    "=========     by thread (0,0,0) in block (0,0,0)\n"
                    "========= \n"
                    "========= ERROR SUMMARY: 1 error\n") ==
        Findings{{"synccheck", "Barrier error detected. Divergent thread(s) in block.", "diverges", 1}});
  // What the loader copies is nothing that a kernel has read.
  CHECK(findings_of("initcheck",
                    concat(kHead, "========= Host API uninitialized memory access at 0x7f00 of size 4\n",
                           "========= ERROR SUMMARY: 1 error\n"))
            .empty());
  CHECK(findings_of("initcheck", kNothing).empty());
}

TEST_CASE("a tool that has not seen a program to its end says so, and what it has found all the same") {
  CHECK(read_sanitizer_report("memcheck", "").problem == "says nothing ");
  CHECK(read_sanitizer_report("memcheck", "no room\n").problem == "says nothing no room");
  CHECK_THAT(read_sanitizer_report("memcheck", kHead).problem, ContainsSubstring("says nothing"));
  for (const char* trouble :
       {"Error: process didn't terminate successfully",
        "Error: Target application terminated before first instrumented API call",
        "Error: Device not supported. Please refer to the documentation",
        "Target application returned an error",
        "Error buffer overflow has been detected. Some records have been dropped",
        "Warning: Detected overflow of tracked cuda::barrier structures. Results might be incorrect.",
        "Internal Sanitizer Error: The Sanitizer encountered an error"}) {
    const SanitizerReport report =
        read_sanitizer_report("memcheck", concat(kHead, "========= Invalid __global__ read of size 1 bytes\n",
                                                 "=========     at k+0x10\n========= ", trouble,
                                                 "\n========= ERROR SUMMARY: 1 error\n"));
    CHECK(report.problem == trouble);
    CHECK(report.findings == Findings{{"memcheck", "Invalid __global__ read of size 1 bytes", "k", 1}});
  }
}

TEST_CASE("a program is looked at by each tool, in allocations of its own") {
  testing::box_host();
  if (testing::has_gpu()) SKIP("asks for the driver of the tests");
  auto reports = all_say(kNothing);
  reports["racecheck"] = concat(kHead, "========= Error: Race reported between Write access at twice+0x80\n",
                                "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n");
  const PretendedSanitizer tool(reports);
  const auto gpu = backend();
  CHECK(gpu->features().sanitizes);
  for (const char* kernel : {"twice", "count"}) {
    const SanitizerReport result = sanitized(*gpu, kernel, 4, testing::kGpuText);
    CHECK(result.problem == "");
    CHECK(result.findings ==
          Findings{{"racecheck", "Error: Race reported between Write access", "twice", 1}});
  }
  CHECK(gpu->devices().front().sanitized == 2);
  CHECK(gpu->devices().front().sanitizer_findings == 2);
  CHECK(testing::run_on(*gpu, {.ops = {testing::gpu_launch("twice")}}).fault_class.empty());
}

TEST_CASE("tools that fail are reported, the others run, and the device serves on") {
  testing::box_host();
  if (testing::has_gpu()) SKIP("asks for the driver of the tests");
  auto reports = all_say(concat(kHead, "========= Error: Device not supported\n"));
  reports["synccheck"] = concat(kHead, "========= Barrier error detected. Invalid arguments\n",
                                "=========     at twice+0x70\n========= ERROR SUMMARY: 1 error\n");
  const PretendedSanitizer tool(reports);
  const auto gpu = backend();
  const SanitizerReport result = sanitized(*gpu, "twice", 4, testing::kGpuText);
  CHECK(result.problem ==
        "compute-sanitizer memcheck: Error: Device not supported; compute-sanitizer racecheck: Error: Device "
        "not "
        "supported; compute-sanitizer initcheck: Error: Device not supported");
  CHECK(result.findings == Findings{{"synccheck", "Barrier error detected. Invalid arguments", "twice", 1}});
  CHECK(testing::run_on(*gpu, {.ops = {testing::gpu_launch("twice")}}).fault_class.empty());
}

TEST_CASE("that tools find nothing in a program that did not run is not said") {
  testing::box_host();
  if (testing::has_gpu()) SKIP("asks for the driver of the tests");
  const PretendedSanitizer tool(all_say(kNothing));
  const auto gpu = backend();
  for (const auto& [kernel, words] : {std::pair{"traps", "traps"},
                                      {"endless", "has not ended"},
                                      {"kills_loader", "has ended"},
                                      {"nobody", "not among the device code's entries"}}) {
    INFO(kernel);
    const SanitizerReport result = sanitized(*gpu, kernel, 4, testing::kGpuText);
    CHECK_THAT(result.problem, ContainsSubstring(words));
    CHECK(result.findings.empty());
  }
  CHECK(gpu->devices().front().sanitized == 0);
}

TEST_CASE("a stop ends a tool that does not, and whoever waits for it") {
  testing::box_host();
  if (testing::has_gpu()) SKIP("asks for the driver of the tests");
  const PretendedSanitizer tool({});
  const auto gpu = backend();
  std::stop_source stop;
  std::vector<std::future<SanitizerReport>> asked;
  for (int i = 0; i < 2; ++i)
    asked.push_back(std::async(std::launch::async, [&] {
      return sanitized(*gpu, "twice", 4, testing::kGpuText, stop.get_token());
    }));
  std::this_thread::sleep_for(std::chrono::seconds(1));
  stop.request_stop();
  for (auto& one : asked) CHECK_THAT(one.get().problem, ContainsSubstring("cancelled"));
  CHECK(testing::run_on(*gpu, {.ops = {testing::gpu_launch("twice")}}).fault_class.empty());
}

TEST_CASE("compute-sanitizer's tools find what each is for, and nothing in an honest program",
          "[gpu][sanitizer]") {
  testing::box_host();
  if (!testing::has_gpu()) SKIP("this machine has no GPU's driver");
  if (find_sanitizer().empty()) SKIP(no_sanitizer());
  const auto gpu = backend();
  const auto found_by = [&](const std::string& kernel, int threads, const char* text = kFaultyText) {
    const SanitizerReport result = sanitized(*gpu, kernel, threads, text);
    INFO(kernel << ": " << sanitizer_text(result.findings));
    CHECK(result.problem == "");
    std::string tools;
    for (const SanitizerFinding& found : result.findings)
      if (tools.find(found.tool) == std::string::npos) tools += concat(tools.empty() ? "" : " ", found.tool);
    printf("%s: %s\n", kernel.c_str(), sanitizer_text(result.findings).c_str());
    return tools;
  };
  CHECK(found_by("twice", 4, testing::kGpuText) == "");
  CHECK(found_by("beyond", 1, testing::kGpuText) == "memcheck");
  CHECK(found_by("unwritten", 1) == "initcheck");
  CHECK(found_by("races", 64) == "racecheck");
  CHECK(found_by("diverges", 64) == "synccheck");
}

}  // namespace bicrl
