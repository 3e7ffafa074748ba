#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "common/files/files.h"
#include "curation/code/program_scaffold.h"
#include "tests/curation/fake_services.h"
#include "tests/curation/record_lists.h"
#include "tests/support/support.h"

namespace bicrl::curation {
namespace {

// The published cuts are the oracle.
void check_file(const std::filesystem::path& file) {
  const auto tasks = nlohmann::json::parse(read_file(file));
  REQUIRE_FALSE(tasks.empty());
  for (const auto& task : tasks) {
    INFO(file.string() << " " << task["id"]);
    const auto cut = cut_program(task["cuda_code"]);
    REQUIRE(cut);
    CHECK(cut->prefix == task["prefix"]);
    CHECK(cut->middle == task["middle"]);
    CHECK(cut->suffix == task["suffix"]);
  }
}

TEST_CASE("program is cut where published infilling tasks are") {
  for (const auto& file : testing::task_files("infilling_tasks.json")) check_file(file);
}

TEST_CASE("program without a kernel in an assigned text stays whole") {
  FakeServices services;
  Record inlined = sample("inlined", "a", 1, 1), library = sample("library", "b", 1, 1),
         open = sample("open", "c", 1, 1);
  inlined.answer.program = "m = load_inline(cuda_sources=[\"\"\"__global__ void f() {}\"\"\"])\n";
  library.answer.program =
      "cpp = \"\"\"\ntorch::Tensor f();\n\"\"\"\nsrc = r'''\nvoid g() { k<<<1, 2>>>(); }\n'''\nrest\n";
  open.answer.program = "src = \"\"\"\n__global__ void f() {}\n";
  const StepResult result = run_step("cut_scaffold", {inlined, library, open}, services);
  CHECK_FALSE(result.at("inlined").answer.has_scaffold());
  CHECK_FALSE(result.at("open").answer.has_scaffold());
  const Answer& cut = result.at("library").answer;
  CHECK(cut.middle == "src = r'''\nvoid g() { k<<<1, 2>>>(); }\n'''");
  CHECK(cut.prefix + cut.middle + cut.suffix == cut.program);
}

}  // namespace
}  // namespace bicrl::curation
