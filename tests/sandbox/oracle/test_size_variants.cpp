// Smaller sizes of tasks, as the reference's box finds them.
#include <catch2/catch_test_macros.hpp>

#include "common/error.h"
#include "common/files/files.h"
#include "sandbox/oracle/oracle.h"
#include "tests/sandbox/oracle/oracle_support.h"
#include "tests/sandbox/service/service_support.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

using testing::patient_oracle;
using testing::task_code;

const std::string kCheck = testing::source_path("tests/sandbox/oracle/sizes_check.py").string();
const std::string kRuntimes = testing::source_path("sandbox/runtimes").string();

TEST_CASE("variants of a task are smaller, valid and of several remainders") {
  testing::run_python(kCheck, {kRuntimes});
}

TEST_CASE("the version of the size variants is one in both languages, and part of the verifier's name") {
  const std::string rules = read_file(testing::source_path("sandbox/runtimes/sizes/size_variants.py"));
  CHECK(rules.find(concat("\nVERSION = \"", kSizeVariantsVersion, "\"")) != std::string::npos);
  CHECK(testing::pipeline().name().ends_with(concat("/sizes-", kSizeVariantsVersion)));
}

TEST_CASE("every problem of KernelBench's level 1 has variants of little work") {
  testing::run_python(kCheck, {kRuntimes, testing::published_file("kernelbench_level1.json").string()});
}

TEST_CASE("reduced sizes are found once, with what a recording at the task's own needs") {
  // The class's own constant is its function: rows stay as long as it is.
  const auto scaled = [](int64_t rows, int64_t columns) {
    return task_code("return self.scale * x", concat("[torch.randn(", rows, ", ", columns, ")]"),
                     concat("self.scale = nn.Parameter(torch.ones(", columns, "))"));
  };
  CHECK(patient_oracle().reduced_sizes(scaled(40000, 50000), "").sizes);
  const FoundSizes found = patient_oracle().reduced_sizes(scaled(500, 4000000), "");
  INFO(found.failure.reason);
  CHECK(found.sizes == nullptr);
  CHECK(found.failure.is_of_size());
  const std::string scalable = task_code("return x.exp()", "[torch.randn(40000, 50000)]");
  const FoundSizes first = patient_oracle().reduced_sizes(scalable, "");
  INFO(first.failure.reason);
  REQUIRE(first.sizes);
  CHECK(first.sizes->own->layout.leaves.at(0).tensor.sizes == std::vector<int64_t>{40000, 50000});
  CHECK(first.sizes->returned.at("shape") == nlohmann::json({40000, 50000}));
  CHECK(first.sizes->input_bytes == uint64_t{40000} * 50000 * 4);
  CHECK(first.sizes->reference.least_bytes == uint64_t{2} * 40000 * 50000 * 4);
  CHECK(first.sizes->variants.size() >= 3);
  CHECK_FALSE(first.sizes->own->has_costing_inputs);
  const std::string costed = scalable + "def get_costing_inputs():\n    return [torch.randn(900, 48)]\n";
  CHECK(patient_oracle().reduced_sizes(costed, "").sizes->own->has_costing_inputs);
  CHECK(patient_oracle().reduced_sizes(scalable, "").sizes == first.sizes);
  CHECK(patient_oracle().reduced_sizes(scalable, R"([{"get_inputs:1": 40}])").sizes != first.sizes);
}

