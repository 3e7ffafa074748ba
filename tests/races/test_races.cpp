// Kernels with races and kernels without, of many kinds: tests/races/kernels/*.cu. Every kernel has the
// parameters (int* in, int* out, int* scratch, int n), three buffers of n ints: `in` holds numbers from 0 to
// 255, the others zeros. A line in front of it says what it is and how it is launched:
//   //! racy GRID BLOCK [SHARED_BYTES] [cooperative] [-> words of what is reported]
//   //! sound ...
//   //! benign ...      a race that `in` and `out` do not depend on
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "common/rng.h"
#include "sandbox/interpreter/races/race_detector.h"
#include "sandbox/interpreter/races/race_taint.h"
#include "tests/ptx/kernel_runner.h"
#include "tests/support/support.h"

namespace bicrl::races {
namespace {

using ptx::testing::KernelRunner;

struct RaceCase {
  std::string name, expected, words;
  uint32_t grid = 1, block = 1, shared = 0;
  bool cooperative = false;
};

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<RaceCase> cases_of(const std::string& text) {
  std::vector<RaceCase> cases;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("//! ")) {
      RaceCase one;
      if (const size_t arrow = line.find(" -> "); arrow != std::string::npos) {
        one.words = line.substr(arrow + 4);
        line.resize(arrow);
      }
      std::istringstream words(line.substr(4));
      words >> one.expected >> one.grid >> one.block;
      for (std::string word; words >> word;) {
        if (word == "cooperative")
          one.cooperative = true;
        else
          one.shared = static_cast<uint32_t>(std::stoul(word));
      }
      cases.push_back(one);
    }
    if (const size_t at = line.find("__global__ void ");
        at != std::string::npos && !cases.empty() && cases.back().name.empty()) {
      const size_t begin = at + 16;
      cases.back().name = line.substr(begin, line.find_first_of("( ", begin) - begin);
    }
  }
  return cases;
}

std::string said(const RaceDetector& detector) {
  std::string all;
  for (const Race& race : detector.races()) all += to_fault(race, "buffer").message + "\n";
  return all;
}

constexpr int kInts = 1 << 14;

// The fault that the kernel ends in, or what is undefined in the end.
std::string launch(const std::string& ptx, const RaceCase& one, uint64_t seed, ptx::Observer& observer) {
  KernelRunner runner("", {.shadows = true, .seed = seed, .compiler_options = {}, .limits = {}, .ptx = ptx});
  RandomStream random(7);
  std::vector<int> in(kInts);
  for (int& value : in) value = static_cast<int>(random.below(256));
  const uint64_t a = runner.upload(in), b = runner.upload(std::vector<int>(kInts)),
                 c = runner.upload(std::vector<int>(kInts));
  const uint64_t workspace = runner.upload(std::vector<int>(ptx::kGridWorkspaceBytes / sizeof(int)));
  runner.observer = &observer;
  runner.cooperative = one.cooperative;
  if (one.cooperative) runner.grid_workspace = workspace;
  const auto fault = runner.launch(one.name, {one.grid, 1, 1}, {one.block, 1, 1}, one.shared, a, b, c, kInts);
  if (fault) return ptx::testing::fault_text(fault);
  for (const uint64_t buffer : {a, b}) {
    const uint8_t* undefined = runner.buffer(buffer).undefined.get();
    if (std::any_of(undefined, undefined + kInts * sizeof(int), [](uint8_t bits) { return bits != 0; }))
      return "an undefined result";
  }
  return "";
}

}  // namespace

TEST_CASE("races are told apart from what only looks like one") {
  const char* only = getenv("BICRL_CORPUS");
  int racy = 0, sound = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(bicrl::testing::source_path("tests/races/kernels"))) {
    const std::string text = text_of(entry.path());
    const std::string ptx = ptx::testing::compile_cuda(text, {"-lineinfo"});
    for (const RaceCase& one : cases_of(text)) {
      if (only && one.name.find(only) == std::string::npos) continue;
      for (const uint64_t seed : {1, 2}) {
        RaceDetector detector;
        const std::string fault = launch(ptx, one, seed, detector);
        const std::string found = said(detector);
        INFO(entry.path().filename().string() << " " << one.name << ", seed " << seed << ": " << found);
        // What is read too early may never have been written.
        if (one.expected != "racy" || fault != "an undefined result") CHECK(fault == "");
        CHECK(found.empty() == (one.expected == "sound"));
        if (!one.words.empty()) CHECK(found.find(one.words) != std::string::npos);
        if (!found.empty() && detector.words().complete) {
          RaceTaint taint(detector.words());
          const std::string seen = launch(ptx, one, seed, taint);
          CHECK((seen != "") == (one.expected == "racy"));
        }
        if (only && seed == 1) std::cout << one.name << ": " << found << "\n";
      }
      ++(one.expected == "racy" ? racy : sound);
    }
  }
  std::cout << racy << " racy kernels, " << sound << " sound ones\n";
  if (!only) {
    CHECK(racy >= 60);
    CHECK(sound >= 60);
  }
}

}  // namespace bicrl::races
