#include "sandbox/frontend/split/splitter_host_use.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

namespace bicrl {
namespace {

// What is found, as "line name".
std::string found(const std::string& text) {
  const TokenText source(text);
  std::vector<SplitIssue> issues;
  find_host_uses(source, CodeStructure(source), issues);
  std::string all;
  for (const SplitIssue& issue : issues) {
    CHECK(issue.fault_class == FaultClass::kCompile);
    const size_t end = issue.reason.find('\'', 1);
    all += (all.empty() ? "" : ", ") + std::to_string(issue.line) + " " + issue.reason.substr(1, end - 1);
  }
  return all;
}

TEST_CASE("variables of the host are none of device code") {
  CHECK(found("float scale = 2.f;\n"
              "static int count;\n"
              "__global__ void k(float* y) { y[0] = fmaxf(y[1], scale); count++; }\n") == "3 scale, 3 count");
  CHECK(found("int limit = 4;\n"
              "__device__ int clip(int v) { return v < limit ? v : limit; }\n") == "2 limit, 2 limit");
}

TEST_CASE("a text of faults costs no more than a few") {
  std::string text = "int count;\n__global__ void k(float* y) {\n";
  for (int i = 0; i < 40000; ++i) text += "y[count];";
  const std::string all = found(text + "}\n");
  CHECK(std::count(all.begin(), all.end(), ',') < 16);
}

TEST_CASE("device code has no exceptions") {
  CHECK(found("__global__ void k(float* y) {\n  if (y[0] > 1) throw 1;\n}\nvoid f() { throw 1; }\n") ==
        "2 throw");
}

TEST_CASE("a kernel is launched, not called") {
  CHECK(found("__global__ void k(float* y) { y[0] = 1; }\nvoid run(float* y) {\n  k<<<1, 1>>>(y);\n  "
              "k(y);\n}\n") == "4 k");
  // Of two functions of the name the call may mean the host's.
  CHECK(found("__global__ void k(float* y) {}\nvoid k(torch::Tensor y) {}\nvoid run(torch::Tensor y) { k(y); "
              "}\n") == "");
}

TEST_CASE("what device code may use, or may have of its own, is left alone") {
  const std::string names =
      "const float kScale = 2.f;\nconstexpr int kTile = 16;\n__constant__ float table[4];\n__device__ int "
      "total;\n"
      "constexpr int next(int v) { return v + 1; }\n__host__ __device__ float both(float v) { return v; }\n"
      "float width = 1.f;\nint rows(int v) { return v; }\n";
  for (const std::string body :
       {"y[0] = kScale * kTile + table[1] + total + next(2) + both(1);", "int width = 3; y[0] = width;",
        "float a = 1, width = 2; y[0] = a + width;", "auto rows = [](int v) { return v; }; y[0] = rows(2);",
        "y[0] = p.width + q->width + box::width + box::rows(1);", "y[0] = sizeof(width);",
        "for (int width = 0; width < 4; ++width) y[width] = 0;", "// width, rows(1)\n"}) {
    INFO(body);
    CHECK(found(names + "__global__ void k(float* y, Box p, Box* q) { " + body + " }\n") == "");
  }
  CHECK(found(names + "__global__ void k(float* y, float width) { y[0] = width; }\n") == "");
  CHECK(found(names + "void host() { float v = width + rows(2); }\n") == "");
  // Host and device have one of that name each; a macro may be an annotation.
  CHECK(found("float f(int v) { return v; }\n__device__ float f(float v) { return v; }\n"
              "__global__ void k(float* y) { y[0] = f(y[1]); }\n") == "");
  CHECK(found("#define both_sides __host__ __device__\nboth_sides float f(float v) { return v; }\n"
              "C10_DEVICE float g(float v) { return v; }\n__global__ void k(float* y) { y[0] = f(g(y[1])); "
              "}\n") == "");
  // A function for both sides may be meant for the host: a warning.
  CHECK(found(names + "__host__ __device__ float any(int v) { return rows(v); }\n") == "");
}

}  // namespace
}  // namespace bicrl
