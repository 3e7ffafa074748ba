#include "common/config/config.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <tuple>

#include "common/files/files.h"
#include "common/rng.h"
#include "tests/support/support.h"

using namespace bicrl;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::Equals;

namespace {

ConfigDocument parse(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  return ConfigDocument::from_text(yaml, "run.yaml", overrides);
}

// The message of the InputError that `read` throws on the root of the document.
template <class Read>
std::string refusal(const std::string& yaml, const std::vector<std::string>& overrides, Read read) {
  try {
    const ConfigDocument document = parse(yaml, overrides);
    read(document.root());
    document.finish();
  } catch (const InputError& e) {
    return e.what();
  }
  return "accepted";
}

void read_nothing(const ConfigSection&) {}

// A reader with every kind of accessor, as a subcommand would have it.
void read_run(const ConfigSection& root) {
  root.text("name", "quick");
  root.boolean("verbose", false);
  const ConfigSection trainer = root.section("trainer");
  trainer.real("learning_rate", 1e-6, 0, 1);
  trainer.integer("steps", 20, 1);
  trainer.section("clip").real("low", 0.2, 0, 1);
  root.texts("addresses");
  root.integers("levels", {1, 2}, 1, 4);
  root.choice("stage", "infilling", {"infilling", "end_to_end"});
  for (const ConfigSection& phase : root.sections("phases")) {
    phase.required_text("task_set");
    phase.integer("steps", 5, 0);
  }
}

std::string resolved(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  const ConfigDocument document = parse(yaml, overrides);
  read_run(document.root());
  document.finish();
  return document.resolved_yaml();
}

}  // namespace

TEST_CASE("values are read and defaults fill the gaps") {
  const ConfigDocument document = parse(R"(
name: 5
trainer:
  learning_rate: 3e-4
  steps: +7
  clip: ~
flag: TRUE
levels: [4, 1]
addresses: [a:1, "b:2"]
hex: "0x10"
)");
  const ConfigSection root = document.root();
  CHECK(root.text("name", "") == "5");
  CHECK(root.section("trainer").real("learning_rate", 0) == 3e-4);
  CHECK(root.section("trainer").integer("steps", 0) == 7);
  CHECK(root.section("trainer").section("clip").real("low", 0.25) == 0.25);
  CHECK_FALSE(root.section("trainer").has("clip"));
  CHECK(root.has("levels"));
  CHECK(root.section("absent").section("deeper").integer("x", 3) == 3);
  CHECK(root.boolean("flag", false));
  CHECK(root.integers("levels", {}, 1, 4) == std::vector<int64_t>{4, 1});
  CHECK(root.texts("addresses") == std::vector<std::string>{"a:1", "b:2"});
  CHECK(root.text("hex", "") == "0x10");
  CHECK(root.real("limit", std::numeric_limits<double>::infinity()) ==
        std::numeric_limits<double>::infinity());
  document.finish();
}

TEST_CASE("an empty document reads as defaults") {
  for (const char* yaml : {"", "\n# only a comment\n", "~\n", "{}"})
    CHECK(resolved(yaml) == resolved("name: quick"));
}

TEST_CASE("unknown keys are refused with file, line and the nearest valid key") {
  CHECK_THAT(refusal("name: x\ntrainer:\n  learning_rat: 1\n", {}, read_run),
             Equals("run.yaml:3: unknown key trainer.learning_rat; did you mean trainer.learning_rate?"));
  CHECK_THAT(refusal("trainer:\n  clip:\n    lwo: 1\n", {}, read_run),
             Equals("run.yaml:3: unknown key trainer.clip.lwo; did you mean trainer.clip.low?"));
  // At the wrong level.
  CHECK_THAT(refusal("\n\nlearning_rate: 1\n", {}, read_run),
             Equals("run.yaml:3: unknown key learning_rate; did you mean trainer.learning_rate?"));
  CHECK_THAT(refusal("trainer.steps: 4\n", {}, read_run),
             ContainsSubstring("write trainer.steps as nested sections"));
  CHECK_THAT(refusal("zzzzzzzz: 1\n", {}, read_run),
             ContainsSubstring("unknown key zzzzzzzz; valid here: name, verbose"));
  CHECK_THAT(refusal("trainers: {steps: 1}\n", {}, read_run), ContainsSubstring("did you mean trainer?"));
  CHECK_THAT(refusal("phases: [{task_set: a}, {task_set: b, step: 3}]\n", {}, read_run),
             ContainsSubstring("unknown key phases.1.step; did you mean phases.1.steps?"));
  CHECK_THAT(refusal("x: 1\n", {}, read_nothing), Equals("run.yaml:1: unknown key x; no key is valid here"));
}

