#include "reward/repair_buffer.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "common/rng.h"

using namespace bicrl;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

RepairEntry entry(const std::string& task, const std::string& program, Stage stage = Stage::kEndToEnd) {
  return {.task_id = task,
          .stage = stage,
          .attempt = {.program = program, .fault_class = "compile", .diagnostics = "line 1"}};
}

RepairSettings always(int capacity = 256) {
  RepairSettings settings;
  settings.probability = 1;
  settings.capacity = capacity;
  return settings;
}

RepairMember member(const std::string& program, const std::string& reached, const std::string& fault_class,
                    int passed = 0) {
  RepairMember m;
  m.program = program;
  m.verdict.outcome = Outcome::kCandidateFault;
  m.verdict.reached = reached;
  m.verdict.fault_class = fault_class;
  m.verdict.trials = 5;
  m.verdict.trials_passed = passed;
  m.verdict.diagnostics = "why " + program;
  return m;
}

RepairMember correct_member() {
  RepairMember m = member("right", "compare", "", 5);
  m.verdict.outcome = Outcome::kGraded;
  m.verdict.correct = true;
  return m;
}

std::vector<std::string> programs(const RepairBuffer& buffer) {
  std::vector<std::string> out;
  for (const RepairEntry& e : buffer.entries()) out.push_back(e.attempt.program);
  return out;
}

RepairSettings configured(const std::string& yaml) {
  const ConfigDocument document = ConfigDocument::from_text(yaml, "run.yaml");
  const RepairSettings settings = RepairSettings::from_config(document.root());
  document.finish();
  return settings;
}

}  // namespace

TEST_CASE("an all-fail group leaves the program that came furthest") {
  const auto material = [](const std::vector<RepairMember>& group) {
    return repair_material("t", Stage::kInfilling, group);
  };
  const auto best =
      material({member("a", "extract", "extract"), member("b", "compile", "compile"),
                member("c", "compare", "wrong_value", 1), member("d", "compare", "wrong_value", 3),
                member("e", "compare", "wrong_value", 3), member("f", "record", "record")});
  REQUIRE(best);
  CHECK(best->task_id == "t");
  CHECK(best->stage == Stage::kInfilling);
  CHECK(best->attempt == FailedAttempt{"d", "wrong_value", "why d"});

  CHECK_FALSE(material({member("a", "compile", "compile"), correct_member()}));
  CHECK_FALSE(material({}));
  CHECK_FALSE(material({member("", "extract", "extract"), member("x", "extract", "extract")}));
  // No material: what was masked, what the verifier could not grade, what broke the protocol.
  RepairMember masked = member("m", "compare", "wrong_value", 4), unjudged = member("u", "run", "");
  masked.masked = true;
  unjudged.verdict.outcome = Outcome::kInfrastructure;
  const RepairMember protocol_breach = member("c", "compare", "protocol", 5);
  CHECK_FALSE(material({masked, unjudged, protocol_breach}));
  CHECK(material({masked, unjudged, protocol_breach, member("b", "compile", "compile")})->attempt.program ==
        "b");
  // A success that does not count does not make the group solved.
  RepairMember masked_success = correct_member();
  masked_success.masked = true;
  CHECK(material({masked_success, member("b", "compile", "compile")}));
  // A step of another version is behind all known ones.
  CHECK(material({member("a", "quantum", "launch"), member("b", "extract", "record")})->attempt.program ==
        "b");
}

TEST_CASE("the buffer keeps the newest, each program once") {
  RepairBuffer buffer(always(3));
  for (const char* program : {"a", "b", "c", "b", "a"}) buffer.add(entry("t", program));
  CHECK(programs(buffer) == std::vector<std::string>{"a", "b", "c"});
  buffer.add(entry("t", "d"));
  CHECK(programs(buffer) == std::vector<std::string>{"b", "c", "d"});
  buffer.add(entry("other", "d"));                     // another task's
  buffer.add(entry("other", "d", Stage::kInfilling));  // another stage's
  CHECK(programs(buffer) == std::vector<std::string>{"d", "d", "d"});
}

TEST_CASE("a solved task's failures leave") {
  RepairBuffer buffer(always());
  for (const char* task : {"a", "b", "a", "c"}) buffer.add(entry(task, concat("p", buffer.size())));
  buffer.solved("a");
  CHECK(programs(buffer) == std::vector<std::string>{"p1", "p3"});
  buffer.solved("unknown");
  buffer.solved("b");
  buffer.solved("c");
  CHECK(buffer.size() == 0);
  CHECK_FALSE(buffer.draw(1));
}

TEST_CASE("texts are bounded and well-formed") {
  RepairSettings settings = always();
  settings.max_diagnostics_chars = 5;
  settings.max_program_chars = 10;
  RepairBuffer buffer(settings);
  RepairEntry e = entry("t", "0123456789");
  e.attempt.diagnostics = "abcdü";  // ü would be cut in two
  buffer.add(e);
  e = entry("t", "0123456789X");
  buffer.add(e);
  e = entry("t", "bad \x80");
  e.attempt.diagnostics = "\xff";
  buffer.add(e);
  REQUIRE(buffer.size() == 2);
  CHECK(buffer.entries()[0].attempt.diagnostics == "abcd");
  CHECK(buffer.entries()[1].attempt.program == "bad \xEF\xBF\xBD");
  CHECK_NOTHROW(buffer.state().dump());  // JSON takes well-formed text only
  settings.max_diagnostics_chars = 0;
  RepairBuffer silent(settings);
  silent.add(entry("t", "p"));
  CHECK(silent.entries()[0].attempt.diagnostics.empty());
}

