#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>
#include <nlohmann/json.hpp>

#include "common/files/files.h"
#include "common/files/gzip.h"
#include "curation/form.h"
#include "curation/turns.h"
#include "tests/curation/fake_services.h"
#include "tests/curation/pipelines.h"
#include "tests/support/support.h"

namespace bicrl::curation {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using Json = nlohmann::ordered_json;
using testing::TemporaryFolder;

const std::string kModule =
    "import torch\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x + 1\n\n"
    "def get_inputs():\n    return [torch.rand(4)]\n\ndef get_init_inputs():\n    return []\n";
const std::string kProgram = "kernel = \"\"\"__global__ void f() {}\"\"\"\nclass ModelNew: pass\n";

// One entry of each published form that is JSON, with all its fields (names as published).
std::vector<std::pair<std::string, Json>> published_entries() {
  return {
      {"infilling",
       {{"id", 74},
        {"pytorch_code", kModule},
        {"cuda_code", "a\nb\nc\n"},
        {"prefix", "a\n"},
        {"middle", "b\n"},
        {"suffix", "c\n"}}},
      {"end_to_end",
       {{"idx", 3}, {"level", 2}, {"pytorch_code", kModule}, {"raw_answer", "2"}, {"cuda_code", ""}}},
      {"kernelbench", {{"level", 1}, {"problem_id", 19}, {"name", "19_ReLU"}, {"code", kModule}}},
      {"cuda_l1",
       {{"level_id", 1},
        {"task_id", 19},
        {"ref_code", kModule},
        {"custom_code", kProgram},
        {"cuda_graph_code", nullptr},
        {"score_default", 1.5},
        {"score_torch_compile_default", 1.25},
        {"score_torch_compile_reduce_overhead", nullptr},
        {"score_cuda_graph", 0.5}}},
      {"verl",
       {{"data_source", "d"},
        {"prompt", {{{"role", "user"}, {"content", "Write it."}}}},
        {"ability", "kernel"},
        {"reward_model", {{"ground_truth", kModule}, {"style", "rule"}}},
        {"extra_info",
         {{"entry_point", "Model"},
          {"level", 2},
          {"module_name", "m"},
          {"ops", "add"},
          {"original_prompt", ""},
          {"repo_name", "r"},
          {"type", "t"},
          {"uuid", "u"}}}}},
      {"messages",
       {{"messages",
         {{{"role", "user"}, {"content", "Write it."}},
          {{"role", "assistant"},
           {"content", "<think>\nShort.\n</think>\n\n```python\n" + kProgram + "```"}}}},
        {"uuid", "u"},
        {"entry_point", "Model"},
        {"repo_name", "r"},
        {"module_name", "m"},
        {"final_speedup", 2.0},
        {"num_rounds", 3},
        {"original_python_code", kModule},
        {"best_round", 1},
        {"timestamp", "t"},
        {"conversion_mode", "c"},
        {"enable_thinking", true}}},
      {"pairs", {{"prompt", "Write it."}, {"response", "```python\n" + kProgram + "```"}}},
  };
}

TEST_CASE("published entries are recognised by their fields and keep what they say") {
  for (const auto& [name, entry] : published_entries()) {
    INFO(name);
    CHECK(detect_form(entry, "file") == name);
    const Record record = form_named(name).read(entry);
    if (name != "pairs") CHECK_THAT(record.pytorch_code, ContainsSubstring("return x + 1"));
    if (name == "messages" || name == "pairs" || name == "cuda_l1") CHECK(record.answer.program == kProgram);
    if (name == "messages") CHECK(record.answer.reasoning == "Short.");
    if (name == "cuda_l1") CHECK(record.figures.at("published_speedup") == 1.5);
  }
}

TEST_CASE("published entry that is written and read again says the same") {
  for (const auto& [name, entry] : published_entries()) {
    INFO(name);
    const Form& form = form_named(name);
    Record record = form.read(entry);
    record.id = record.task_id.empty() ? "74" : record.task_id;
    const Json written = form.write(record, {});
    for (const std::string& field : form.fields()) {
      INFO(field);
      CHECK(written.contains(field));
    }
    Record again = form.read(written);
    again.id = record.id;
    CHECK(again.pytorch_code == record.pytorch_code);
    CHECK(again.answer.program == record.answer.program);
    CHECK(turns_to_json(again.answer.messages) == turns_to_json(record.answer.messages));
    CHECK(again.answer.reasoning == record.answer.reasoning);
    CHECK(again.level == record.level);
  }
}

Answer answer_of(const std::string& response) {
  Answer answer;
  read_response(response, answer);
  return answer;
}

TEST_CASE("response whose reasoning does not end has no program") {
  const std::string code = "```python\n" + kProgram + "```";
  CHECK(answer_of("<think>\nFirst try:\n" + code).program.empty());
  CHECK(answer_of("<think>\nFirst try:\n" + code).reasoning == "First try:\n" + code);
  CHECK(answer_of("so it is</think>" + code).reasoning == "so it is");
  CHECK(answer_of("so it is</think>" + code).program == kProgram);
  CHECK(answer_of(code).program == kProgram);
  CHECK(answer_of(code).reasoning.empty());
}

TEST_CASE("loaded conversations are written without their reasoning where that is asked for") {
  const std::string code = "```python\n" + kProgram + "```";
  WritingOptions without, other;
  without.reasoning_opening = without.reasoning_closing = "";
  other.reasoning_opening = "[";
  other.reasoning_closing = "]";
  const Json pair = {{"prompt", "Write it."}, {"response", "<think>\nShort.\n</think>\n\n" + code}};
  const Json messages = {{"messages",
                          {{{"role", "user"}, {"content", "Write it."}},
                           {{"role", "assistant"}, {"content", pair["response"]}}}}};
  const auto written = [](const char* form, const Json& entry, const WritingOptions& options) {
    Record record = form_named(form).read(entry);
    record.id = "a";
    const Json out = form_named(form).write(record, options);
    return out.contains("response") ? out["response"] : out["messages"][1]["content"];
  };
  for (const auto& [form, entry] : {std::pair("pairs", pair), {"messages", messages}}) {
    INFO(form);
    CHECK(written(form, entry, {}) == pair["response"]);
    CHECK(written(form, entry, without) == code);
    CHECK(written(form, entry, other) == "[Short.]" + code);
  }
  const Json open = {{"prompt", "Write it."}, {"response", "<think>\nShort.\n" + code}};
  CHECK_THROWS_AS(written("pairs", open, without), InputError);
}

TEST_CASE("reduced sizes by hand are read and written with every form of task") {
  const Json sizes = {{{"rows", 5}, {"columns", 7}}, {{"rows", 9}}};
  for (auto [name, entry] : published_entries()) {
    if (name != "infilling" && name != "end_to_end" && name != "kernelbench") continue;
    INFO(name);
    entry["reduced_sizes"] = sizes;
    Record record = form_named(name).read(entry);
    record.id = "74";
    CHECK(nlohmann::json(form_named(name).write(record, {})["reduced_sizes"]) == nlohmann::json(sizes));
    record.reduced_sizes.clear();
    CHECK_FALSE(form_named(name).write(record, {}).contains("reduced_sizes"));
  }
}

TEST_CASE("prompts of a task whose code has changed show the new code") {
  const std::string code = "```python\n" + kProgram + "```", larger = kModule + "# larger\n";
  const Json pair = {{"prompt", "Rewrite:\n" + kModule}, {"response", code}, {"pytorch_code", kModule}};
  const Json verl = published_entries()[4].second;
  for (const auto& [form, entry] : {std::pair("pairs", pair), {"verl", verl}}) {
    INFO(form);
    Record record = form_named(form).read(entry);
    record.id = "a";
    record.change_code(larger);
    CHECK_THAT(form_named(form).write(record, {})["prompt"].dump(), ContainsSubstring("# larger"));
  }
  Record record = form_named("verl").read(verl);
  record.id = "a";
  record.change_code(larger);
  CHECK(form_named("verl").write(record, {})["reward_model"]["ground_truth"] == larger);
}

TEST_CASE("figures that are not finite make an entry broken") {
  for (const char* text : {"nan", "inf", "-inf", "1e999"}) {
    const nlohmann::json entry = {{"x", text}};
    CHECK_THROWS_MATCHES(number_of(entry, "x"), InputError, MessageMatches(ContainsSubstring("'x'")));
  }
  CHECK_THROWS_AS(number_of({{"x", std::numeric_limits<double>::infinity()}}, "x"), InputError);
  CHECK(number_of({{"x", "2.5"}}, "x") == 2.5);
}

TEST_CASE("form refuses an entry without its field and names it") {
  CHECK_THROWS_MATCHES(form_named("pairs").read({{"prompt", "p"}}), InputError,
                       MessageMatches(ContainsSubstring("'response'")));
  CHECK_THROWS_MATCHES(form_named("pairs").read({{"prompt", 3}, {"response", ""}}), InputError,
                       MessageMatches(ContainsSubstring("'prompt'")));
  CHECK_THROWS_MATCHES(detect_form({{"uuid", "u"}, {"problem_name", "p"}}, "x.json"), InputError,
                       MessageMatches(ContainsSubstring("nearest is concur")));
}

TEST_CASE("label that must be a number and is none is named when it is written") {
  Record record;
  record.id = "a";
  record.name = "n";
  record.pytorch_code = kModule;
  for (const char* text : {"x", "7x", "99999999999999999999"}) {
    record.labels["problem_id"] = text;
    CHECK_THROWS_MATCHES(form_named("kernelbench").write(record, {}), InputError,
                         MessageMatches(ContainsSubstring("'problem_id' must be an integer")));
  }
  record.labels["problem_id"] = "7";
  CHECK_NOTHROW(form_named("kernelbench").write(record, {}));
}

TEST_CASE("entry without a field or with a field of another type is read or refused") {
  auto entries = published_entries();
  entries.push_back({"cuda_agent", {{"ops", "[]"}, {"data_source", "d"}, {"code", kModule}}});
  entries.push_back({"episodes",
                     {{"task", "t"},
                      {"sample", 0},
                      {"phase", "end_to_end"},
                      {"step", 1},
                      {"text", ""},
                      {"verdict", nullptr},
                      {"reward", 0}}});
  const auto read_or_refuse = [](const std::string& form, const Json& entry) {
    try {
      form_named(form).read(entry);
    } catch (const InputError&) {
    }
  };
  for (const auto& [name, entry] : entries)
    for (const auto& [field, value] : entry.items()) {
      INFO(name << " " << field);
      Json lacking = entry, other = entry;
      lacking.erase(field);
      other[field] = 7;
      CHECK_NOTHROW(read_or_refuse(name, lacking));
      CHECK_NOTHROW(read_or_refuse(name, other));
    }
  CHECK_THROWS_MATCHES(form_named("messages").read({{"uuid", "u"}}), InputError,
                       MessageMatches(ContainsSubstring("'messages' is missing")));
}

std::string loads(const fs::path& folder, const std::string& file, const std::string& more = "") {
  return concat("curation: {directory: ", (folder / "run").string(), "}\nsteps:\n  - {step: load, files: [",
                (folder / file).string(), "], source: s}\n", more);
}

std::vector<Record> loaded(const fs::path& folder, const std::string& file) {
  FakeServices services;
  fs::remove_all(folder / "run");
  run_pipeline(loads(folder, file), services);
  std::vector<Record> records;
  for (const std::string& line : lines_of(folder / "run/records/01-load.jsonl"))
    records.push_back(record_from_line(line));
  return records;
}

TEST_CASE("Arrow and Parquet tables of the published forms are read by Arrow's library") {
  const TemporaryFolder folder;
  testing::run_python(bicrl::testing::source_path("tests/curation/make_tables.py"), {folder.path().string()});
  for (const char* file : {"data-00000-of-00001.arrow", "as_file.arrow"}) {
    const auto concur = loaded(folder.path(), file);
    REQUIRE(concur.size() == 3);
    CHECK(concur[0].figures.at("published_speedup") == 2.5);
    CHECK_FALSE(concur[1].figures.contains("published_speedup"));
    CHECK(concur[1].answer.reasoning == "Ünïcode ≥ ASCII");
    CHECK(concur[0].provenance.licence == "none stated");
  }
  const auto agent = loaded(folder.path(), "data.parquet");
  REQUIRE(agent.size() == 2);
  CHECK(agent[0].operators == std::vector<std::string>{"nn.Conv2d", "torch.relu"});
  CHECK(agent[1].operators == std::vector<std::string>{"nn.Linear"});
  CHECK(agent[0].provenance.licence == "CC-BY-4.0");
  const auto book = loaded(folder.path(), "kernelbook.parquet");
  REQUIRE(book.size() == 1);
  CHECK_THAT(book[0].pytorch_code, ContainsSubstring("class Model(Gate)"));
  CHECK(book[0].provenance.licence == "MIT");
  CHECK(loaded(folder.path(), "verl.parquet").at(0).level == 1);
}

TEST_CASE("responses of a policy and of a run are loaded with the code of their tasks") {
  const TemporaryFolder folder;
  const auto in = [&](const char* name) { return folder.path() / name; };
  write_file_atomically(in("tasks.json"),
                        Json({{{"idx", "t1"}, {"level", 2}, {"pytorch_code", kModule}}}).dump());
  Json response = {{"task_id", "t1"},     {"sample", 0},        {"finish", "end_token"}, {"text", kProgram},
                   {"program", kProgram}, {"prompt_tokens", 9}, {"tokens", {1, 2, 3}}};
  std::string lines = response.dump() + "\n";
  response["sample"] = 1;
  lines += response.dump() + "\n";
  response["task_id"] = "gone";
  lines += response.dump() + "\n";
  write_file_atomically(in("responses.jsonl"), lines);
  Verdict verdict;
  verdict.outcome = Outcome::kGraded;
  verdict.correct = verdict.compiled = true;
  verdict.eager_ms = 3;
  verdict.candidate_ms = 1;
  Json episode = {{"task", "t1"},
                  {"sample", 0},
                  {"group", 0},
                  {"phase", "end_to_end"},
                  {"step", 4},
                  {"reward", 0.5},
                  {"text", "```python\n" + kProgram + "```"},
                  {"verdict", to_json(verdict)}};
  lines = episode.dump() + "\n";
  episode["phase"] = "infilling";
  lines += episode.dump() + "\n";
  write_file_atomically(in("texts.jsonl.gz"), gzip(lines));
  const auto load = [&](const char* file) {
    FakeServices services;
    fs::remove_all(in("run"));
    run_pipeline(concat("curation: {directory: ", in("run").string(), "}\nsteps:\n  - {step: load, files: [",
                        in(file).string(), "], tasks: [", in("tasks.json").string(), "], source: s}\n"),
                 services);
    std::vector<Record> records;
    for (const std::string& line : lines_of(in("run/records/01-load.jsonl")))
      records.push_back(record_from_line(line));
    return records;
  };
  const auto responses = load("responses.jsonl");
  REQUIRE(responses.size() == 2);
  CHECK_THAT(lines_of(in("run/audit/01-load.jsonl")).at(0), ContainsSubstring("no task 'gone'"));
  CHECK(responses[1].task_id == "s:t1");
  CHECK(responses[1].id != responses[0].id);
  CHECK(responses[1].pytorch_code == kModule);
  CHECK(responses[1].answer.program == kProgram);
  CHECK(responses[1].figures.at("response_tokens") == 3);
  const auto episodes = load("texts.jsonl.gz");
  REQUIRE(episodes.size() == 1);
  CHECK(episodes[0].provenance.form == "episodes");
  CHECK(episodes[0].pytorch_code == kModule);
  CHECK(episodes[0].answer.program == kProgram);
  CHECK(value_of(episodes[0], "speedup") == RecordValue(3.0));
  CHECK_THAT(lines_of(in("run/audit/01-load.jsonl")).at(0), ContainsSubstring("no whole programs"));
  write_file_atomically(in("texts.jsonl.gz"), gzip(lines).substr(0, 60));
  CHECK_THROWS_MATCHES(load("texts.jsonl.gz"), InputError, MessageMatches(ContainsSubstring("cut off")));
}

TEST_CASE("tables of other columns and tables that are cut off are refused as a whole") {
  const TemporaryFolder folder;
  testing::run_python(bicrl::testing::source_path("tests/curation/make_tables.py"), {folder.path().string()});
  CHECK_THROWS_MATCHES(loaded(folder.path(), "other_columns.parquet"), InputError,
                       MessageMatches(ContainsSubstring("surprise")));
  CHECK_THROWS_MATCHES(loaded(folder.path(), "cut_off.parquet"), InputError,
                       MessageMatches(ContainsSubstring("is no such table")));
}

TEST_CASE("Parquet and Arrow tables that are written are read again") {
  const TemporaryFolder folder;
  testing::run_python(bicrl::testing::source_path("tests/curation/make_tables.py"), {folder.path().string()});
  FakeServices services;
  run_pipeline(loads(folder.path(), "data-00000-of-00001.arrow",
                     "  - {step: write, file: out.parquet, form: concur}\n  - {step: write, file: out.arrow, "
                     "form: concur}\n"),
               services);
  fs::copy(folder.path() / "run/out.parquet", folder.path() / "again.parquet");
  fs::copy(folder.path() / "run/out.arrow", folder.path() / "again.arrow");
  for (const char* file : {"again.parquet", "again.arrow"}) {
    const auto again = loaded(folder.path(), file);
    REQUIRE(again.size() == 3);
    CHECK(again[0].answer.program == "class ModelNew: pass  # 1");
    CHECK(again[0].figures.at("published_speedup") == 2.5);
  }
}

}  // namespace
}  // namespace bicrl::curation
