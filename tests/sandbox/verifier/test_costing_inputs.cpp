// Programs on the inputs that their tasks name for costing: timed there, and judged there once more.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <string>

#include "sandbox/cost/cost_model.h"
#include "sandbox/verifier/cost_summary.h"
#include "tasks/synthetic/synthesiser.h"
#include "tests/sandbox/service/service_support.h"
#include "tests/support/support.h"

namespace bicrl {

using testing::pipeline;

namespace {

constexpr int kSmall = 32 * 48, kLarge = 900 * 48;

// Twice the cumulative sum of each row's softmax: something that needs shared memory, barriers and
// exponentials.
std::string costed_task(const std::string& costing_inputs = "[torch.randn(900, 48)]") {
  return "import torch\nimport torch.nn as nn\n\nclass Model(nn.Module):\n    def forward(self, x):\n"
         "        return 2 * torch.softmax(x, -1)\n\ndef get_inputs():\n    return [torch.randn(32, 48)]\n\n"
         "def get_costing_inputs():\n    return " +
         costing_inputs + "\n\ndef get_init_inputs():\n    return []\n";
}

// A block for each row. The holes: what every thread does first, what rows below the last do, how the row's
// maximum and barrier are written, and the host part's fill of the output.
struct CostedHoles {
  std::string first = "";
  std::string maximum = "float m = -1e30f; for (int k = 0; k < 48; ++k) m = fmaxf(m, part[k]);";
  std::string barrier = "__syncthreads();";
  std::string rows = "x.size(0)";
  std::string made = "torch::empty_like(x)";
};

std::string costed_program(const CostedHoles& holes) {
  return "import torch\nimport torch.nn as nn\nfrom torch.utils.cpp_extension import load_inline\n"
         "source = '''\n#include <torch/extension.h>\n"
         "__global__ void rows_kernel(const float* x, float* out, int n) {\n"
         "    __shared__ float part[48];\n    int t = threadIdx.x;\n    " +
         holes.first + "\n    part[t] = x[blockIdx.x * 48 + t];\n    " + holes.barrier + "\n    " +
         holes.maximum +
         "\n    float s = 0.0f;\n    for (int k = 0; k < 48; ++k) s += expf(part[k] - m);\n"
         "    out[blockIdx.x * 48 + t] = 2.0f * expf(part[t] - m) / s;\n}\n"
         "torch::Tensor run(torch::Tensor x) {\n    auto out = " +
         holes.made + ";\n    int rows = " + holes.rows +
         ";\n    rows_kernel<<<rows, 48>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.numel());\n"
         "    return out;\n}\n'''\n"
         "module = load_inline(name='m', cpp_sources='torch::Tensor run(torch::Tensor x);', "
         "cuda_sources=source, functions=['run'])\nclass ModelNew(nn.Module):\n"
         "    def forward(self, x):\n        return module.run(x)\n";
}

// The same with eight blocks, whatever the number of rows, or with a launch for every eight rows.
std::string fixed_grid() {
  std::string text =
      testing::replaced(costed_program({}), "part[t] = x[blockIdx.x * 48 + t];",
                        "for (int r = blockIdx.x; r < n / 48; r += gridDim.x) { __syncthreads(); part[t] = "
                        "x[r * 48 + t];");
  text = testing::replaced(text, "out[blockIdx.x * 48 + t] = 2.0f * expf(part[t] - m) / s;",
                           "out[r * 48 + t] = 2.0f * expf(part[t] - m) / s; }");
  return testing::replaced(text, "rows_kernel<<<rows, 48>>>", "rows_kernel<<<8, 48>>>");
}

std::string row_by_row() {
  return testing::replaced(
      costed_program({}), "rows_kernel<<<rows, 48>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.numel());",
      "for (int r = 0; r < rows; r += 8) rows_kernel<<<8, 48>>>(x.data_ptr<float>() + r * 48, "
      "out.data_ptr<float>() + r * 48, x.numel());");
}

Verdict verify_costed(const std::string& task, const std::string& program, bool times = true,
                      const std::string& reduced_sizes = "") {
  VerificationRequest request;
  request.request_id = request.task_id = "costed";
  request.pytorch_code = task;
  request.program = program;
  request.reduced_sizes = reduced_sizes;
  request.protocol = kDefaultProtocol;
  request.protocol.measure_time = times;
  return pipeline().verify(request);
}

void check_costed_refused(const CostedHoles& holes, const std::string& fault_class) {
  const Verdict v = verify_costed(costed_task(), costed_program(holes));
  INFO(v.diagnostics);
  CHECK_FALSE(v.correct);
  CHECK(v.fault_class == fault_class);
  CHECK(v.diagnostics.starts_with("on the inputs of get_costing_inputs(): "));
  CHECK(v.trials_passed == 3);
  CHECK(v.candidate_ms == 0);
  CHECK(verdict_problem(v).empty());
  // Nobody who asks for no times has them made, and the small inputs do not show what is wrong.
  CHECK(verify_costed(costed_task(), costed_program(holes), false).correct);
}

}  // namespace

TEST_CASE("a program is timed on the inputs that its task names for it") {
  const Verdict v = verify_costed(costed_task(), costed_program({}));
  INFO(v.diagnostics);
  REQUIRE(v.correct);
  CHECK(v.trials_passed == 4);
  CHECK(v.costed_size == "900x48");
  CHECK(v.counters.find("\"blocks\":900") != std::string::npos);
  const Verdict again = verify_costed(costed_task(), costed_program({}));
  CHECK(again.candidate_ms == v.candidate_ms);
  CHECK(again.counters == v.counters);
  const Verdict given = verify_costed(costed_task() + "\ndel get_costing_inputs\n", costed_program({}));
  REQUIRE(given.correct);
  CHECK(given.costed_size == "32x48");
  CHECK(given.candidate_ms < v.candidate_ms);
  CHECK(given.eager_ms < v.eager_ms);
}

TEST_CASE("work that is left out on larger inputs is seen") {
  const std::string larger = "n > " + std::to_string(kSmall);
  static_assert(kLarge > kSmall);
  check_costed_refused({.first = "if (" + larger + ") return;"}, "uninitialised");
  check_costed_refused({.first = "if (" + larger + " && blockIdx.x == 571) return;"}, "uninitialised");
  check_costed_refused(
      {.first = "if (" + larger + " && blockIdx.x == 571) return;", .made = "torch::zeros_like(x)"},
      "wrong_value");
  check_costed_refused({.rows = "x.size(0) > 32 ? 32 : x.size(0)", .made = "torch::zeros_like(x)"},
                       "wrong_value");
  check_costed_refused({.rows = "32"}, "uninitialised");
  // Whichever warp comes first: in some orders the other's part is read before it was ever written.
  for (int order = 0; order < 6; ++order)
    check_costed_refused({.barrier = "if (!(" + larger + ")) __syncthreads();"}, "race");
  check_costed_refused(
      {.made = "x.numel() > 1536 ? torch::empty({900, 24}, x.options()) : torch::empty_like(x)"},
      "wrong_shape");
}

TEST_CASE("a task may be costed on a part of its rows, as if there were so many times as many") {
  const auto repeats = [](const std::string& times) {
    return "\ndef get_costing_repeats():\n    return " + times + "\n";
  };
  const Verdict whole = verify_costed(costed_task("[torch.randn(8 * 912, 48)]"), costed_program({}));
  const Verdict part =
      verify_costed(costed_task("[torch.randn(912, 48)]") + repeats("8"), costed_program({}));
  INFO(whole.diagnostics << part.diagnostics);
  REQUIRE(whole.correct);
  REQUIRE(part.correct);
  CHECK(part.costed_size == "912x48, 8 times");
  CHECK(std::abs(part.candidate_ms / whole.candidate_ms - 1) < 0.01);
  CHECK(std::abs(part.eager_ms / whole.eager_ms - 1) < 0.01);
  CHECK(std::abs(part.torch_compile_ms / whole.torch_compile_ms - 1) < 0.01);
  CHECK(std::abs(part.roofline_fraction / whole.roofline_fraction - 1) < 0.01);
  CHECK(part.counters.find("\"blocks\":7296") != std::string::npos);
  CHECK(verify_costed(costed_task() + repeats("1"), costed_program({})).costed_size == "900x48");
  // A grid that does not grow has blocks that do more, and launches that become more are so much more.
  for (const bool loops_in_kernel : {true, false}) {
    const auto few = [&](const std::string& costing) {
      return verify_costed(costed_task(costing), loops_in_kernel ? fixed_grid() : row_by_row());
    };
    const Verdict all_rows = few("[torch.randn(8 * 96, 48)]");
    const Verdict some_rows = verify_costed(costed_task("[torch.randn(96, 48)]") + repeats("8"),
                                            loops_in_kernel ? fixed_grid() : row_by_row());
    INFO(all_rows.diagnostics << some_rows.diagnostics << all_rows.candidate_ms << " "
                              << some_rows.candidate_ms);
    REQUIRE(all_rows.correct);
    REQUIRE(some_rows.correct);
    CHECK(some_rows.candidate_ms > 0.9 * all_rows.candidate_ms);
    CHECK(some_rows.candidate_ms < 1.2 * all_rows.candidate_ms);
  }
  CHECK(verify_costed(costed_task() + repeats("8") + "\ndel get_costing_inputs\n", costed_program({}))
            .outcome == Outcome::kInvalidTask);
  for (const char* nonsense : {"0", "-8", "2.0", "65537", "10 ** 5000", "None", "nothing", "True"}) {
    const Verdict v = verify_costed(costed_task() + repeats(nonsense), costed_program({}));
    INFO(nonsense << ": " << v.diagnostics);
    CHECK(v.outcome == Outcome::kInvalidTask);
  }
}

TEST_CASE("a task that is too large is timed on the inputs that it names for it") {
  const auto large = [](const std::string& text) {
    return "rows = 40000000\n" + testing::replaced(text, "[torch.randn(32, 48)]", "[torch.randn(rows, 48)]");
  };
  const std::string sizes = R"([{"rows": 33}, {"rows": 70}])";
  const Verdict v = verify_costed(large(costed_task()), costed_program({}), true, sizes),
                fits = verify_costed(costed_task(), costed_program({}));
  INFO(v.diagnostics);
  REQUIRE(v.correct);
  CHECK(v.graded_at == kReducedSize);
  CHECK(v.costed_at == kOwnSize);
  CHECK(v.costed_size == "900x48");
  CHECK(v.trials_passed == 4);
  CHECK(v.candidate_ms == fits.candidate_ms);
  CHECK(v.eager_ms == fits.eager_ms);
  CHECK(v.counters == fits.counters);
  CHECK(fits.costed_at == kOwnSize);
  CHECK(verdict_problem(v).empty());
  CHECK(verify_costed(large(costed_task()), costed_program({}), false, sizes).candidate_ms == 0);
  // Whose growth is seen from a reduced size.
  const std::string part =
      costed_task("[torch.randn(912, 48)]") + "\ndef get_costing_repeats():\n    return 8\n";
  CHECK(verify_costed(large(part), costed_program({}), true, sizes).candidate_ms ==
        verify_costed(part, costed_program({})).candidate_ms);
  // And the program is judged on them.
  const std::string leaves_out =
      costed_program({.first = "if (n == " + std::to_string(kLarge) + ") return;"});
  const Verdict incorrect = verify_costed(large(costed_task()), leaves_out, true, sizes);
  CHECK_FALSE(incorrect.correct);
  CHECK(incorrect.fault_class == "uninitialised");
  CHECK(incorrect.diagnostics.starts_with("on the inputs of get_costing_inputs(): "));
  CHECK(incorrect.trials_passed == 3);
  CHECK(incorrect.costed_at.empty());
  CHECK(verify_costed(large(costed_task()), leaves_out, false, sizes).correct);
}

TEST_CASE("a task whose inputs for costing cannot be made is invalid") {
  for (const char* inputs :
       {"[torch.randn(900, 48) @ nothing]", "torch.randn(2)", "[torch.randn(900, 48), 1]"}) {
    const Verdict v = verify_costed(costed_task(inputs), costed_program({}));
    INFO(inputs << ": " << v.diagnostics);
    CHECK(v.outcome == Outcome::kInvalidTask);
    CHECK_FALSE(v.correct);
    CHECK(verify_costed(costed_task(inputs), costed_program({}), false).correct);
  }
}

TEST_CASE("at the size that synthesised tasks name, launches take at most a fifth of the modelled time") {
  SynthesisOptions options;
  options.train_compositions = 4;
  options.development_compositions = options.test_compositions = 0;
  options.costing_bytes = int64_t{40} << 20;  // for an H100, docs/cost_model.md
  for (const Task& synthesised : synthesise(options).train) {
    const Verdict v = verify_costed(synthesised.pytorch_code, synthesised.cuda_code);
    INFO(synthesised.pytorch_code << v.diagnostics);
    REQUIRE(v.correct);
    const DeviceTable& device = *find_device_table("h100");
    CHECK(device.launch_us / 1000 <= 0.2 * v.candidate_ms);
  }
}

}  // namespace bicrl