TEST_CASE("draws are a function of key and contents, with the configured frequency") {
  RepairSettings settings = always();
  settings.probability = 0.25;
  RepairBuffer buffer(settings), same(settings);
  CHECK_FALSE(buffer.draw(1));
  for (const char* task : {"a", "b", "c", "d"}) {
    buffer.add(entry(task, task));
    same.add(entry(task, task));
  }
  std::map<std::string, int> drawn;
  constexpr int kDraws = 8000;
  for (int i = 0; i < kDraws; ++i) {
    const uint64_t key = mix_key({3, static_cast<uint64_t>(i)});
    const auto e = buffer.draw(key);
    CHECK(e == same.draw(key));
    if (e) ++drawn[e->task_id];
  }
  CHECK(drawn.size() == 4);
  for (const auto& [task, times] : drawn) CHECK(times == Approx(kDraws / 16).epsilon(0.2));
  CHECK(buffer.size() == 4);  // drawing takes nothing out

  settings.probability = 0;
  RepairBuffer never(settings);
  never.add(entry("a", "a"));
  for (uint64_t key = 0; key < 1000; ++key) CHECK_FALSE(never.draw(key));
}

TEST_CASE("a draw can be limited to a stage") {
  RepairBuffer buffer(always());
  buffer.add(entry("a", "a", Stage::kInfilling));
  buffer.add(entry("b", "b", Stage::kEndToEnd));
  for (uint64_t key = 0; key < 50; ++key) {
    CHECK(buffer.draw(key, Stage::kInfilling)->task_id == "a");
    CHECK(buffer.draw(key, Stage::kEndToEnd)->task_id == "b");
  }
  buffer.solved("a");
  CHECK_FALSE(buffer.draw(1, Stage::kInfilling));
}

TEST_CASE("a restored buffer is the buffer, now and later") {
  RepairBuffer buffer(always(5));
  for (int i = 0; i < 8; ++i) buffer.add(entry(concat("t", i % 3), concat("p\n\"ü", i)));
  RepairBuffer restored(always(5));
  restored.add(entry("old", "old"));
  restored.restore(json::parse(buffer.state().dump()));
  CHECK(restored.entries() == buffer.entries());
  CHECK(restored.state().dump() == buffer.state().dump());
  for (uint64_t key = 0; key < 100; ++key) {
    CHECK(restored.draw(key) == buffer.draw(key));
    for (RepairBuffer* b : {&buffer, &restored}) {
      if (key % 10 == 0) b->add(entry(concat("n", key), "new"));
      if (key % 30 == 7) b->solved(concat("n", key - 7));
    }
  }
  CHECK(restored.state() == buffer.state());
  // A smaller buffer takes the newest.
  RepairBuffer smaller(always(2));
  smaller.restore(buffer.state());
  CHECK(smaller.entries().back() == buffer.entries().back());
  CHECK(smaller.size() == 2);
}

TEST_CASE("a broken state is refused by field and changes nothing") {
  RepairBuffer buffer(always());
  buffer.add(entry("t", "p"));
  const json before = buffer.state();
  const auto refusal = [&](const json& state) -> std::string {
    try {
      buffer.restore(state);
    } catch (const InputError& error) {
      CHECK(buffer.state() == before);
      return error.what();
    }
    return "accepted";
  };
  CHECK_THAT(refusal(json::array()), ContainsSubstring("'entries'"));
  CHECK_THAT(refusal({{"entries", 3}}), ContainsSubstring("'entries'"));
  for (const char* field : {"task_id", "stage", "program", "fault_class", "diagnostics"}) {
    json missing = before, mistyped = before;
    missing["entries"].push_back(before["entries"][0]);
    missing["entries"][1].erase(field);
    mistyped["entries"][0][field] = 5;
    CHECK_THAT(refusal(missing), ContainsSubstring("entry 1") && ContainsSubstring(concat("'", field, "'")));
    CHECK_THAT(refusal(mistyped), ContainsSubstring("entry 0") && ContainsSubstring(concat("'", field, "'")));
  }
  json stage = before;
  stage["entries"][0]["stage"] = "warm_up";
  CHECK_THAT(refusal(stage), ContainsSubstring("'stage'"));
}

TEST_CASE("repair settings from the configuration") {
  const RepairSettings defaults = configured("{}");
  CHECK(defaults.probability == 0);
  CHECK(defaults.capacity == 256);
  const RepairSettings given =
      configured("{probability: 0.1, capacity: 8, max_diagnostics_chars: 100, max_program_chars: 4000}");
  CHECK(given.probability == 0.1);
  CHECK(given.capacity == 8);
  CHECK(given.max_diagnostics_chars == 100);
  CHECK(given.max_program_chars == 4000);
  // Repairs are off unless a probability is set: then the other keys would do nothing.
  CHECK_NOTHROW(configured("{probability: 0, capacity: 8}"));
  for (const char* key : {"capacity", "max_diagnostics_chars", "max_program_chars"})
    CHECK_THROWS_WITH(
        configured(concat(key, ": 8")),
        concat("run.yaml:1: ", key, ": has no effect without 'probability', which is 0 unless it is set"));
  for (const char* bad : {"probability: 1.1", "probability: -0.1", "capacity: 0", "max_diagnostics_chars: -1",
                          "max_program_chars: 0", "probabilty: 0.1"})
    CHECK_THROWS_AS(configured(bad), InputError);
}
