// Programs for a task that is too large to be run here: recorded at its own size, judged at reduced ones.
#include <catch2/catch_test_macros.hpp>
#include <set>
#include <string>

#include "tests/sandbox/service/service_support.h"

namespace bicrl {

using testing::pipeline;

namespace {

// Each row's sum of squares, of 65,536 rows of 40,000: 10 GiB.
std::string row_task(const std::string& rows = "16384 * 4", const std::string& columns = "40000") {
  return "import torch\nimport torch.nn as nn\n\nrows = " + rows + "\ncolumns = " + columns +
         "\n\nclass Model(nn.Module):\n    def forward(self, x):\n        return (x * x).sum(-1)\n\n"
         "def get_inputs():\n    return [torch.rand(rows, columns)]\n\n"
         "def get_init_inputs():\n    return []\n";
}

// A block for each row. The holes: what the host part does first, its launch, the row of a block, and the end
// of a thread's loop.
struct RowHoles {
  std::string check = "";
  std::string grid = "dim3(x.size(0))";
  std::string block = "256";
  std::string row = "blockIdx.x";
  std::string end = "n";
  std::string shape = "{x.size(0)}";
  std::string bounds = "";
};

std::string row_program(const RowHoles& holes = {}) {
  return "import torch\nimport torch.nn as nn\nfrom torch.utils.cpp_extension import load_inline\n"
         "source = '''\n#include <torch/extension.h>\n"
         "__global__ void " +
         holes.bounds +
         " squares(const float* x, float* out, long rows, int n) {\n"
         "    __shared__ float part[1024];\n    long row = " +
         holes.row +
         ";\n    if (row >= rows) return;\n    float s = 0.0f;\n    for (int i = threadIdx.x; i < " +
         holes.end +
         "; i += blockDim.x) s += x[row * n + i] * x[row * n + i];\n"
         "    part[threadIdx.x] = s;\n    __syncthreads();\n"
         "    for (int half = blockDim.x / 2; half > 0; half /= 2) {\n"
         "        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];\n"
         "        __syncthreads();\n    }\n    if (threadIdx.x == 0) out[row] = part[0];\n}\n"
         "torch::Tensor run(torch::Tensor x) {\n    " +
         holes.check + "\n    auto out = torch::empty(" + holes.shape + ", x.options());\n    squares<<<" +
         holes.grid + ", " + holes.block +
         ">>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(0), x.size(1));\n    return out;\n}\n'''\n"
         "module = load_inline(name='m', cpp_sources='torch::Tensor run(torch::Tensor x);', "
         "cuda_sources=source, functions=['run'])\nclass ModelNew(nn.Module):\n"
         "    def forward(self, x):\n        return module.run(x)\n";
}

struct AskedSize {
  SizePolicy size = SizePolicy::kFitting;
  SpecialisedPolicy specialised = SpecialisedPolicy::kIncorrect;
  std::string by_hand = "";
};

Verdict verify(const std::string& program, const AskedSize& asked = {},
               const std::string& code = row_task()) {
  VerificationRequest request;
  request.request_id = request.task_id = "large";
  request.pytorch_code = code;
  request.program = program;
  request.protocol = kDefaultProtocol;
  request.protocol.size = asked.size;
  request.protocol.specialised = asked.specialised;
  request.reduced_sizes = asked.by_hand;
  return pipeline().verify(request);
}

void check_refused(const RowHoles& holes, const std::string& fault_class) {
  const Verdict v = verify(row_program(holes));
  INFO(v.diagnostics);
  CHECK_FALSE(v.correct);
  CHECK(v.fault_class == fault_class);
  CHECK(verdict_problem(v).empty());
}

}  // namespace

TEST_CASE("a program for a task that is too large is judged at reduced sizes") {
  const Verdict v = verify(row_program());
  INFO(v.diagnostics);
  REQUIRE(v.correct);
  CHECK(v.graded_at == kReducedSize);
  CHECK(v.costed_at.empty());
  CHECK(v.trials_passed == 4);
  CHECK(v.lane_operations > 1'000'000);
  CHECK(verdict_problem(v).empty());
  // Its own size is the only one that counts where others are not asked for.
  CHECK(verify(row_program(), {.size = SizePolicy::kOwn}).outcome == Outcome::kInvalidTask);
}

TEST_CASE("a task that fits is judged at its own size unless reduced ones are asked for") {
  const std::string fits = row_task("300", "1000");
  const Verdict own = verify(row_program(), {}, fits);
  INFO(own.diagnostics);
  CHECK(own.correct);
  CHECK(own.graded_at == kOwnSize);
  const Verdict reduced = verify(row_program(), {.size = SizePolicy::kReduced}, fits);
  INFO(reduced.diagnostics);
  CHECK(reduced.correct);
  CHECK(reduced.graded_at == kReducedSize);
  // Right for 300 rows of 1,000 only.
  const std::string exact = row_program({.end = "1000"});
  CHECK(verify(exact, {}, fits).correct);
  CHECK_FALSE(verify(exact, {.size = SizePolicy::kReduced}, fits).correct);
}

TEST_CASE("values that are incorrect at reduced sizes make a program incorrect") {
  check_refused({.end = "n / 4 * 4"}, "wrong_value");
  check_refused({.end = "(n < 256 ? n : 256)"}, "wrong_value");
  check_refused({.row = "blockIdx.x + 1 - (blockIdx.x + 1 == rows)"}, "uninitialised");
  check_refused({.shape = "{x.size(1)}"}, "wrong_shape");
}

TEST_CASE("limits of a device are those of the task's own size") {
  // 65,536 blocks are one too many for the second dimension; reduced sizes have a few thousand at most.
  check_refused({.grid = "dim3(1, x.size(0))", .row = "blockIdx.y"}, "launch");
  CHECK(verify(row_program({.grid = "dim3(2, (x.size(0) + 1) / 2)", .row = "blockIdx.y * 2 + blockIdx.x"}))
            .correct);
  check_refused({.block = "(x.size(1) > 20000 ? 512 : 256)", .bounds = "__launch_bounds__(256)"}, "launch");
}

TEST_CASE(
    "a host part that refuses reduced sizes is specialised, and wrong or left out as the protocol says") {
  const std::string checked = row_program({.check = "TORCH_CHECK(x.size(1) == 40000);"});
  const Verdict incorrect = verify(checked);
  INFO(incorrect.diagnostics);
  CHECK(incorrect.outcome == Outcome::kCandidateFault);
  CHECK(incorrect.fault_class == "specialised");
  const Verdict masked = verify(checked, {.specialised = SpecialisedPolicy::kMask});
  CHECK(masked.outcome == Outcome::kUndecided);
  CHECK_FALSE(masked.correct);
  CHECK(verdict_problem(masked).empty());
  // An empty grid is refused by the driver.
  CHECK(verify(row_program({.grid = "dim3(x.size(0) / 30000 * 30000)"})).fault_class == "specialised");
  // A host part that refuses every size is not specialised, nor one that is wrong at some.
  const RowHoles refuses{.check = "TORCH_CHECK(x.size(1) < 100);"};
  check_refused(refuses, "record");
  CHECK(verify(row_program(refuses), {.specialised = SpecialisedPolicy::kMask}).fault_class == "record");
}

TEST_CASE("sizes by hand are those that are used") {
  const std::string narrow = row_program({.end = "(n < 70 ? n : 70)"});
  CHECK_FALSE(verify(narrow).correct);
  const Verdict v =
      verify(narrow, {.by_hand = R"([{"rows": 33, "columns": 70}, {"rows": 5, "columns": 69}])"});
  INFO(v.diagnostics);
  CHECK(v.correct);
  const Verdict unknown = verify(narrow, {.by_hand = R"([{"lines": 33}])"});
  CHECK(unknown.outcome == Outcome::kInvalidTask);
  CHECK(unknown.diagnostics.find("lines") != std::string::npos);
}

TEST_CASE("a task without smaller sizes is invalid, with the reason") {
  std::string code = row_task();
  code.replace(code.find("(x * x)"), 7, "(x * x).view(65536, 40000)");
  const Verdict v = verify(row_program(), {}, code);
  CHECK(v.outcome == Outcome::kInvalidTask);
  CHECK(v.diagnostics.find("no smaller values of its constants") != std::string::npos);
}

TEST_CASE("which reduced sizes are used differs from verification to verification") {
  // Two of these, none of which is long.
  const std::string sizes =
      R"([{"rows": 33, "columns": 70}, {"rows": 500, "columns": 71}, {"rows": 34, "columns": 900}])";
  std::set<int64_t> work;
  for (int i = 0; i < 12; ++i) work.insert(verify(row_program(), {.by_hand = sizes}).lane_operations);
  CHECK(work.size() > 1);
}

}  // namespace bicrl