TEST_CASE("every unknown key is named at once") {
  const std::string message = refusal("verbos: true\ntrainer:\n  setps: 1\n", {}, read_run);
  CHECK_THAT(message, ContainsSubstring("run.yaml:1: unknown key verbos; did you mean verbose?"));
  CHECK_THAT(message,
             ContainsSubstring("run.yaml:3: unknown key trainer.setps; did you mean trainer.steps?"));
}

TEST_CASE("a misspelt required key is found") {
  CHECK_THAT(
      refusal("phases:\n  - steps: 1\n    tasks_set: a\n", {}, read_run),
      Equals(
          "run.yaml:3: unknown key phases.0.tasks_set; did you mean phases.0.task_set, which is required?"));
  CHECK_THAT(refusal("phases:\n  - steps: 1\n", {}, read_run),
             Equals("run.yaml:2: phases.0.task_set: is required and missing"));
}

TEST_CASE("numbers and booleans are strict") {
  const auto integer = [](const ConfigSection& root) { root.integer("n", 1, 0, 100); };
  CHECK_THAT(refusal("n: 1.5", {}, integer), Equals("run.yaml:1: n: expected an integer, got '1.5'"));
  for (const char* bad : {"1e2", "1.0", "\"5\"", "!!str 5", "five", "0x10", "007", "1_000", "+-5", "\n  - 5",
                          "[5]", "{a: 1}", "--5", "+"}) {
    CAPTURE(bad);
    CHECK_THAT(refusal(concat("n: ", bad), {}, integer), ContainsSubstring("expected an integer, got "));
  }
  CHECK_THAT(refusal("n: 101", {}, integer),
             Equals("run.yaml:1: n: expected an integer from 0 to 100, got '101'"));
  CHECK_THAT(refusal("n: 99999999999999999999", {}, integer), ContainsSubstring("from 0 to 100"));
  CHECK_THAT(refusal("n: -1", {}, [](const ConfigSection& root) { root.integer("n", 1, 0); }),
             Equals("run.yaml:1: n: expected an integer of at least 0, got '-1'"));

  const auto real = [](const ConfigSection& root) { root.real("r", 0, 0, 1); };
  for (const char* bad :
       {"abc", "\"0.5\"", "0.5.1", ".", "1e", "nan", ".nan", "inf", "0x1p3", "[1]", "1,5", "+-.5"}) {
    CAPTURE(bad);
    CHECK_THAT(refusal(concat("r: ", bad), {}, real), ContainsSubstring("expected a number, got "));
  }
  CHECK_THAT(refusal("r: 2", {}, real), Equals("run.yaml:1: r: expected a number from 0 to 1, got '2'"));
  CHECK_THAT(refusal("r: 1e999", {}, real), ContainsSubstring("that a double can hold"));
  for (const auto& [text, value] : std::vector<std::pair<std::string, double>>{
           {".5", .5}, {"1.", 1}, {"1", 1}, {"5e-1", .5}, {"+0.5", .5}, {"1E-3", 1e-3}, {"-0.0", 0}})
    CHECK(parse("r: " + text).root().real("r", 9, 0, 1) == value);
  CHECK(std::isinf(parse("r: -.inf").root().real("r", 0)));

  const auto boolean = [](const ConfigSection& root) { root.boolean("b", false); };
  for (const char* bad : {"yes", "on", "1", "\"true\"", "tRUE", "[true]"}) {
    CAPTURE(bad);
    CHECK_THAT(refusal(concat("b: ", bad), {}, boolean), ContainsSubstring("expected true or false, got "));
  }
}

TEST_CASE("lists, sections and choices of the wrong kind are refused") {
  CHECK_THAT(refusal("addresses: a:1", {}, read_run),
             ContainsSubstring("expected a list of texts, got 'a:1'"));
  CHECK_THAT(refusal("addresses: [[a]]", {}, read_run),
             Equals("run.yaml:1: addresses.0: expected text, got a list"));
  CHECK_THAT(refusal("addresses: [~]", {}, read_run), ContainsSubstring("expected text, got nothing"));
  CHECK_THAT(refusal("levels: [1, 9]", {}, read_run),
             ContainsSubstring("levels.1: expected an integer from 1 to 4"));
  CHECK_THAT(refusal("trainer: 3", {}, read_run), Equals("run.yaml:1: trainer: expected a section, got '3'"));
  CHECK_THAT(refusal("phases: {task_set: a}", {}, read_run),
             ContainsSubstring("expected a list of sections, got a section"));
  CHECK_THAT(refusal("stage: end_to_emd", {}, read_run),
             Equals("run.yaml:1: stage: expected one of infilling, end_to_end, got 'end_to_emd'; did you "
                    "mean end_to_end?"));
}

