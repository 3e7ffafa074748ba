// Step generate, with a script in place of `bicrl generate`.
#include <sys/stat.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/files/files.h"
#include "curation/form.h"
#include "curation/generation_process.h"
#include "curation/step.h"
#include "tests/curation/fake_services.h"
#include "tests/curation/pipelines.h"
#include "tests/curation/record_lists.h"
#include "tests/support/support.h"

namespace bicrl::curation {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using testing::TemporaryFolder;

// Answers as the program does, to tasks and to conversations, and writes down how often it was started.
constexpr const char* kScript = R"(
import json, sys
keys = dict(word.split("=", 1) for word in sys.argv[3:])
assert keys["least_prompts"] == "0"
open(sys.argv[2] + ".started", "a").write(".")
if keys.get("fail"):
    print("the policy does not fit into memory"); sys.exit(1)
with open(keys["output"], "w") as out:
    for line in open(keys.get("tasks") or keys["prompts"]):
        entry = json.loads(line)
        if "# too long" in line:
            continue  # as prompts that do not fit
        for sample in range(1 if "# cut off" in line else int(keys["samples_per_task"])):
            name = entry.get("idx") or entry["id"]
            program = f"class ModelNew: pass  # {name} {sample} seed {keys['seed']}"
            answer = {"sample": sample, "finish": "end_token", "tokens": [1, 2, 3]}
            if "idx" in entry:
                answer.update(task_id=name, text=f"```python\n{program}\n```", program=program)
            else:
                asked = entry["messages"][0]["content"]
                assert "class Model" in asked and "<|im_" not in asked
                text = f"<think>\nthink {sample}\n</think>\n\n```python\n{program}\n```" if sample == 0 else "no program"
                answer.update(id=name, text=text)
            print(json.dumps(answer), file=out)
)";

struct Scripted {
  TemporaryFolder folder;
  FakeServices services;
  Scripted() {
    std::ofstream(folder.path() / "generate") << "#!" << testing::test_python() << kScript;
    chmod((folder.path() / "generate").c_str(), 0755);
    services.policy = {.program = folder.path() / "generate", .version = "one"};
    write_file_atomically(folder.path() / "policy.yaml",
                          "policy: {checkpoint: " + (folder.path() / "weights").string() + "}\n");
    fs::create_directories(folder.path() / "weights");
    write_file_atomically(folder.path() / "weights/model.safetensors", "one");
  }
  std::string step(const std::string& more) const {
    return concat("generate, configuration: ", (folder.path() / "policy.yaml").string(), more);
  }
  size_t starts() const {
    const fs::path file = folder.path() / "policy.yaml.started";
    return fs::exists(file) ? fs::file_size(file) : 0;
  }
  std::string pipeline(const std::string& more) const {
    return concat("curation: {directory: ", (folder.path() / "run").string(),
                  "}\nsteps:\n  - {step: load, files: [", (folder.path() / "tasks.json").string(),
                  "], source: toy}\n  - {step: ", step(more), "}\n");
  }
};

TEST_CASE("generate puts samples in the place of tasks without a program") {
  Scripted scripted;
  std::vector<Record> records = {sample("a", "A", 1, 1), sample("b", "B", 1, 1), sample("c", "C", 1, 1)};
  records[1].answer.program = "known";
  const StepResult result =
      run_step(scripted.step(", samples: 2, seed: 9, batch: 1"), records, scripted.services);
  CHECK(result.ids() == std::vector<std::string>{"a#1", "a#2", "b", "c#1", "c#2"});
  CHECK(scripted.starts() == 2);
  const Record& second = result.at("c#2");
  CHECK(second.answer.program == "class ModelNew: pass  # c 1 seed 9");
  CHECK(second.parent == "c");
  CHECK(second.task_id == "C");
  CHECK(second.provenance.seeds == std::vector<uint64_t>{9});
  CHECK_FALSE(second.verdict);
  CHECK(second.figures.at("response_tokens") == 3);
  CHECK(result.at("b").answer.program == "known");
}

