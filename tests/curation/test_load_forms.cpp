// Step load: a small file of each published form of JSON, as it is published.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "common/files/files.h"
#include "curation/form.h"
#include "tests/curation/fake_services.h"
#include "tests/curation/pipelines.h"
#include "tests/support/support.h"

namespace bicrl::curation {
namespace {

using Catch::Matchers::ContainsSubstring;
using Json = nlohmann::ordered_json;
using testing::TemporaryFolder;

const std::string kCode = module_named("# relu"), kLoadedProgram = "class ModelNew: pass\n";

struct Loaded {
  std::vector<Record> records;
  nlohmann::json source;  // of the data card
};

Loaded load(const TemporaryFolder& folder, const std::string& name, const std::string& text) {
  write_file_atomically(folder.path() / name, text);
  FakeServices services;
  run_pipeline(
      concat("curation: {directory: ", (folder.path() / "run").string(),
             "}\nsteps:\n  - {step: load, source: s, files: [", (folder.path() / name).string(), "]}\n"),
      services);
  Loaded loaded;
  for (const std::string& line : lines_of(folder.path() / "run/records/01-load.jsonl"))
    loaded.records.push_back(record_from_line(line));
  loaded.source = nlohmann::json::parse(read_file(folder.path() / "run/card.json"))["sources"][0];
  return loaded;
}

TEST_CASE("file of CUDA-L1 is loaded with tasks, programs and scores") {
  const TemporaryFolder folder;
  Json found = {{"level_id", 1},
                {"task_id", 19},
                {"ref_code", kCode},
                {"custom_code", kLoadedProgram},
                {"cuda_graph_code", "graph"},
                {"score_default", 1.5},
                {"score_torch_compile_default", 1.25},
                {"score_torch_compile_reduce_overhead", nullptr},
                {"score_cuda_graph", 0.5}};
  Json none = found;
  none["task_id"] = 20;
  none["custom_code"] = none["score_default"] = nullptr;
  const auto [records, source] =
      load(folder, "cuda_l1.jsonl", found.dump() + "\n" + none.dump() + "\n{\"level_id\": 1}\n");
  REQUIRE(records.size() == 2);
  CHECK(records[0].task_id == "s:level_1_problem_19");
  CHECK(records[0].answer.program == kLoadedProgram);
  CHECK(records[0].figures.at("published_speedup") == 1.5);
  CHECK(records[0].figures.at("score_cuda_graph") == 0.5);
  CHECK(records[0].labels.at("cuda_graph_code") == "graph");
  CHECK(records[1].task_id == "s:level_1_problem_20");
  CHECK(records[1].answer.program.empty());
  CHECK_FALSE(records[1].figures.contains("published_speedup"));
  CHECK(source["form"] == "cuda_l1");
  CHECK(source["broken"] == 1);
}

TEST_CASE("tasks of another source are written as verl and read again") {
  Record record =
      form_named("end_to_end")
          .read({{"idx", 3}, {"level", 1}, {"pytorch_code", kCode}, {"raw_answer", ""}, {"cuda_code", ""}});
  record.id = record.task_id = "s:3";
  const Json entry = form_named("verl").write(record, {});
  CHECK(entry["extra_info"]["entry_point"] == "Model");
  CHECK(form_named("verl").read(entry).pytorch_code == kCode);
}

TEST_CASE("tasks of any source are written as cuda_l1 with ids of one type and read again") {
  const TemporaryFolder folder;
  Record published = form_named("cuda_l1").read(
      {{"level_id", 1}, {"task_id", 3}, {"ref_code", kCode}, {"custom_code", kLoadedProgram}});
  Record variant = published, other = published;
  variant.labels.erase("published_task_id");
  variant.task_id = "s:level_1_problem_3+1";
  other.labels.erase("published_task_id");
  other.task_id = "dice:74";
  std::string lines;
  for (Record* record : {&published, &variant, &other}) {
    record->id = record->task_id;
    const Json entry = form_named("cuda_l1").write(*record, {});
    CHECK(entry["task_id"].is_string());
    lines += entry.dump() + "\n";
  }
  const auto [records, source] = load(folder, "l1.jsonl", lines);
  REQUIRE(records.size() == 3);
  CHECK(records[0].task_id == "s:level_1_problem_3");
  CHECK(records[1].task_id == "s:s:level_1_problem_3+1");
  CHECK(records[2].task_id == "s:dice:74");
  CHECK(source["broken"] == 0);
}

TEST_CASE("file of KernelBench is loaded as a list and as the lines of the hub") {
  const TemporaryFolder folder;
  const Json list =
      Json::array({{{"level", 1}, {"problem_id", 19}, {"name", "19_ReLU"}, {"pytorch_code", kCode}},
                   {{"level", 1},
                    {"problem_id", 20},
                    {"name", "20_LeakyReLU"},
                    {"pytorch_code", module_named("# leaky")}}});
  std::string lines;
  for (Json entry : list) {
    entry["code"] = entry["pytorch_code"];
    entry.erase("pytorch_code");
    lines += entry.dump() + "\n";
  }
  for (const auto& [name, text] :
       {std::pair(std::string("level1.json"), list.dump(1)), {"level1.jsonl", lines}}) {
    INFO(name);
    const auto [records, source] = load(folder, name, text);
    REQUIRE(records.size() == 2);
    CHECK(records[0].name == "19_ReLU");
    CHECK(records[0].level == 1);
    CHECK(records[0].pytorch_code == kCode);
    CHECK(records[1].labels.at("problem_id") == "20");
    CHECK(records[0].task_id != records[1].task_id);
    CHECK(source["form"] == "kernelbench");
    CHECK(source["licence"] == "MIT");
  }
}

TEST_CASE("file of conversations is loaded with reasoning and program of the last turn") {
  const TemporaryFolder folder;
  const auto conversation = [](const std::string& answer) {
    return Json::array({{{"role", "system"}, {"content", "You write kernels."}},
                        {{"role", "user"}, {"content", "Write it."}},
                        {{"role", "assistant"}, {"content", answer}}});
  };
  const Json plain = {{"messages", conversation("```python\n" + kLoadedProgram + "```")}};
  const Json cold_start = {
      {"messages", conversation("<think>\nShort.\n</think>\n\n```python\n" + kLoadedProgram + "```")},
      {"uuid", "u7"},
      {"entry_point", "Model"},
      {"module_name", "relu"},
      {"final_speedup", 2.0},
      {"original_python_code", kCode}};
  const auto [records, source] =
      load(folder, "messages.jsonl", plain.dump() + "\n" + cold_start.dump() + "\n{\"messages\": []}\n");
  REQUIRE(records.size() == 2);
  CHECK(records[0].answer.messages.size() == 3);
  CHECK(records[0].answer.program == kLoadedProgram);
  CHECK(records[0].pytorch_code.empty());
  CHECK(records[1].id == "s:u7");
  CHECK(records[1].answer.reasoning == "Short.");
  CHECK(records[1].answer.program == kLoadedProgram);
  CHECK(records[1].pytorch_code == kCode);
  CHECK(records[1].figures.at("published_speedup") == 2.0);
  CHECK(source["form"] == "messages");
  CHECK(source["broken"] == 1);
}

}  // namespace
}  // namespace bicrl::curation
