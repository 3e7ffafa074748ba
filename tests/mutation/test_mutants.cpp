// What the mutants of a program are: each kind at its places, one change each, and nothing else of the text.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <set>

#include "sandbox/mutation/mutant.h"

namespace bicrl {
namespace {

std::string program(const std::string& device) {
  return "import torch\nsource = \"\"\"\n" + device +
         "\ntorch::Tensor run(torch::Tensor x) { int n = 0; for (int i = 0; i < n; ++i) {} return x; "
         "}\n\"\"\"\n";
}

std::vector<std::string> changes(const std::string& kind, const std::string& device) {
  std::vector<std::string> list;
  for (const Mutant& m : mutants_of(program(device)))
    if (m.kind == kind) list.push_back(m.before + " -> " + m.after);
  return list;
}

using Changes = std::vector<std::string>;

std::string kernel(const std::string& body) {
  return "__global__ void k(const float* x, float* y, int n, int cols) {\n" + body + "\n}\n";
}

}  // namespace

TEST_CASE("barriers, fences and atomics are taken away where they are statements") {
  CHECK(changes("barrier_removed",
                kernel("__syncthreads(); if (n) __syncwarp(); tile.sync(); cg::sync(tile);")) ==
        Changes{"__syncthreads() -> ", "__syncwarp() -> ", "tile.sync() -> ", "cg::sync(tile) -> "});
  CHECK(changes("fence_removed", kernel("__threadfence(); y[0] = 1;")) == Changes{"__threadfence() -> "});
  CHECK(changes("atomic_removed",
                kernel("atomicAdd(&y[f(n, 1)], x[0]); atomicMax(y, 2); int old = atomicAdd(y, 1);")) ==
        Changes{"atomicAdd(&y[f(n, 1)], x[0]) -> *(&y[f(n, 1)]) = *(&y[f(n, 1)]) + (x[0])",
                "atomicMax(y, 2) -> *(y) = max(*(y), (2))"});
}

TEST_CASE("bounds lose or gain an element, and loops over tiles their last") {
  const std::string body = "for (int i = 0; i < n; ++i) { if (i < cols && i << 2) y[i] = 0; }\n";
  CHECK(changes("bound_shortened", kernel(body)) == Changes{"n -> (n - 1)", "cols -> (cols - 1)"});
  CHECK(changes("bound_widened", kernel(body)) == Changes{"< -> <=", "< -> <="});
  const std::string tiles = "for (int t = 0; t < n; ++t) { __syncthreads(); }\n";
  CHECK(changes("bound_shortened", kernel(tiles)).empty());
  CHECK(changes("last_tile_skipped", kernel(tiles)) == Changes{"n -> (n - 1)"});
}

TEST_CASE("values change their meaning, templates and literals do not") {
  CHECK(changes("comparison_turned", kernel("float m = fmaxf(x[0], 1.f); y[0] = m > 0.f ? m : g<4>(m);")) ==
        Changes{"fmaxf -> fminf", "> -> <"});
  CHECK(changes("addend_dropped", kernel("y[0] = x[0] * 2 + x[1];")) == Changes{"+ x[1] -> "});
  CHECK(changes("epsilon_grown", kernel("y[0] = rsqrtf(x[0] + 1e-5f) + 1e-20f * 1e5f + 0.5f;")) ==
        Changes{"1e-5f -> (1e-5f * 1000)", "1e-20f -> (1e-20f * 1000)"});
  const std::string sum =
      kernel("float s = 0.0f; int c = 0; for (int i = 0; i < n; ++i) { s += x[i]; c += 1; } y[0] = s;");
  CHECK(changes("sum_undefined", sum) == Changes{"= 0.0f -> "});
  CHECK(changes("sum_forgotten", sum) == Changes{"s += x[i] -> s = x[i]"});
  CHECK(changes("sum_coarsened", sum).size() == 1);
  CHECK(changes("value_truncated", kernel("float v = x[0]; float z = 0.f;")) ==
        Changes{"x[0] -> (int)(x[0])"});
  CHECK(changes("strides_swapped", kernel("int r = 0, c = 1; y[r * cols + c] = x[r * 4 + c];")) ==
        Changes{"r * cols + c -> c * cols + r"});
}

TEST_CASE("a mutant is its program but for one change of device code") {
  const std::string original = program(kernel("// i < n\nfor (int i = 0; i < n; ++i) y[i] = x[i] + x[i];\n"));
  const auto mutants = mutants_of(original);
  REQUIRE(mutants.size() >= 3);
  std::set<std::string> different;
  for (const Mutant& m : mutants) {
    INFO(m.kind << " " << m.before << " -> " << m.after);
    CHECK(m.line == 5);
    CHECK(m.program != original);
    different.insert(m.program);
    // The host part, with its own loop, is as it was.
    const size_t host = original.find("torch::Tensor run"), size = original.size() - host;
    CHECK(m.program.substr(m.program.size() - size) == original.substr(host));
  }
  CHECK(different.size() == mutants.size());
}

TEST_CASE("texts without device code, and cut ones, have no mutants or harmless ones") {
  CHECK(mutants_of("").empty());
  CHECK(mutants_of("x = '''no code''' + \"\"\"").empty());
  CHECK(mutants_of(program("int host(int n) { for (int i = 0; i < n; ++i) {} return n; }")).empty());
  const std::string whole = program(kernel("for (int i = 0; i < n; ++i) { atomicAdd(&y[i], x[f(i)]); }"));
  for (size_t bytes = 0; bytes < whole.size(); ++bytes)
    for (const Mutant& m : mutants_of(whole.substr(0, bytes) + "\"\"\"")) CHECK(!m.kind.empty());
}

}  // namespace bicrl