TEST_CASE("sizes by hand that are none are the task's own fault, and are named") {
  const std::string code = "rows = 40000\n" + task_code("return x.exp()", "[torch.randn(rows, 50)]");
  std::string many = "[{\"rows\": 5}";
  for (int rows = 6; rows < 40; ++rows) many += concat(", {\"rows\": ", rows, "}");
  for (const auto& [sizes, kind, words] :
       {std::tuple<std::string, std::string, std::string>{"[{\"rows\": 5}", "raises",
                                                          "reduced_sizes is not JSON"},
        {"7", "raises", "reduced_sizes is no list"},
        {many + "]", "raises", "reduced_sizes is no list of at most 32"},
        {R"([{"rows": 5}, {"lines": 3}])", "missing", "reduced_sizes names 'lines'"},
        {R"([{"rows": "5"}])", "raises", "reduced_sizes must give whole numbers"},
        {R"([{"rows": 5}, {"rows": 30000000}])", "too_large", "at reduced_sizes {'rows': 30000000}: "}}) {
    const FoundSizes found = patient_oracle().reduced_sizes(code, sizes);
    INFO(sizes << ": " << found.failure.reason);
    CHECK(found.sizes == nullptr);
    CHECK(found.failure.will_recur());
    CHECK(found.failure.kind == kind);
    CHECK(found.failure.reason.find(words) != std::string::npos);
  }
  // Ends the process of the box at that size.
  const std::string quits =
      "import os\nrows = 40000\n" +
      task_code("return x.exp() if len(x) != 33 else os._exit(3)", "[torch.randn(rows, 50)]");
  const FoundSizes found = patient_oracle().reduced_sizes(quits, R"([{"rows": 33}])");
  INFO(found.failure.reason);
  CHECK(found.failure.kind == "crash");
  CHECK(found.failure.reason.starts_with("run at reduced_sizes [{\"rows\": 33}], the reference ended"));
}

// The limit of 20 kB stands for that of messages: listed one by one, so many launches exceed it.
TEST_CASE("a recurrence of 300 steps lists its 600 launches by kinds") {
  const auto sizes_with = [](int most_text) {
    const std::string code =
        concat("import sys\nsys.modules['oracle_operators'].MOST_TEXT = ", most_text, "\nsteps = 300\n") +
        task_code("for _ in range(steps): x = torch.tanh(x @ x)\n        return x", "[torch.randn(2, 2)]");
    return patient_oracle().reduced_sizes(code, R"([{"steps": 3}])");
  };
  CHECK(sizes_with(500).failure.reason.find("too many different operators") != std::string::npos);
  const FoundSizes found = sizes_with(20'000);
  INFO(found.failure.kind << ": " << found.failure.reason);
  REQUIRE(found.sizes);
  for (const auto& list : {found.sizes->reference.eager, found.sizes->reference.fused}) {
    uint64_t launches = 0;
    for (const AlikeLaunches& alike : list) launches += alike.count;
    CHECK(launches == 600);
    CHECK(list.size() < 10);
  }
}

TEST_CASE("what a box says of sizes is checked") {
  const nlohmann::json variant{{"code", "x"},      {"sizes", {{"n", 3}}}, {"long", false},
                               {"input_bytes", 4}, {"output_bytes", 4},   {"lane_operations", 1.0}};
  const nlohmann::json header{
      {"inputs", nlohmann::json::array()},
      {"answer", {{"t", "none"}}},
      {"arguments", {{"t", "list"}}},
      {"parameters", nlohmann::json::array()},
      {"has_costing_inputs", false},
      {"ignores_mode", true},
      {"input_bytes", 1},
      {"output_bytes", 1},
      {"parameter_bytes", 1},
      {"lane_operations", 1.0},
      {"operators",
       {{"eager", nlohmann::json::array()}, {"fused", nlohmann::json::array()}, {"least_bytes", 1}}},
      {"variants", {variant}}};
  CHECK(read_reduced_sizes({header, {}}, 1).variants.at(0).sizes == "n=3");
  nlohmann::json none = header, text = header, endless = header;
  none["variants"] = nlohmann::json::array();
  CHECK_THROWS_AS(read_reduced_sizes({none, {}}, 1), InputError);
  text["variants"][0]["code"] = std::string(2 << 20, 'x');
  CHECK_THROWS_AS(read_reduced_sizes({text, {}}, 1), InputError);
  endless["inputs"] = nlohmann::json::array({{{"t", "tensor"}, {"shape", {-1}}, {"dtype", "float32"}}});
  CHECK_THROWS(read_reduced_sizes({endless, {}}, 1));
}

}  // namespace
}  // namespace bicrl
