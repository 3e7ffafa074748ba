// Step load: records of data files.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "common/files/files.h"
#include "curation/form.h"
#include "tests/curation/fake_services.h"
#include "tests/curation/pipelines.h"
#include "tests/support/support.h"

namespace bicrl::curation {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using testing::TemporaryFolder;

TEST_CASE("broken entry among good ones leaves a decision, not the run") {
  const TemporaryFolder folder;
  const auto entry = [](int idx, const nlohmann::json& level) {
    return nlohmann::json({{"idx", idx}, {"level", level}, {"pytorch_code", module_named("#")}}).dump();
  };
  std::ofstream(folder.path() / "tasks.json") << entry(1, 1) << "\n{\"idx\": 2, \n"
                                              << entry(3, "x") << "\n"
                                              << entry(4, 1) << "\n";
  FakeServices services;
  run_pipeline(pipeline_of(folder.path(), ""), services);
  CHECK(lines_of(folder.path() / "run/records/01-load.jsonl").size() == 2);
  const auto audit = lines_of(folder.path() / "run/audit/01-load.jsonl");
  REQUIRE(audit.size() == 2);
  CHECK_THAT(audit[0], ContainsSubstring("toy entry 2"));
  CHECK_THAT(audit[1], ContainsSubstring("level"));
}

TEST_CASE("broken entries at a file's beginning leave decisions, up to a hundred of them") {
  const TemporaryFolder folder;
  const auto load = [&](int broken, bool has_good) {
    std::ofstream file(folder.path() / "tasks.json");
    for (int i = 0; i < broken; ++i) file << "{\"foo\": 1}\n";
    const nlohmann::json good = {{"idx", 7}, {"level", 1}, {"pytorch_code", module_named("#")}};
    if (has_good) file << good.dump() << "\n" << good.dump() << "\n";
    file.close();
    fs::remove_all(folder.path() / "run");
    FakeServices services;
    run_pipeline(pipeline_of(folder.path(), ""), services);
    CHECK(lines_of(folder.path() / "run/audit/01-load.jsonl").size() == static_cast<size_t>(broken));
    return lines_of(folder.path() / "run/records/01-load.jsonl").size();
  };
  CHECK(load(1, true) == 2);
  CHECK_THAT(lines_of(folder.path() / "run/audit/01-load.jsonl")[0],
             ContainsSubstring("toy entry 1") && ContainsSubstring("is missing"));
  CHECK(load(99, true) == 2);
  for (const auto& [broken, has_good] : {std::pair(100, true), {3, false}})
    CHECK_THROWS_MATCHES(load(broken, has_good), InputError,
                         MessageMatches(ContainsSubstring("its fields (foo) are those of no known form") &&
                                        ContainsSubstring("the key 'form'")));
}

TEST_CASE("further programs of a task entry are loaded as records of their own") {
  const TemporaryFolder folder;
  const nlohmann::json entry = {
      {"id", "sum"},
      {"pytorch_code", module_named("#")},
      {"cuda_code", "a\nb\nc\n"},
      {"prefix", "a\n"},
      {"middle", "b\n"},
      {"suffix", "c\n"},
      {"alternatives",
       {{{"technique", "kernels=1"}, {"cuda_code", "d\n"}}, {{"cuda_code", "e\n"}, {"technique", "warp"}}}}};
  std::ofstream(folder.path() / "tasks.json") << nlohmann::json::array({entry});
  FakeServices services;
  run_pipeline(pipeline_of(folder.path(), ""), services);
  std::vector<Record> records;
  for (const std::string& line : lines_of(folder.path() / "run/records/01-load.jsonl"))
    records.push_back(record_from_line(line));
  REQUIRE(records.size() == 3);
  CHECK(records[0].answer.program == "a\nb\nc\n");
  CHECK(records[1].answer.program == "d\n");
  CHECK_FALSE(records[1].answer.has_scaffold());
  CHECK(records[2].labels.at("technique") == "warp");
  for (const Record& record : records) {
    CHECK(record.task_id == "toy:sum");
    CHECK(record.parent == (&record == records.data() ? "" : records[0].id));
    CHECK(record.pytorch_code == records[0].pytorch_code);
  }
}

TEST_CASE("module of KernelBook becomes a task of its entry point with its arguments") {
  const Form& form = form_named("kernelbook");
  const auto read = [&](const std::string& entry_point, const std::string& code) {
    Record record = form.read({{"entry_point", entry_point},
                               {"python_code", code},
                               {"triton_code", ""},
                               {"repo_name", ""},
                               {"module_name", ""}});
    record.id = "a";
    return record;
  };
  const auto module = [](const std::string& name, const std::string& arguments) {
    return concat("import torch\nclass ", name, "(torch.nn.Module): pass\ndef get_inputs(): return []\n",
                  "def get_init_inputs():\n    return ", arguments, "\n");
  };
  CHECK(read("Model", module("Model", "[[], {'n':\n        4, 'm': '['}]")).pytorch_code ==
        module("Model", "{'n':\n        4, 'm': '['}"));
  CHECK(read("Model", module("Model", "[[4, [2]], {}]")).pytorch_code == module("Model", "[4, [2]]"));
  for (const char* arguments : {"[]", "[[4], [2], {}]", "[[4, 2]]", "[4, {'n': 4}]"})
    CHECK(read("Model", module("Model", arguments)).pytorch_code == module("Model", arguments));
  CHECK_THROWS_AS(read("Model", module("Model", "[[4], {'n': 4}]")), InputError);
  CHECK_THROWS_AS(read("Net", module("Model", "[]") + "class Net(torch.nn.Module): pass\n"), InputError);
  // A task that was made of a module, and whose code has changed, is read again as it is.
  Record wrapped = read("Net", module("Net", "[[4], {'n': 4}]"));
  CHECK_THAT(wrapped.pytorch_code, ContainsSubstring("class Model(Net):"));
  wrapped.change_code(wrapped.pytorch_code + "# larger\n");
  const nlohmann::json written = form.write(wrapped, {});
  CHECK(form.read(written).pytorch_code == wrapped.pytorch_code);
}

TEST_CASE("tables keep fields that the first of their records lacks") {
  const TemporaryFolder folder;
  FakeServices services;
  const auto lines = [&](const std::string& steps) {
    fs::remove_all(folder.path() / "run");
    run_pipeline(concat("curation: {directory: ", (folder.path() / "run").string(), "}\nsteps:\n", steps),
                 services);
    return lines_of(folder.path() / "run/records/01-load.jsonl");
  };
  const auto load = [&](const std::string& file) {
    return concat("  - {step: load, source: s, files: [", (folder.path() / file).string(), "]}\n");
  };
  const std::string code = module_named("#"), program = "class ModelNew: pass";
  write_file_atomically(
      folder.path() / "in.jsonl",
      nlohmann::json({{"prompt", "p"}, {"response", program}}).dump() + "\n" +
          nlohmann::json({{"prompt", "q"}, {"response", program}, {"pytorch_code", code}}).dump() + "\n");
  const auto loaded = lines(load("in.jsonl") + "  - {step: write, file: ../pairs.parquet, form: pairs}\n");
  REQUIRE(loaded.size() == 2);
  const auto pairs = lines(load("pairs.parquet") + "  - {step: verify}\n" +
                           "  - {step: write, file: ../records.arrow, form: records}\n");
  REQUIRE(pairs.size() == 2);
  CHECK(record_from_line(pairs[0]).pytorch_code.empty());
  CHECK(record_from_line(pairs[1]).pytorch_code == code);
  const auto verified = lines_of(folder.path() / "run/records/02-verify.jsonl");
  const auto records = lines(load("records.arrow"));
  REQUIRE(records.size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    Record before = record_from_line(verified[i]), after = record_from_line(records[i]);
    after.provenance = before.provenance;
    CHECK(to_line(after) == to_line(before));
    CHECK(after.verdict.has_value() == (i == 1));
  }
}

TEST_CASE("load reads other files where none of the published ones is there") {
  const TemporaryFolder folder;
  write_tasks(folder.path() / "tasks.json", 4);
  write_tasks(folder.path() / "here.json", 7);
  const auto steps = [&](const std::string& files) {
    return concat("curation: {directory: ", (folder.path() / "run").string(),
                  "}\nsteps:\n  - {step: load, files: [", files, "], otherwise: [",
                  (folder.path() / "tasks.json").string(), "]}\n");
  };
  FakeServices services;
  run_pipeline(steps((folder.path() / "gone.json").string()), services);
  CHECK(lines_of(folder.path() / "run/records/01-load.jsonl").size() == 4);
  for (const char* card : {"run/card.json", "run/card.md"})
    CHECK_THAT(
        read_file(folder.path() / card),
        ContainsSubstring(concat((folder.path() / "gone.json").string(),
                                 " is not here; read instead: ", (folder.path() / "tasks.json").string())));
  run_pipeline(steps((folder.path() / "here.json").string()), services);
  CHECK(lines_of(folder.path() / "run/records/01-load.jsonl").size() == 7);
}

TEST_CASE("entries of several files have ids of their own, and those of one task share it") {
  const TemporaryFolder folder;
  const auto in = [&](const std::string& name) { return (folder.path() / name).string(); };
  const auto load = [&](const std::string& files, const std::string& more) {
    FakeServices services;
    fs::remove_all(folder.path() / "run");
    run_pipeline(concat("curation: {directory: ", in("run"),
                        "}\nsteps:\n  - {step: load, source: s, files: ", files, more, "}\n"),
                 services);
    CHECK(lines_of(folder.path() / "run/audit/01-load.jsonl").empty());
    std::map<std::string, int> tasks;
    for (const std::string& line : lines_of(folder.path() / "run/records/01-load.jsonl"))
      ++tasks[record_from_line(line).task_id];
    return tasks;
  };
  std::string pairs, answers;
  for (int file = 0; file < 3; ++file) {
    std::string lines;
    for (int i = 0; i < 2; ++i)
      lines += nlohmann::json({{"prompt", concat(file, i)}, {"response", "r"}}).dump() + "\n";
    write_file_atomically(in(concat("pairs", file)), lines);
    pairs += concat(file == 0 ? "[" : ", ", in(concat("pairs", file)));
  }
  CHECK(load(pairs + "]", "").size() == 6);
  write_tasks(in("tasks.json"), 2);
  for (int file = 0; file < 2; ++file) {
    std::string lines;
    for (int i = 0; i < 6; ++i)
      lines += nlohmann::json({{"task_id", std::to_string(i % 2)},
                               {"sample", i / 2},
                               {"text", "t"},
                               {"program", "p"},
                               {"finish", "end_token"},
                               {"tokens", {1}}})
                   .dump() +
               "\n";
    write_file_atomically(in(concat("answers", file)), lines);
    answers += concat(file == 0 ? "[" : ", ", in(concat("answers", file)));
  }
  CHECK(load(answers + "]", concat(", tasks: [", in("tasks.json"), "]")) ==
        std::map<std::string, int>{{"s:0", 6}, {"s:1", 6}});
}

TEST_CASE("records of another pipeline keep where that one had them from") {
  const TemporaryFolder folder;
  write_tasks(folder.path() / "tasks.json", 1);
  FakeServices services;
  std::string file = (folder.path() / "tasks.json").string();
  for (const char* source : {"published", "second", "third"}) {
    const fs::path run = folder.path() / source;
    run_pipeline(concat("curation: {directory: ", run.string(),
                        "}\nsteps:\n  - {step: load, source: ", source, ", files: [", file, "]}\n"),
                 services);
    file = (run / "records/01-load.jsonl").string();
  }
  const Provenance found = record_from_line(lines_of(file).at(0)).provenance;
  CHECK(found.source == "third");
  CHECK(found.file == "01-load.jsonl");
  REQUIRE(found.earlier.size() == 2);
  CHECK(found.earlier[0].source == "published");
  CHECK(found.earlier[0].file == "tasks.json");
  CHECK(found.earlier[0].form == "end_to_end");
  CHECK(found.earlier[0].entry == 1);
  CHECK(found.earlier[1].source == "second");
  CHECK(found.earlier[1].form == "records");
}

TEST_CASE("answers that name no task share the one of the first with the same code") {
  const TemporaryFolder folder;
  const std::string one = module_named("# one"), two = module_named("# two"),
                    program = "class ModelNew: pass";
  const auto turns = [&](int i) {
    return nlohmann::json::array(
        {{{"role", "user"}, {"content", concat("q", i)}}, {{"role", "assistant"}, {"content", program}}});
  };
  std::map<std::string, std::string> lines;
  for (int i = 0; i < 5; ++i) {
    const std::string code = i % 2 == 0 ? one : two, uuid = concat("u", i);
    lines["pairs"] +=
        nlohmann::json({{"prompt", "p"}, {"response", program}, {"pytorch_code", code}}).dump() + "\n";
    lines["messages"] +=
        nlohmann::json({{"uuid", uuid}, {"messages", turns(i)}, {"original_python_code", code}}).dump() +
        "\n";
    lines["concur"] += nlohmann::json({{"uuid", uuid},
                                       {"problem_name", "n"},
                                       {"pytorch_code", code},
                                       {"generated_think", "t"},
                                       {"generated_code", program},
                                       {"speedup_over_eager", 1.5}})
                           .dump() +
                       "\n";
  }
  for (const auto& [form, text] : lines) {
    INFO(form);
    write_file_atomically(folder.path() / "in.jsonl", text);
    const fs::path run = folder.path() / form;
    FakeServices services;
    run_pipeline(
        concat("curation: {directory: ", run.string(), "}\nsteps:\n  - {step: load, source: s, files: [",
               (folder.path() / "in.jsonl").string(),
               "]}\n  - {step: select, best: [highest program_lines], keep: 3}\n"),
        services);
    std::map<std::string, int> tasks;
    for (const std::string& line : lines_of(run / "records/02-select.jsonl"))
      ++tasks[record_from_line(line).task_id];
    const bool is_numbered = form == "pairs";
    CHECK(tasks ==
          std::map<std::string, int>{{is_numbered ? "s:1" : "s:u0", 3}, {is_numbered ? "s:2" : "s:u1", 2}});
    CHECK(nlohmann::json::parse(read_file(run / "card.json"))["steps"][1]["groups"] == 2);
  }
}

}  // namespace
}  // namespace bicrl::curation
