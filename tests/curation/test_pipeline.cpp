#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "common/files/files.h"
#include "tests/curation/fake_services.h"
#include "tests/curation/pipelines.h"
#include "tests/support/support.h"

namespace bicrl::curation {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using testing::TemporaryFolder;

const std::string kAllSteps =
    "  - {step: check_tasks, refuse: [random]}\n"
    "  - {step: verify}\n"
    "  - {step: filter, conditions: [{value: level, at_least: 1}]}\n"
    "  - {step: write, file: out.jsonl, form: end_to_end}\n";

// Every fifth task is random; every answer is slow enough to be interrupted.
struct SlowServices : FakeServices {
  explicit SlowServices(int microseconds) {
    codes = FakeCodeReader([microseconds](const nlohmann::json& request) {
      usleep(static_cast<useconds_t>(microseconds));
      nlohmann::json defects = nlohmann::json::array();
      const std::string code = request.at("code");
      const int number = std::stoi(code.substr(7));
      if (number % 5 == 0) defects.push_back({{"kind", "random"}, {"message", "two runs differ"}});
      return nlohmann::json{{"defects", defects},
                            {"unchecked", nlohmann::json::array()},
                            {"fingerprints", {concat("f", number)}}};
    });
  }
};

TEST_CASE("reduced sizes by hand survive a pipeline and go to the verifier with their task") {
  const TemporaryFolder folder;
  const nlohmann::json sizes = {{{"rows", 5}}, {{"rows", 9}}};
  nlohmann::json tasks = nlohmann::json::array();
  for (const char* id : {"large", "small"})
    tasks.push_back({{"idx", id},
                     {"level", 1},
                     {"pytorch_code", module_named(concat("# ", id))},
                     {"cuda_code", concat("program of ", id)}});
  tasks[0]["reduced_sizes"] = sizes;
  const fs::path file = folder.path() / "tasks.json";
  write_file_atomically(file, tasks.dump());
  FakeServices services;
  std::map<std::string, std::string> asked;
  services.verdicts = FakeGrader([&](const VerificationRequest& request) {
    asked[request.task_id] = request.reduced_sizes;
    Verdict verdict;
    verdict.outcome = Outcome::kGraded;
    verdict.correct = verdict.compiled = true;
    return verdict;
  });
  std::vector<nlohmann::json> examined;
  services.codes = FakeCodeReader([&](const nlohmann::json& request) {
    examined.push_back(request.value("reduced_sizes", nlohmann::json()));
    return nlohmann::json{{"defects", nlohmann::json::array()},
                          {"unchecked", nlohmann::json::array()},
                          {"fingerprints", nlohmann::json::array()}};
  });
  const auto run = [&] {
    run_pipeline(concat("curation: {directory: ", (folder.path() / "run").string(),
                        "}\nsteps:\n  - {step: load, files: [", file.string(),
                        "], source: s}\n  - {step: check_tasks}\n  - {step: verify}\n"
                        "  - {step: write, file: out.json, form: end_to_end}\n"),
                 services);
  };
  run();
  CHECK(asked == std::map<std::string, std::string>{{"s:large", sizes.dump()}, {"s:small", ""}});
  CHECK(examined == std::vector<nlohmann::json>{sizes, nullptr});
  const auto written = nlohmann::json::parse(read_file(folder.path() / "run/out.json"));
  CHECK(written[0]["reduced_sizes"] == sizes);
  CHECK_FALSE(written[1].contains("reduced_sizes"));
  // Other sizes, another verdict.
  tasks[0]["reduced_sizes"] = {{{"rows", 6}}};
  write_file_atomically(file, tasks.dump());
  run();
  CHECK(asked["s:large"] == R"([{"rows":6}])");
}

TEST_CASE("pipeline steps pass on, drop with one decision each, and count") {
  const TemporaryFolder folder;
  write_tasks(folder.path() / "tasks.json", 30);
  SlowServices services(0);
  run_pipeline(pipeline_of(folder.path(), kAllSteps), services);
  const fs::path run = folder.path() / "run";
  const auto checked = lines_of(run / "records/02-check_tasks.jsonl"),
             dropped = lines_of(run / "audit/02-check_tasks.jsonl");
  CHECK(checked.size() == 24);
  REQUIRE(dropped.size() == 6);
  const auto decision = nlohmann::json::parse(dropped[1]);
  CHECK(decision["id"] == "toy:5");
  CHECK(decision["reason"] == "random");
  CHECK(decision["detail"] == "random: two runs differ");
  // 24 that are left, without those of level 0: 1, 2, 4, 7, 8, 11...
  CHECK(lines_of(run / "out.jsonl").size() == 16);
  const auto card = nlohmann::json::parse(read_file(run / "card.json"));
  CHECK(card["records"] == 16);
  CHECK(card["steps"][1]["dropped"]["random"] == 6);
  CHECK(card["steps"][3]["in"] == 24);
  CHECK(card["sources"][0]["entries"] == 30);
  CHECK(card["classes"]["level"] == nlohmann::json({{"1", 8}, {"2", 8}}));
  // Records keep their order although answers came in another.
  for (size_t i = 0; i + 1 < checked.size(); ++i)
    CHECK(nlohmann::json::parse(checked[i])["provenance"]["entry"] <
          nlohmann::json::parse(checked[i + 1])["provenance"]["entry"]);
}

// Runs the pipeline in a process of its own and kills that after so long; whether it was still at work.
bool run_and_kill(const std::string& yaml, useconds_t microseconds) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    try {
      SlowServices slow(300);
      run_pipeline(yaml, slow);
      _exit(0);
    } catch (...) {
      _exit(1);
    }
  }
  usleep(microseconds);
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFSIGNALED(status)) CHECK(WEXITSTATUS(status) == 0);
  return WIFSIGNALED(status);
}