TEST_CASE("generate passes on what has a program at once while no task waits") {
  Scripted scripted;
  struct Passed : Outlet {
    std::vector<std::string> ids;
    void pass(Record record) override { ids.push_back(record.id); }
    void drop(const std::string&, const std::string&, const std::string&) override {}
  } out;
  Ledger ledger(scripted.folder.path() / "ledger.jsonl");
  const StepEnvironment environment{.config_folder = "",
                                    .directory = scripted.folder.path(),
                                    .verifier_settings = "",
                                    .ledger = &ledger,
                                    .services = &scripted.services};
  const ConfigDocument parameters = ConfigDocument::from_text("{step: " + scripted.step("}"), "test.yaml");
  const auto step = make_step(parameters.root(), environment);
  for (const char* id : {"a", "b", "c"}) {
    Record record = sample(id, id, 1, 1);
    if (*id != 'b') record.answer.program = "known";
    step->take(std::move(record), out);
    CHECK(out.ids == std::vector<std::string>{"a"});
  }
  step->finish(out);
  CHECK(out.ids == std::vector<std::string>{"a", "b#1", "c"});
}

TEST_CASE("sample of a task that came with a conversation has the policy's response alone") {
  Scripted scripted;
  Record record = sample("a", "A", 1, 1);
  record.answer.prompt = "Write it.";
  record.answer.reasoning = "Of another.";
  record.answer.messages = {{ChatRole::kUser, "Write it."}};
  CHECK_THROWS_AS(form_named("messages").write(record, {}), InputError);
  const StepResult result = run_step(scripted.step(""), {record}, scripted.services);
  const Record& answered = result.at("a#1");
  CHECK(answered.answer.reasoning.empty());
  for (const char* form : {"messages", "pairs"}) {
    const std::string written = form_named(form).write(answered, {}).dump();
    CHECK_THAT(written, ContainsSubstring("ModelNew: pass  # a 0 seed 1"));
    CHECK_THAT(written, !ContainsSubstring("Write it."));
  }
}

TEST_CASE("generate drops a task whose prompt does not fit and keeps the samples of the others") {
  Scripted scripted;
  std::vector<Record> records = {sample("a", "A", 1, 1), sample("b", "B", 1, 1), sample("c", "C", 1, 1)};
  records[1].pytorch_code = module_named("# too long");
  for (const std::string more : {", samples: 2", ", samples: 2, reasoning: true"}) {
    const StepResult result = run_step(scripted.step(more), records, scripted.services);
    CHECK(result.ids() == std::vector<std::string>{"a#1", "a#2", "c#1", "c#2"});
    CHECK_THAT(result.at("c#1").answer.program, ContainsSubstring("# c 0 seed 1"));
    CHECK(result.dropped == std::map<std::string, std::string>{{"b", "its prompt does not fit the policy"}});
  }
  // Also where none of a batch fits: other batches have some that do.
  const StepResult apart = run_step(scripted.step(", batch: 1"), records, scripted.services);
  CHECK(apart.ids() == std::vector<std::string>{"a#1", "c#1"});
  CHECK(apart.dropped.contains("b"));
  // A task with fewer samples than were asked for is a failure, whose log is kept.
  write_file_atomically(
      scripted.folder.path() / "tasks.json",
      nlohmann::json::array(
          {nlohmann::json({{"idx", 1}, {"level", 1}, {"pytorch_code", module_named("# cut off")}})})
          .dump());
  CHECK_THROWS_MATCHES(run_pipeline(scripted.pipeline(", samples: 2"), scripted.services), Error,
                       MessageMatches(ContainsSubstring("gave 1 responses")));
  CHECK(fs::exists(scripted.folder.path() / "run/generation/generate.log"));
}

TEST_CASE("generate with a reasoning part takes it apart from the program") {
  Scripted scripted;
  const StepResult result =
      run_step(scripted.step(", samples: 2, reasoning: true"), {sample("a", "A", 1, 1)}, scripted.services);
  CHECK(result.at("a#1").answer.reasoning == "think 0");
  CHECK(result.at("a#1").answer.program == "class ModelNew: pass  # a 0 seed 1\n");
  CHECK(result.at("a#2").answer.program.empty());
  CHECK(result.at("a#2").answer.response == "no program");
}

TEST_CASE(
    "generate asks once for what the ledger has, and again after the policy or the program has changed") {
  Scripted scripted;
  write_tasks(scripted.folder.path() / "tasks.json", 5);
  int asked = 0;
  scripted.services.stop = [&] { return ++asked > 9; };
  CHECK_THROWS(run_pipeline(scripted.pipeline(", batch: 2"), scripted.services));
  const size_t before = scripted.starts();
  CHECK(before > 0);
  scripted.services.stop = [] { return false; };
  run_pipeline(scripted.pipeline(", batch: 2"), scripted.services);
  CHECK(scripted.starts() == 3);  // batches of two, two and one
  CHECK(lines_of(scripted.folder.path() / "run/records/02-generate.jsonl").size() == 5);
  CHECK_FALSE(fs::exists(scripted.folder.path() / "run/generation"));
  run_pipeline(scripted.pipeline(", batch: 2"), scripted.services);
  CHECK(scripted.starts() == 3);
  write_file_atomically(scripted.folder.path() / "weights/model.safetensors", "two");
  run_pipeline(scripted.pipeline(", batch: 2"), scripted.services);
  CHECK(scripted.starts() == 6);
  scripted.services.policy.version = "two";
  run_pipeline(scripted.pipeline(", batch: 2"), scripted.services);
  CHECK(scripted.starts() == 9);
}