TEST_CASE("duplicate keys and broken YAML are refused with their line") {
  CHECK_THAT(refusal("name: a\nverbose: true\nname: b\n", {}, read_run),
             Equals("run.yaml:3: name: the key appears twice (first at run.yaml:1)"));
  CHECK_THAT(refusal("trainer:\n  steps: 1\n  steps: 1\n", {}, read_run),
             ContainsSubstring("run.yaml:3: trainer.steps: the key appears"));
  CHECK_THAT(refusal("name: a\ntrainer: [1, 2\n", {}, read_run), ContainsSubstring("run.yaml:"));
  CHECK_THAT(refusal("name: a\n\t b: 3\n", {}, read_run), ContainsSubstring("run.yaml:2: YAML syntax: "));
  CHECK_THAT(refusal("a: *nowhere\n", {}, read_run), ContainsSubstring("run.yaml:1: YAML syntax: "));
  CHECK_THAT(refusal("- a\n- b\n", {}, read_run), ContainsSubstring("must be a mapping"));
  CHECK_THAT(refusal("name: a\n---\nname: b\n", {}, read_run),
             Equals("run.yaml:2: the YAML document ends before this"));
  // yaml-cpp reads this one as endlessly many documents.
  CHECK_THAT(refusal(",ame: 'a b'{base: &b {steps: 3}atrainer", {}, read_run),
             ContainsSubstring("run.yaml:1: "));
  CHECK(resolved("---\nname: a\n...\n") == resolved("name: a"));
  CHECK_THAT(refusal("name: !secret a\n", {}, read_run),
             ContainsSubstring("the YAML tag !secret is not supported"));
  CHECK_THAT(refusal("[a, b]: 1\n", {}, read_run), ContainsSubstring("a key must be text"));
}

TEST_CASE("anchors and merge keys") {
  const ConfigDocument document = parse(R"(
base: &base {steps: 3, task_set: common}
phases:
  - <<: *base
  - {<<: *base, steps: 9}
  - <<: [{steps: 1}, *base]
)");
  const ConfigSection root = document.root();
  root.section("base").integer("steps", 0);
  root.section("base").text("task_set", "");
  const auto phases = root.sections("phases");
  REQUIRE(phases.size() == 3);
  CHECK(phases[0].integer("steps", 0) == 3);
  CHECK(phases[1].integer("steps", 0) == 9);
  CHECK(phases[2].integer("steps", 0) == 1);
  for (const auto& phase : phases) CHECK(phase.required_text("task_set") == "common");
  document.finish();
  CHECK_THAT(refusal("x: {<<: 3}", {}, read_nothing), ContainsSubstring("'<<' must name a mapping"));
}

TEST_CASE("aliases that would grow without bound are refused") {
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    laughs += concat("a", i, ": &a", i, " [");
    for (int j = 0; j < 10; ++j) laughs += concat(j ? ", " : "", "*a", i - 1);
    laughs += "]\n";
  }
  CHECK_THAT(refusal(laughs, {}, read_nothing), ContainsSubstring("too large by its aliases"));
  CHECK_THAT(refusal("a: &a [*a]\n", {}, read_nothing), ContainsSubstring("run.yaml:1"));
  CHECK_THAT(refusal(std::string(300, '[') + std::string(300, ']'), {}, read_nothing),
             ContainsSubstring("nested too deeply"));
  // The parser of YAML itself must survive this one.
  CHECK_THAT(refusal(std::string(100000, '['), {}, read_nothing), ContainsSubstring("run.yaml:1"));
}