TEST_CASE("pipeline killed at twenty random moments ends with the same bytes") {
  const TemporaryFolder folder;
  write_tasks(folder.path() / "tasks.json", 60);
  const std::string yaml = pipeline_of(folder.path(), kAllSteps);
  SlowServices quick(0);
  run_pipeline(yaml, quick);
  const auto whole = outputs_of(folder.path() / "run");
  std::mt19937 random(7);
  int killed = 0;
  for (int i = 0; i < 400 && killed < 20; ++i) {
    // Some are killed once and some again where they went on; the range covers start, every step and the
    // card.
    if (i % 3 != 0) fs::remove_all(folder.path() / "run");
    if (!run_and_kill(yaml, random() % 60000)) continue;
    ++killed;
    if (i % 3 == 1) continue;
    run_pipeline(yaml, quick);
    CHECK(outputs_of(folder.path() / "run") == whole);
  }
  CHECK(killed == 20);
}

TEST_CASE("pipeline that is resumed asks nothing twice") {
  const TemporaryFolder folder;
  write_tasks(folder.path() / "tasks.json", 40);
  SlowServices first(0);
  int asked = 0;
  first.stop = [&] { return ++asked > 60; };
  CHECK_THROWS_AS(run_pipeline(pipeline_of(folder.path(), kAllSteps), first), Interrupted);
  CHECK(first.codes.answered > 0);
  SlowServices second(0);
  run_pipeline(pipeline_of(folder.path(), kAllSteps), second);
  CHECK(first.codes.answered + second.codes.answered == 40);
  SlowServices third(0);
  run_pipeline(pipeline_of(folder.path(), kAllSteps), third);
  CHECK(third.codes.answered == 0);
}

TEST_CASE("pipeline whose later step has changed keeps the earlier ones") {
  const TemporaryFolder folder;
  write_tasks(folder.path() / "tasks.json", 12);
  FakeServices services;
  const std::string load = "  - {step: filter, conditions: [{value: level, at_least: 1}]}\n";
  run_pipeline(pipeline_of(folder.path(), load + "  - {step: write, file: a.json, form: end_to_end}\n"),
               services);
  const auto written = fs::last_write_time(folder.path() / "run/records/02-filter.jsonl");
  run_pipeline(pipeline_of(folder.path(), load + "  - {step: write, file: a.json, form: pairs}\n"), services);
  CHECK(fs::last_write_time(folder.path() / "run/records/02-filter.jsonl") == written);
  write_tasks(folder.path() / "tasks.json", 15);
  run_pipeline(pipeline_of(folder.path(), load + "  - {step: write, file: a.json, form: pairs}\n"), services);
  CHECK(lines_of(folder.path() / "run/records/02-filter.jsonl").size() == 10);
}