TEST_CASE("generate takes samples again when what determines them has changed, and only then") {
  Scripted scripted;
  // Two folders above the configuration, where `bicrl generate` finds it as well.
  const fs::path deep = scripted.folder.path() / "configs/mine",
                 weights = scripted.folder.path() / "relative";
  fs::create_directories(deep);
  fs::create_directories(weights);
  write_file_atomically(weights / "model.safetensors", "one");
  const std::string sampling = "policy: {checkpoint: relative, tokenizer: relative}\n";
  write_file_atomically(deep / "policy.yaml", sampling);
  write_tasks(scripted.folder.path() / "tasks.json", 3);
  const auto starts = [&](const std::string& more) {
    const fs::path file = deep / "policy.yaml.started";
    fs::remove(file);
    run_pipeline(
        concat("curation: {directory: ", (scripted.folder.path() / "run").string(),
               "}\nsteps:\n  - {step: load, files: [", (scripted.folder.path() / "tasks.json").string(),
               "], source: toy}\n  - {step: generate, configuration: ", (deep / "policy.yaml").string(), more,
               "}\n"),
        scripted.services);
    return fs::exists(file);
  };
  CHECK(starts(""));
  CHECK_FALSE(starts(""));
  write_file_atomically(weights / "model.safetensors", "two");
  CHECK(starts(""));
  write_file_atomically(weights / "model.safetensors", "one");
  CHECK_FALSE(starts(""));  // its samples are known
  CHECK(starts(", overrides: [rollout.temperature=0.5]"));
  CHECK(starts(", overrides: [rollout.temperature=0.7]"));
  CHECK(starts(", samples: 2"));
  CHECK(starts(", seed: 3"));
  CHECK(starts(", prompt_style: compact"));
  CHECK(starts(", reasoning: true"));
  write_file_atomically(deep / "policy.yaml", sampling + "rollout: {threshold: 0.8}\n");
  CHECK(starts(""));
  write_file_atomically(deep / "policy.yaml", sampling);
  CHECK_FALSE(starts(""));
}

TEST_CASE("hash of a program is that of its own files, wherever they lie") {
  const TemporaryFolder one, other;
  for (const fs::path& folder : {one.path(), other.path()}) {
    fs::create_directories(folder / "bin");
    fs::create_directories(folder / "lib");
    write_file_atomically(folder / "bin/bicrl", "program");
    write_file_atomically(folder / "lib/libbicrl_learner.so", "learner");
  }
  const std::string hash = program_hash(one.path() / "bin/bicrl");
  write_file_atomically(other.path() / "lib/libother.so", "another's");
  CHECK(program_hash(other.path() / "bin/bicrl") == hash);
  write_file_atomically(other.path() / "lib/libbicrl_learner.so", "another learner");
  CHECK(program_hash(other.path() / "bin/bicrl") != hash);
  write_file_atomically(other.path() / "lib/libbicrl_learner.so", "learner");
  write_file_atomically(other.path() / "bin/bicrl", "another program");
  CHECK(program_hash(other.path() / "bin/bicrl") != hash);
}

TEST_CASE("sample under the id of another record ends the pipeline") {
  Scripted scripted;
  std::vector<Record> records = {sample("a", "A", 1, 1), sample("a#2", "A", 1, 1)};
  records[1].answer.program = "known";
  CHECK_NOTHROW(run_step(scripted.step(""), records, scripted.services));
  CHECK_THROWS_MATCHES(run_step(scripted.step(", samples: 2"), records, scripted.services), InputError,
                       MessageMatches(ContainsSubstring("two records have the id 'a#2'")));
}

TEST_CASE("generate that fails ends the pipeline with what it printed") {
  Scripted scripted;
  CHECK_THROWS_MATCHES(
      run_step(scripted.step(", overrides: ['fail=1']"), {sample("a", "A", 1, 1)}, scripted.services), Error,
      MessageMatches(ContainsSubstring("does not fit into memory")));
}

}  // namespace
}  // namespace bicrl::curation