TEST_CASE("a small document cannot fill the memory by what it repeats") {
  // Every node keeps its path: a long key above many short ones.
  std::string paths = std::string(1000, 'k') + ":\n";
  for (int i = 0; i < 19'000; ++i) paths += concat("  k", i, ": 1\n");
  CHECK_THAT(refusal(paths, {}, read_nothing), ContainsSubstring("too much text"));
  // A long text, named again and again.
  std::string copies = "a: &a " + std::string(20'000, 'x') + "\nb: [";
  for (int i = 0; i < 10'000; ++i) copies += "*a,";
  CHECK_THAT(refusal(copies + "]\n", {}, read_nothing), ContainsSubstring("too much text"));
  CHECK_THAT(refusal("a: 1\n" + std::string(2 << 20, '#'), {}, read_nothing),
             ContainsSubstring("a configuration may have"));
  CHECK_THAT(refusal("", {"a=" + std::string(2 << 20, 'x')}, read_nothing),
             ContainsSubstring("a configuration may have"));
}

TEST_CASE("many keys in one section are read in reasonable time") {
  std::string yaml;
  for (int i = 0; i < 19'000; ++i) yaml += concat("k", i, ": 1\n");
  CHECK_THAT(refusal(yaml, {}, read_nothing), ContainsSubstring("unknown key k0"));
}

TEST_CASE("overrides replace, add and reach into lists") {
  const ConfigDocument document =
      parse("trainer: {steps: 1}\nphases: [{task_set: a}, {task_set: b}]\n",
            {"trainer.steps=5", "trainer.steps=6", "trainer.clip.low=0.5", "levels=[3, 4]", "name=a=b",
             "phases.1.task_set=c", "verbose=true", "addresses=[\"h:1\"]"});
  const ConfigSection root = document.root();
  read_run(root);
  document.finish();
  CHECK(root.section("trainer").integer("steps", 0) == 6);
  CHECK(root.section("trainer").section("clip").real("low", 0) == 0.5);
  CHECK(root.integers("levels", {}, 0, 9) == std::vector<int64_t>{3, 4});
  CHECK(root.text("name", "") == "a=b");
  CHECK(root.sections("phases")[1].required_text("task_set") == "c");
  CHECK(root.texts("addresses") == std::vector<std::string>{"h:1"});
  CHECK(parse("trainer: {steps: 1}", {"trainer.steps=~"}).root().section("trainer").integer("steps", 20) ==
        20);
  CHECK(parse("trainer: {steps: 1}", {"trainer={steps: 8}"}).root().section("trainer").integer("steps", 20) ==
        8);
}

TEST_CASE("messages about overrides name the override") {
  CHECK_THAT(refusal("", {"trainer.steps"}, read_run),
             Equals("command line: trainer.steps: an override has the form key.path=value"));
  for (const char* bad : {"=3", ".a=3", "a..b=3", "a.=3", "a b=3"}) {
    CAPTURE(bad);
    CHECK_THAT(refusal("", {bad}, read_run),
               ContainsSubstring(concat("command line: ", bad, ": ")) && ContainsSubstring("is no key path"));
  }
  CHECK_THAT(
      refusal("", {"trainer.steps=abc"}, read_run),
      Equals(
          "command line: trainer.steps=abc: trainer.steps: expected an integer of at least 1, got 'abc'") ||
          Equals("command line: trainer.steps=abc: trainer.steps: expected an integer, got 'abc'"));
  CHECK_THAT(refusal("", {"trainer.step=3"}, read_run),
             Equals("command line: trainer.step=3: unknown key trainer.step; did you mean trainer.steps?"));
  CHECK_THAT(refusal("", {"trainr.steps=3"}, read_run),
             Equals("command line: trainr.steps=3: unknown key trainr; did you mean trainer?"));
  CHECK_THAT(refusal("name: x", {"name.first=3"}, read_run),
             Equals("command line: name.first=3: name (run.yaml:1) is a value and has no keys"));
  CHECK_THAT(refusal("levels: [1]", {"levels.1=3"}, read_run),
             ContainsSubstring("'1' is no index of the list levels, which has 1 items"));
  CHECK_THAT(refusal("levels: [1]", {"levels.x=3"}, read_run), ContainsSubstring("'x' is no index"));
  CHECK_THAT(refusal("", {"levels=[1, 2"}, read_run),
             ContainsSubstring("command line: levels=[1, 2: YAML syntax: "));
}

TEST_CASE("places for messages across keys") {
  const ConfigDocument document = parse("\ntrainer:\n  steps: 4\n", {"name=z"});
  const ConfigSection trainer = document.root().section("trainer");
  CHECK(trainer.where("steps") == "run.yaml:3: trainer.steps");
  CHECK(trainer.where("absent") == "run.yaml:2: trainer.absent");
  CHECK(trainer.where() == "run.yaml:2: trainer");
  CHECK(document.root().where("name") == "command line: name=z: name");
  CHECK(trainer.section("clip").where("low") == "run.yaml:2: trainer.clip.low");
  CHECK_THAT(refusal("trainer: {steps: 4}", {},
                     [](const ConfigSection& root) { root.section("trainer").reject("steps", "is odd"); }),
             Equals("run.yaml:1: trainer.steps: is odd"));
}

TEST_CASE("the resolved document holds every value in reading order and reads back as itself") {
  CHECK(resolved("") == R"(name: quick
verbose: false
trainer:
  learning_rate: 1e-06
  steps: 20
  clip:
    low: 0.2
addresses: []
levels: [1, 2]
stage: infilling
phases: []
)");
  const std::vector<std::string> documents = {
      "",
      "name: 'null'",
      "name: \"a: b # c\\n\\t\\x01\\\\\"",
      "name: ''",
      "name: 'yes'",
      "name: '5'",
      "name: 'ümläut 中文'",
      "trainer: {learning_rate: 0.1, steps: 9223372036854775807, clip: {low: 1}}",
      "addresses: ['a,b', '[x]', '']",
      "phases: [{task_set: a}, {task_set: 'b: c', steps: 0}]",
      "name: '- x'",
      "name: '<<'",
      "name: ' padded '"};
  for (const auto& yaml : documents) {
    CAPTURE(yaml);
    const std::string once = resolved(yaml);
    CHECK(resolved(once) == once);
  }
  const ConfigDocument empty_section = parse("");
  empty_section.root().section("nothing");
  CHECK(empty_section.resolved_yaml() == "nothing: {}\n");
  CHECK(parse("").resolved_yaml() == "{}\n");
}

TEST_CASE("every double survives the resolved document") {
  for (double value : {0.1, 1e-300, 1.7976931348623157e308, 5e-324, 1.0 / 3, 123456789.0, -2.5, 0.0,
                       std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
    const ConfigDocument first = parse("");
    first.root().real("r", value);
    CHECK(parse(first.resolved_yaml()).root().real("r", 7) == value);
  }
}

TEST_CASE("a configuration file is named as given, a missing one is an input error") {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "run.yaml";
  write_file_atomically(path, "name: x\nsteps: many\n");
  const ConfigDocument document = ConfigDocument::from_file(path);
  try {
    document.root().integer("steps", 1);
    FAIL("accepted");
  } catch (const InputError& e) {
    CHECK(std::string(e.what()) == concat(path.string(), ":2: steps: expected an integer, got 'many'"));
    CHECK(e.code() == ExitCode::kUsage);
  }
  CHECK_THROWS_AS(ConfigDocument::from_file(folder.path() / "absent.yaml"), InputError);
}

TEST_CASE("a damaged document is accepted or refused, and nothing else happens") {
  const std::string whole =
      "name: 'a b'\nbase: &b {steps: 3}\ntrainer:\n  learning_rate: 1e-4\n  clip: {low: .2}\nphases:\n  - "
      "{<<: *b, task_set: x}\n"
      "addresses: [\"h:1\", 'i:2']\nlevels: [1, 2]\n# end\n";
  const std::string alphabet = ":-[]{}&*!|>'\"%@`#,?~\\ \n\t.<0aZ\xff\xc3";
  RandomStream random(mix_key({11}));
  int accepted = 0, refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = whole.substr(0, random.below(4) ? whole.size() : random.below(whole.size()));
    for (uint64_t edits = random.below(4); edits > 0 && !damaged.empty(); --edits)
      damaged[random.below(damaged.size())] = alphabet[random.below(alphabet.size())];
    try {
      const ConfigDocument document = parse(damaged, {"trainer.steps=4"});
      document.root().section("base").integer("steps", 1);
      read_run(document.root());
      document.finish();
      ++accepted;
      CHECK(resolved(document.resolved_yaml().erase(0, document.resolved_yaml().find("name:"))).size() > 0);
    } catch (const InputError& e) {
      const std::string message = e.what();
      CHECK((message.rfind("run.yaml:", 0) == 0 || message.rfind("command line: ", 0) == 0));
      ++refused;
    }
  }
  CHECK(accepted > 100);
  CHECK(refused > 1000);
}

namespace {

// As sections with a discriminating key read themselves.
void read_decoding(const ConfigSection& root) {
  const ConfigSection rollout = root.section("rollout");
  const std::string strategy = rollout.choice("strategy", "dynamic", {"dynamic", "random"});
  if (strategy == "dynamic")
    rollout.real("threshold", 0.9, 0, 1);
  else
    rollout.refuse_without_effect("threshold", "with 'strategy: random'");
  const ConfigSection policy = root.section("policy");
  policy.prefer_overridden({"checkpoint", "config"});
  policy.text("checkpoint", "");
  policy.text("config", "");
}

}  // namespace

TEST_CASE("override of a discriminating key drops the file's idle keys with a note") {
  const std::string file = "rollout: {strategy: dynamic, threshold: 0.8}\npolicy:\n  config: shape.json\n";
  const ConfigDocument document = parse(file, {"rollout.strategy=random", "policy.checkpoint=a/b"});
  read_decoding(document.root());
  document.finish();
  CHECK(document.resolved_yaml() ==
        "rollout:\n  strategy: random\npolicy:\n  checkpoint: a/b\n  config: \"\"\n");
  REQUIRE(document.notes().size() == 2);
  CHECK(document.notes()[0] ==
        "run.yaml:1: rollout.threshold: has no effect with 'strategy: random', and is left out");
  CHECK(document.notes()[1] ==
        "run.yaml:3: policy.config: gives way to policy.checkpoint of the command line, and is left out");
  // A file that contradicts itself is refused, and so is an override that does nothing.
  CHECK_THAT(refusal("rollout: {strategy: random, threshold: 0.8}", {}, read_decoding),
             Equals("run.yaml:1: rollout.threshold: has no effect with 'strategy: random'"));
  CHECK_THAT(refusal(file, {"rollout.strategy=random", "rollout.threshold=0.5"}, read_decoding),
             ContainsSubstring("command line: rollout.threshold=0.5: rollout.threshold: has no effect"));
  CHECK_THAT(refusal(file, {"rollout={strategy: random, threshold: 0.5}"}, read_decoding),
             ContainsSubstring("rollout.threshold: has no effect"));
  CHECK_THAT(refusal("rollout: {strategy: random, threshold: 0.8}", {"policy.config=x"}, read_decoding),
             ContainsSubstring("rollout.threshold: has no effect"));
}

TEST_CASE("override with a null deletes a key or a section, and nothing that is not there") {
  const std::string file = "name: x\ntrainer: {steps: 1, clip: {low: 0.5}}\nunknown: 1\n";
  const ConfigDocument document = parse(file, {"name=~", "trainer.clip=null", "unknown=~"});
  read_run(document.root());
  document.finish();
  CHECK(document.root().text("name", "quick") == "quick");
  CHECK(document.root().section("trainer").integer("steps", 20) == 1);
  CHECK(document.root().section("trainer").section("clip").real("low", 0.2) == 0.2);
  CHECK_THAT(
      refusal(file, {"trainer.stesp=~"}, read_run),
      Equals("command line: trainer.stesp=~: the configuration does not have trainer.stesp, so there is "
             "nothing to delete"));
}

TEST_CASE("overrides of a mapping merge, of a list and of a value replace") {
  const auto steps_of = [](const std::vector<std::string>& overrides) {
    const ConfigDocument document =
        parse("trainer: {steps: 3, learning_rate: 0.5}\nlevels: [1, 2]\n", overrides);
    const ConfigSection trainer = document.root().section("trainer");
    return std::tuple(trainer.integer("steps", 20), trainer.real("learning_rate", 0),
                      document.root().integers("levels", {}, 0, 9).size());
  };
  CHECK(steps_of({"trainer.steps=5"}) == std::tuple(5, 0.5, size_t{2}));
  CHECK(steps_of({"trainer={steps: 5}"}) == std::tuple(5, 0.0, size_t{2}));
  CHECK(steps_of({"levels=[4]"}) == std::tuple(3, 0.5, size_t{1}));
}

TEST_CASE("everything that is missing is reported together") {
  const auto read = [](const ConfigSection& root) {
    read_run(root);
    root.reject_later("name", "'x' does not exist");
    root.section("trainer").reject_later("steps", "'y' does not exist");
  };
  CHECK_THAT(refusal("name: x\ntrainer: {steps: 2}\nnmae: y\n", {}, read),
             Equals("run.yaml:1: name: 'x' does not exist\nrun.yaml:2: trainer.steps: 'y' does not exist\n"
                    "run.yaml:3: unknown key nmae; did you mean name?"));
}