TEST_CASE("pipeline step runs alone on the output of the one before") {
  const TemporaryFolder folder;
  write_tasks(folder.path() / "tasks.json", 6);
  FakeServices services;
  const std::string yaml = pipeline_of(folder.path(), "  - {step: write, file: a.json, form: end_to_end}\n");
  CHECK_THROWS_MATCHES(run_pipeline(yaml, services, "write"), InputError,
                       MessageMatches(ContainsSubstring("takes the output of step 1")));
  run_pipeline(yaml, services, "load");
  CHECK_FALSE(fs::exists(folder.path() / "run/a.json"));
  run_pipeline(yaml, services, "2");
  CHECK(nlohmann::json::parse(read_file(folder.path() / "run/a.json")).size() == 6);
  CHECK_THROWS_MATCHES(run_pipeline(yaml, services, "wirte"), InputError,
                       MessageMatches(ContainsSubstring("did you mean write?")));
}

TEST_CASE("result of a step that is taken alone is a file that is there") {
  const TemporaryFolder folder;
  write_tasks(folder.path() / "tasks.json", 3);
  FakeServices services;
  const auto result = [&](const std::string& only) {
    const ConfigDocument document = ConfigDocument::from_text(
        pipeline_of(folder.path(), "  - {step: write, file: a.json, form: end_to_end}\n"), "test.yaml");
    Pipeline pipeline(document.root(), "", services);
    pipeline.run(document.resolved_yaml(), only);
    CHECK(fs::exists(pipeline.result()));
    return fs::relative(pipeline.result(), pipeline.directory()).string();
  };
  CHECK(result("") == "card.md");
  CHECK(result("1") == "records/01-load.jsonl");
  CHECK(result("2") == "card.md");
}

// A task with the program "pNUMBER".
nlohmann::json known_pair(int number) {
  return {{"id", number},
          {"pytorch_code", module_named(concat("# ", number))},
          {"cuda_code", concat("p", number)},
          {"prefix", ""},
          {"middle", concat("p", number)},
          {"suffix", ""}};
}

TEST_CASE("verifier without a verdict stops the pipeline, which goes on there") {
  const TemporaryFolder folder;
  nlohmann::json pairs = nlohmann::json::array();
  for (int i = 0; i < 9; ++i) pairs.push_back(known_pair(i));
  write_file_atomically(folder.path() / "tasks.json", pairs.dump());
  FakeServices services;
  services.verdicts = FakeGrader([&](const VerificationRequest& request) {
    Verdict verdict;
    verdict.outcome = request.program == "p3" ? Outcome::kInfrastructure : Outcome::kGraded;
    verdict.correct = verdict.compiled = verdict.outcome == Outcome::kGraded;
    verdict.diagnostics = "the server is gone";
    return verdict;
  });
  const std::string yaml = pipeline_of(folder.path(), "  - {step: verify}\n");
  CHECK_THROWS_MATCHES(run_pipeline(yaml, services), Error,
                       MessageMatches(ContainsSubstring("the server is gone")));
  FakeServices later;
  run_pipeline(yaml, later);
  CHECK(later.verdicts.answered < 9);
  const auto records = lines_of(folder.path() / "run/records/02-verify.jsonl");
  REQUIRE(records.size() == 9);
  const auto record = nlohmann::json::parse(records[3]);
  CHECK(record["verdict"]["correct"] == true);
  CHECK(record["provenance"]["verifier"] == "fake verifier");
}

TEST_CASE("synthesised tasks come with as many programs as asked for, or none") {
  const TemporaryFolder folder;
  FakeServices services;
  for (const int programs : {0, 1, 2}) {
    const fs::path run = folder.path() / std::to_string(programs);
    run_pipeline(concat("curation: {directory: ", run.string(),
                        "}\nsteps:\n  - {step: synthesise, programs: ", programs,
                        ", tasks: {train_compositions: 3, development_compositions: 0}}\n"),
                 services);
    std::map<std::string, int> answers;
    for (const std::string& line : lines_of(run / "records/01-synthesise.jsonl")) {
      const auto record = nlohmann::json::parse(line);
      answers[record["task_id"]] += record.contains("answer");
    }
    CHECK(answers.size() == 3);
    for (const auto& [task, count] : answers) CHECK(count == programs);
  }
}

