#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "common/files/files.h"
#include "curation/code/code_likeness.h"
#include "tests/curation/box_services.h"
#include "tests/curation/fake_services.h"
#include "tests/curation/pipelines.h"
#include "tests/support/support.h"

namespace bicrl::curation {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using testing::TemporaryFolder;

const fs::path kEvaluation = bicrl::testing::source_path("tests/data/kernelbench_level1.json");

// An environment variable of another value while it lives.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~ScopedVariable() {
    if (before_)
      setenv(name_, before_->c_str(), 1);
    else
      unsetenv(name_);
  }
  ScopedVariable(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST_CASE("tree similarity is the share of common features") {
  const CodePortrait one{.id = "", .text = "a", .features = {1, 2, 2, 3}, .function = "", .numbers = ""};
  const CodePortrait other{.id = "", .text = "b", .features = {2, 2, 2, 4}, .function = "", .numbers = ""};
  CHECK(tree_similarity(one, one) == 1);
  CHECK(tree_similarity(one, other) == 0.5);
  CHECK(tree_similarity(one, CodePortrait{}) == 0);
  CHECK(likeness(one, other, 0.5).empty());
  CHECK_THAT(likeness(one, other, 0.49), ContainsSubstring("0.50 alike"));
}

TEST_CASE("an evaluation's tasks are found renamed, restructured, with other shapes and wrapped") {
  const TemporaryFolder folder;
  testing::run_python(bicrl::testing::source_path("tests/curation/disguise.py"),
                      {kEvaluation.string(), (folder.path() / "copies.json").string()});
  BoxServices services;
  // Synthesised tasks of two operators and more stand for what has nothing to do with it.
  run_pipeline(concat("curation: {directory: ", (folder.path() / "run").string(),
                      "}\nsteps:\n  - {step: load, files: [", (folder.path() / "copies.json").string(),
                      "], source: copies}\n  - {step: synthesise, tasks: {train_compositions: 60, "
                      "development_compositions: 0}}\n"
                      // Both steps ask the same boxes at a time.
                      "  - {step: check_tasks, refuse: [raises]}\n"
                      "  - {step: decontaminate, against: [",
                      kEvaluation.string(), "]}\n"),
               services);
  int copies = 0, unrelated = 0;
  for (const std::string& line : lines_of(folder.path() / "run/audit/04-decontaminate.jsonl"))
    ++(nlohmann::json::parse(line)["id"].get<std::string>().starts_with("copies") ? copies : unrelated);
  CHECK(copies == 12);
  CHECK(unrelated == 0);
}

TEST_CASE(
    "tasks that differ in a value, a default or an argument of any number have other texts and functions") {
  BoxServices services;
  const auto answered = [&](const char* kind, const std::string& code) {
    services.boxes.submit(&services, 0, {{"kind", kind}, {"code", code}, {"shapes", false}});
    auto answer = services.boxes.next(&services, Milliseconds(1000));
    while (!answer) answer = services.boxes.next(&services, Milliseconds(1000));
    return answer->value;
  };
  const auto text = [&](const std::string& value, const std::string& arguments) {
    return answered(
        "tree", concat("rows = 4\nsize = (rows, -2 * rows)\nact = ", value,
                       "\nclass Model:\n    def forward(self, x, ", arguments, "): return act(x)\n"))["text"];
  };
  const auto first = text("relu", "n=2, *, kind='sum'");
  CHECK(first == text("relu", "m=3, *, sort='sum'"));
  CHECK(first != text("tanh", "n=2, *, kind='sum'"));
  CHECK(first != text("relu", "n=2, *, kind='mean'"));
  CHECK(first != text("relu", "n=2, *rest, kind='sum'"));
  CHECK(first != text("relu", "n=2, *, kind='sum', **rest"));
  // A convolution with a kernel that the task holds, behind a shift by a random buffer.
  const auto filter = [&](const std::string& kernel, const std::string& keep, int size) {
    return concat("import torch\nclass Model(torch.nn.Module):\n    def __init__(self):\n",
                  "        super().__init__()\n        ", keep, "torch.tensor(", kernel, "))\n",
                  "        self.register_buffer('shift', torch.randn(", size, "))\n",
                  "    def forward(self, x):\n        return torch.conv1d(x + self.shift, self.kernel)\n",
                  "def get_inputs(): return [torch.randn(2, 1, ", size, ")]\n");
  };
  for (const std::string keep : {"self.register_buffer('kernel', ", "self.kernel = ("}) {
    const std::string one = filter("[[[1.0, 0.0, -1.0]]]", keep, 40),
                      longer = filter("[[[1.0, 0.0, -1.0]]]", keep, 60),
                      other = filter("[[[1.0, -2.0, 1.0]]]", keep, 40);
    CHECK(answered("function", one)["function"].is_string());
    CHECK(answered("function", one) == answered("function", longer));
    CHECK(answered("function", one) != answered("function", other));
    const auto known = answered("examine", one)["fingerprints"];
    CHECK_FALSE(known.empty());
    for (const auto& fingerprint : answered("examine", other)["fingerprints"])
      CHECK(std::ranges::count(known, fingerprint) == 0);
  }
}

TEST_CASE("entry of an evaluation that cannot be read is refused by file and number") {
  const TemporaryFolder folder;
  const fs::path evaluation = folder.path() / "evaluation.jsonl";
  const std::string good =
      nlohmann::json({{"prompt", "p"}, {"response", "r"}, {"pytorch_code", "x = 1"}}).dump();
  write_tasks(folder.path() / "tasks.json", 1);
  const auto answer = [](const nlohmann::json& request) {
    if (request.at("code") == "x = (") return nlohmann::json{{"broken", "SyntaxError"}};
    return nlohmann::json{{"text", "t"}, {"features", {1u}}};
  };
  for (const auto& [entry, why] :
       {std::pair(nlohmann::json::object({{"prompt", "p"}, {"response", "r"}}), "has no task's code"),
        {nlohmann::json::object({{"prompt", "p"}}), "'response' is missing"},
        {nlohmann::json::object({{"prompt", "p"}, {"response", "r"}, {"pytorch_code", "x = ("}}),
         "SyntaxError"}}) {
    FakeServices services;
    services.codes = FakeCodeReader(answer);
    write_file_atomically(evaluation, good + "\n" + entry.dump() + "\n");
    CHECK_THROWS_MATCHES(
        run_pipeline(concat("curation: {directory: ", (folder.path() / "run").string(),
                            "}\nsteps:\n  - {step: load, files: [", (folder.path() / "tasks.json").string(),
                            "]}\n  - {step: decontaminate, against: [", evaluation.string(), "]}\n"),
                     services),
        InputError,
        MessageMatches(ContainsSubstring("evaluation.jsonl, entry 2: ") && ContainsSubstring(why)));
  }
}

TEST_CASE("evaluation whose file is not there is named in the data card with what was read instead") {
  const TemporaryFolder folder;
  write_tasks(folder.path() / "tasks.json", 1);
  write_tasks(folder.path() / "toys.json", 3);
  const auto notes = [&](const std::string& against) {
    FakeServices services;
    services.codes = FakeCodeReader([](const nlohmann::json& request) {
      return nlohmann::json{{"text", request.at("code")}, {"features", {1u}}};
    });
    const std::string in = folder.path().string();
    run_pipeline(concat("curation: {directory: ", in, "/run}\nsteps:\n  - {step: load, files: [", in,
                        "/tasks.json]}\n  - {step: decontaminate, similarity: 1, against: [", against,
                        "], otherwise: [", in, "/toys.json]}\n"),
                 services);
    return read_file(folder.path() / "run/card.md");
  };
  const std::string without = notes("data/no_such_evaluation.json");
  CHECK_THAT(without, ContainsSubstring("- step 2 decontaminate: 3 evaluation tasks\n"));
  CHECK_THAT(without, ContainsSubstring("data/no_such_evaluation.json is not here") &&
                          ContainsSubstring("only those of") && ContainsSubstring("toys.json"));
  // As under BICRL_DATA.
  fs::create_directories(folder.path() / "published");
  write_tasks(folder.path() / "published/no_such_evaluation.json", 2);
  const ScopedVariable data("BICRL_DATA", (folder.path() / "published").string());
  const std::string with = notes("data/no_such_evaluation.json");
  CHECK_THAT(with, ContainsSubstring("- step 2 decontaminate: 2 evaluation tasks\n"));
  CHECK_THAT(with, !ContainsSubstring("is not here"));
}

// A task of which a number is a small part, after replacements.
std::string long_task(const std::map<std::string, std::string>& replaced) {
  std::string code =
      "import torch\n\nrows = 16\ncolumns = 64\n\nclass Model(torch.nn.Module):\n"
      "    def __init__(self, features):\n        super().__init__()\n"
      "        self.first = torch.nn.Linear(features, features)\n"
      "        self.second = torch.nn.Sequential(torch.nn.Linear(features, 48), torch.nn.Linear(48, "
      "features))\n"
      "    def forward(self, x):\n"
      "        found = torch.relu(self.first(x)) * 2.0\n"
      "        gate = torch.sigmoid(self.second(x))\n"
      "        found = found * gate + torch.tanh(x)\n"
      "        return torch.softmax(found, dim=-1)\n\n"
      "def get_inputs():\n    return [torch.rand(rows, columns)]\n\n"
      "def get_init_inputs():\n    return [columns]\n";
  for (const auto& [before, now] : replaced)
    for (size_t at = code.find(before); at != code.npos; at = code.find(before, at + now.size()))
      code.replace(at, before.size(), now);
  return code;
}

TEST_CASE("with shapes to match a task of other numbers is no copy of an evaluation's") {
  const TemporaryFolder folder;
  const auto write = [&](const char* file, const std::vector<std::string>& codes) {
    auto tasks = nlohmann::json::array();
    for (const std::string& code : codes)
      tasks.push_back({{"idx", tasks.size() + 1}, {"level", 1}, {"pytorch_code", code}});
    write_file_atomically(folder.path() / file, tasks.dump());
  };
  write("evaluation.json", {long_task({})});
  const std::vector<std::string> copies = {long_task({}), long_task({{"gate", "opening"}, {"first", "one"}}),
                                           long_task({{"torch.tanh(x)", "torch.tanh(torch.relu(x))"}})};
  std::vector<std::string> tasks = copies;
  for (const auto& [before, now] : {std::pair("rows = 16", "rows = 32"),
                                    {"columns = 64", "columns = 128"},
                                    {"48", "96"},
                                    {"2.0", "3.0"},
                                    {"2.0", "-2.0"}})
    tasks.push_back(long_task({{before, now}}));
  tasks.push_back(long_task({{"rows = 16", "rows = 64"}, {"columns = 64", "columns = 16"}}));
  write("tasks.json", tasks);
  BoxServices services;
  const auto dropped = [&](const char* shapes) {
    const fs::path run = folder.path() / shapes;
    run_pipeline(concat("curation: {directory: ", run.string(), "}\nsteps:\n  - {step: load, files: [",
                        (folder.path() / "tasks.json").string(), "]}\n  - {step: decontaminate, shapes: ",
                        shapes, ", against: [", (folder.path() / "evaluation.json").string(), "]}\n"),
                 services);
    std::set<std::string> ids;
    for (const std::string& line : lines_of(run / "audit/02-decontaminate.jsonl"))
      ids.insert(nlohmann::json::parse(line)["id"]);
    return ids;
  };
  CHECK(dropped("ignore").size() == tasks.size());
  CHECK(dropped("match") == std::set<std::string>{"tasks:1", "tasks:2", "tasks:3"});
}

}  // namespace
}  // namespace bicrl::curation