TEST_CASE(
    "other limits of the embedded verifier ask for verdicts again, another number of workers does not") {
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "tasks.json", nlohmann::json::array({known_pair(0)}).dump());
  FakeServices services;
  const auto asked = [&](const std::string& server) {
    const int before = services.verdicts.answered;
    const ConfigDocument document = ConfigDocument::from_text(
        concat(pipeline_of(folder.path(), "  - {step: verify}\n"), "verifier: {server: ", server, "}\n"),
        "test.yaml");
    const ConfigSection section = document.root().section("verifier").section("server");
    section.integer("workers", 1);
    section.section("limits").integer("run_lane_operations", 1 << 20);
    Pipeline(document.root(), "", services).run(document.resolved_yaml());
    return services.verdicts.answered > before;
  };
  CHECK(asked("{}"));
  CHECK_FALSE(asked("{workers: 2}"));
  CHECK(asked("{limits: {run_lane_operations: 65536}}"));
  CHECK_FALSE(asked("{}"));  // the ledger has it
}

TEST_CASE("steps are taken again after the verifier or the boxes have changed, and the card names versions") {
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "tasks.json", nlohmann::json::array({known_pair(0)}).dump());
  FakeServices services;
  const auto asked = [&] {
    const std::pair before(services.codes.answered, services.verdicts.answered);
    run_pipeline(
        pipeline_of(folder.path(), "  - {step: verify}\n  - {step: check_tasks}\n  - {step: verify}\n"),
        services);
    return std::pair(services.codes.answered - before.first, services.verdicts.answered - before.second);
  };
  CHECK(asked() == std::pair(1, 1));
  services.codes.version = "other boxes";
  CHECK(asked() == std::pair(1, 0));
  services.verdicts.version = "other verifier";
  CHECK(asked() == std::pair(0, 1));
  CHECK(asked() == std::pair(0, 0));
  const auto card = nlohmann::json::parse(read_file(folder.path() / "run/card.json"));
  for (const char* step : {"2 verify", "4 verify"})
    CHECK(card["versions"][step]["verifier"] == "other verifier");
}

TEST_CASE("data card counts classes and prints no texts and no ids") {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 30; ++i) {
    Record record;
    record.id = record.task_id = concat("t", i);
    record.pytorch_code = module_named("#");
    record.labels = {{"kind", i % 2 == 0 ? "even" : "odd"},
                     {"number", std::to_string(i)},
                     {"code", i == 29 ? "def f():\n  pass" : "none"},
                     {"note", i == 29 ? std::string(201, 'x') : "none"}};
    lines += to_line(record) + "\n";
  }
  write_file_atomically(folder.path() / "tasks.json", lines);
  FakeServices services;
  run_pipeline(pipeline_of(folder.path(), ""), services);
  const auto classes = nlohmann::json::parse(read_file(folder.path() / "run/card.json"))["classes"];
  CHECK(classes["kind"] == nlohmann::json({{"even", 15}, {"odd", 15}}));
  for (const char* name : {"number", "code", "note"}) CHECK_FALSE(classes.contains(name));
}

TEST_CASE("two processes do not run one pipeline") {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "run");
  write_tasks(folder.path() / "tasks.json", 2);
  const Ledger held(folder.path() / "run/ledger.jsonl");
  FakeServices services;
  CHECK_THROWS_MATCHES(run_pipeline(pipeline_of(folder.path(), ""), services), InputError,
                       MessageMatches(ContainsSubstring("in use")));
}

TEST_CASE("pipeline without room on the disk ends with an error and goes on later") {
  const TemporaryFolder folder;
  write_tasks(folder.path() / "tasks.json", 60);
  const std::string yaml = pipeline_of(folder.path(), kAllSteps);
  SlowServices services(0);
  run_pipeline(yaml, services);
  const auto whole = outputs_of(folder.path() / "run");
  fs::remove_all(folder.path() / "run");
  for (const rlim_t most_bytes : {500, 5000, 12000}) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{most_bytes, most_bytes};
      setrlimit(RLIMIT_FSIZE, &limit);
      SlowServices own(0);
      try {
        run_pipeline(yaml, own);
        _exit(0);
      } catch (const Error& error) {
        _exit(std::string(error.what()).find("File too large") != std::string::npos ? 3 : 4);
      }
    }
    int status = 0;
    waitpid(child, &status, 0);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 3);
  }
  run_pipeline(yaml, services);
  CHECK(outputs_of(folder.path() / "run") == whole);
}

}  // namespace
}  // namespace bicrl::curation
