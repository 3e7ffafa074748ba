// The ledger of verdicts: what a run met once it meets again, whoever dies in between.
#include "tests/trainer/ranks/thread_ranks.h"

#include "trainer/experience/verdict_ledger.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/files.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::on_ranks;

Task task_named(const std::string& id) {
  Task task;
  task.id = id;
  task.pytorch_code = "class Model: " + id;
  return task;
}

Verdict verdict_of(bool correct, const std::string& note = "") {
  Verdict verdict;
  verdict.outcome = Outcome::kGraded;
  verdict.correct = correct;
  verdict.diagnostics = note;
  return verdict;
}

TEST_CASE("a verdict is met again by the next process, and nothing else is") {
  const testing::TemporaryFolder folder;
  SingleProcessControl alone;
  const Task a = task_named("a");
  {
    VerdictLedger ledger(folder.path() / "ledger", {"p", "v"}, alone);
    ledger.resume_at(0);
    CHECK(!ledger.find(ledger.key_of(a, "program")));
    ledger.keep(ledger.key_of(a, "program"), verdict_of(true, "first"));
    ledger.keep(ledger.key_of(a, "program"), verdict_of(false, "second"));  // the first one counts
    Verdict lost;
    lost.outcome = Outcome::kInfrastructure;
    ledger.keep(ledger.key_of(a, "unlucky"), lost);
    Verdict never;  // a repeated step has to leave the same tasks out
    never.outcome = Outcome::kInvalidTask;
    ledger.keep(ledger.key_of(a, "ungradable"), never);
    CHECK(ledger.find(ledger.key_of(a, "program"))->diagnostics == "first");
  }  // killed before the round ended
  VerdictLedger ledger(folder.path() / "ledger", {"p", "v"}, alone);
  ledger.resume_at(0);
  CHECK(ledger.find(ledger.key_of(a, "program"))->diagnostics == "first");
  CHECK(!ledger.find(ledger.key_of(a, "unlucky")));
  REQUIRE(ledger.find(ledger.key_of(a, "ungradable")));
  CHECK(ledger.find(ledger.key_of(a, "ungradable"))->outcome == Outcome::kInvalidTask);
  CHECK(!ledger.find(ledger.key_of(task_named("b"), "program")));
  VerdictLedger other(folder.path() / "other", {"p2", "v"}, alone);
  CHECK(other.key_of(a, "program") != ledger.key_of(a, "program"));
}

TEST_CASE("verdicts of another verifier do not count, unless they are adopted") {
  const testing::TemporaryFolder folder;
  SingleProcessControl alone;
  const Task a = task_named("a");
  const auto grade = [&](const std::string& name, const std::string& verifier, const std::string& note) {
    VerdictLedger ledger(folder.path() / name, {"p", verifier}, alone);
    ledger.resume_at(0);
    const std::string key = ledger.key_of(a, "program");
    const auto known = ledger.find(key);
    if (!known) ledger.keep(key, verdict_of(true, note));
    return std::make_tuple(key, known ? known->diagnostics : "", ledger.foreign());
  };
  const auto [first_key, none, zero] = grade("ledger", "strict", "of the strict one");
  CHECK((none.empty() && zero == 0));
  const auto [second_key, unknown, foreign] = grade("ledger", "lax", "of the lax one");
  CHECK((unknown.empty() && foreign == 1));
  CHECK(first_key != second_key);
  CHECK(std::get<1>(grade("ledger", "strict", "")) == "of the strict one");
  CHECK(std::get<1>(grade("ledger", "lax", "")) == "of the lax one");

  // A replay takes verdicts as they are, and so does a replay of the replay.
  grade("strict", "strict", "of the strict one");
  for (const auto& [from, to] : {std::pair("strict", "replay"), std::pair("replay", "again")}) {
    VerdictLedger ledger(folder.path() / to, {"p", ""}, alone);
    ledger.adopt(read_ledger(folder.path() / from));
    ledger.resume_at(0);
    CHECK(ledger.key_of(a, "program") == first_key);
    CHECK(ledger.find(first_key)->diagnostics == "of the strict one");
    CHECK(ledger.key_of(a, "another") != first_key);
  }
}

TEST_CASE("a round that is repeated gives every rank the verdicts it had") {
  const testing::TemporaryFolder folder;
  const Task a = task_named("a"), b = task_named("b");
  std::vector<std::string> seen(2);
  const auto play = [&](ControlPlane& control, bool again) {
    VerdictLedger ledger(folder.path() / "ledger", {"p", "v"}, control);
    ledger.resume_at(1);
    const std::string key = ledger.key_of(a, "x");
    const std::string mine = concat("round 1 of rank ", control.rank());
    if (again) {
      BICRL_CHECK(ledger.find(key) && ledger.find(key)->diagnostics == mine);
    } else {
      // Two servers with secrets of their own may judge differently.
      ledger.keep(key, verdict_of(true, mine));
    }
    if (control.rank() == 1 && !again) ledger.keep(ledger.key_of(b, "y"), verdict_of(true, "of rank 1"));
    if (control.rank() == 1 && again) BICRL_CHECK(ledger.find(ledger.key_of(b, "y")));
    ledger.end_round(control.all_gather(ledger.unshared()));
    BICRL_CHECK(ledger.round() == 2);
    seen[static_cast<size_t>(control.rank())] =
        ledger.find(key)->diagnostics + ", " + ledger.find(ledger.key_of(b, "y"))->diagnostics;
  };
  on_ranks(2, [&](ControlPlane& c) { play(c, false); });
  const std::vector<std::string> first = seen;
  CHECK(first == std::vector<std::string>(2, "round 1 of rank 0, of rank 1"));
  on_ranks(2, [&](ControlPlane& c) { play(c, true); });
  CHECK(seen == first);
  // From a later checkpoint on, and with another number of ranks, the agreed verdict is the one that is met.
  SingleProcessControl alone;
  VerdictLedger ledger(folder.path() / "ledger", {"p", "v"}, alone);
  ledger.resume_at(2);
  CHECK(ledger.find(ledger.key_of(a, "x"))->diagnostics == "round 1 of rank 0");
  CHECK(ledger.find(ledger.key_of(b, "y"))->diagnostics == "of rank 1");
  CHECK(ledger.size() == 2);
}

TEST_CASE("a torn last line is forgotten, a broken line is refused with its number") {
  const testing::TemporaryFolder folder;
  SingleProcessControl alone;
  const auto file = folder.path() / "ledger" / "rank-0.jsonl";
  {
    VerdictLedger ledger(folder.path() / "ledger", {"p", "v"}, alone);
    ledger.resume_at(0);
    ledger.keep("k1", verdict_of(true));
    ledger.keep("k2", verdict_of(true));
  }
  const std::string bytes = read_file(file);
  const size_t second = bytes.find('\n') + 1;
  for (size_t length = second; length < bytes.size(); length += 13) {
    std::ofstream(file, std::ios::trunc) << bytes.substr(0, length);
    VerdictLedger ledger(folder.path() / "ledger", {"p", "v"}, alone);
    ledger.resume_at(0);
    CHECK(ledger.find("k1"));
    CHECK(!ledger.find("k2"));
    CHECK(read_file(file).size() == second);
  }
  std::ofstream(file, std::ios::trunc) << bytes.substr(0, second) << "{\"round\": 0}\n";
  CHECK_THROWS_WITH(VerdictLedger(folder.path() / "ledger", {"p", "v"}, alone),
                    ContainsSubstring("rank-0.jsonl:2"));
}

TEST_CASE("what a step was left without is met again by every rank, whole or not at all") {
  const testing::TemporaryFolder folder;
  const StepPlace place{"end_to_end", 3};
  Verdict lost;
  lost.outcome = Outcome::kInfrastructure;
  lost.diagnostics = "given up";
  // A second turn of an episode, and the only one of another.
  const auto of_rank = [&](int rank) {
    return MaskedSet{.place = place,
                     .turns = {{.episode = {.place = place, .group = rank, .sample = 0},
                                .turn = 1,
                                .verdict_key = "k",
                                .straggled = true,
                                .verdict = lost},
                               {.episode = {.place = place, .group = rank, .sample = 5},
                                .turn = 0,
                                .verdict_key = "l",
                                .straggled = false,
                                .verdict = lost}}};
  };
  const auto key_of = [&](int64_t group, int64_t sample, const StepPlace& where) {
    return EpisodeKey{.place = where, .group = group, .sample = sample};
  };
  on_ranks(2, [&](ControlPlane& control) {
    VerdictLedger ledger(folder.path() / "ledger", {"p", "v"}, control);
    ledger.resume_at(0);
    BICRL_CHECK(!ledger.masked(key_of(0, 0, place), 1, "k"));
    ledger.keep("k", verdict_of(true));
    ledger.keep_masked(of_rank(control.rank()));
    ledger.keep_masked(of_rank(control.rank()));  // a step that is repeated
    ledger.keep_masked({.place = place, .turns = {}});
  });
  SingleProcessControl alone;
  const auto file = folder.path() / "ledger" / "rank-1.jsonl";
  const std::string bytes = read_file(file);
  CHECK(std::count(bytes.begin(), bytes.end(), '\n') == 2);
  const auto found = [&](int64_t group, int64_t sample, int64_t turn, const std::string& key,
                         const StepPlace& where = {"end_to_end", 3}) {
    VerdictLedger ledger(folder.path() / "ledger", {"p", "v"}, alone);
    ledger.resume_at(0);
    CHECK(ledger.find("k"));  // whatever was left without it
    const MaskedTurn* masked = ledger.masked(key_of(group, sample, where), turn, key);
    return masked ? concat(masked->verdict.diagnostics, " ", masked->straggled) : "";
  };
  for (const int64_t rank : {0, 1}) {
    CHECK(found(rank, 0, 1, "k") == "given up 1");
    CHECK(found(rank, 5, 0, "l") == "given up 0");
  }
  CHECK(found(1, 0, 1, "l").empty());  // another program by now
  CHECK(found(1, 0, 0, "k").empty());
  CHECK(found(1, 1, 1, "k").empty());
  CHECK(found(1, 0, 1, "k", {"end_to_end", 4}).empty());
  CHECK(found(1, 0, 1, "k", {"infilling", 3}).empty());
  CHECK_FALSE(read_ledger(folder.path() / "ledger").masked.find(key_of(2, 0, place), 1, "k"));
  CHECK(read_ledger(folder.path() / "ledger").masked.find(key_of(1, 5, place), 0, "l"));

  // A replay leaves out the same, under the keys of the run that it repeats, and so does a replay of that.
  for (const auto& [from, to] : {std::pair("ledger", "replay"), std::pair("replay", "again")}) {
    VerdictLedger ledger(folder.path() / to, {"p", ""}, alone);
    ledger.adopt(read_ledger(folder.path() / from));
    ledger.resume_at(0);
    REQUIRE(ledger.masked(key_of(1, 0, place), 1, "k"));
    ledger.keep_masked(of_rank(1));
  }

  const size_t second = bytes.find('\n') + 1;
  for (size_t length = second; length < bytes.size(); length += 7) {
    std::ofstream(file, std::ios::trunc) << bytes.substr(0, length);
    CHECK(found(1, 0, 1, "k").empty());
    CHECK(found(1, 5, 0, "l").empty());
    CHECK(found(0, 0, 1, "k") == "given up 1");
  }
  auto judged = nlohmann::json::parse(bytes.substr(second));
  judged["masked"][1]["verdict"] = to_json(verdict_of(false));
  for (const std::string& broken : {judged.dump(), std::string(R"({"masked": [], "phase": "end_to_end"})"),
                                    std::string(R"({"masked": [{}], "phase": "end_to_end", "step": 3})")}) {
    std::ofstream(file, std::ios::trunc) << bytes.substr(0, second) << broken << "\n";
    CHECK_THROWS_WITH(found(1, 0, 1, "k"), ContainsSubstring("rank-1.jsonl:2"));
  }
}

TEST_CASE("a ledger of another protocol is refused, whether it is gone on with or replayed") {
  const testing::TemporaryFolder folder;
  SingleProcessControl alone;
  {
    VerdictLedger ledger(folder.path() / "ledger", {"p", "v"}, alone);
    ledger.resume_at(0);
    ledger.keep("k1", verdict_of(true));
    ledger.keep("k2", verdict_of(true));
  }
  const auto file = folder.path() / "ledger" / "rank-0.jsonl";
  const std::string bytes = read_file(file);
  auto old = nlohmann::json::parse(bytes.substr(bytes.find('\n') + 1));
  auto& verdict = old["verdict"];
  for (const char* field : {"tolerance", "run_ms", "lane_operations"}) verdict.erase(field);
  verdict["tier"] = "replay";  // as protocol 2 had it
  verdict["replay_ms"] = 1.0;
  std::ofstream(file, std::ios::trunc) << bytes.substr(0, bytes.find('\n') + 1) << old.dump() << "\n";
  const auto folder_of_old = folder.path() / "ledger";
  CHECK_THROWS_WITH(
      VerdictLedger(folder_of_old, {"p", "v"}, alone),
      ContainsSubstring("rank-0.jsonl:2") && ContainsSubstring("another protocol of the verifier"));
  CHECK_THROWS_WITH(read_ledger(folder_of_old), ContainsSubstring("rank-0.jsonl:2") &&
                                                    ContainsSubstring("another protocol of the verifier"));
}

TEST_CASE("what fails on rank 0 fails on every rank with the same words and code") {
  std::vector<std::string> messages(3);
  std::vector<int> codes(3);
  on_ranks(3, [&](ControlPlane& control) {
    try {
      on_rank_zero(control, [] { throw InputError("no such thing"); });
    } catch (const SharedError& error) {
      messages[static_cast<size_t>(control.rank())] = error.what();
      codes[static_cast<size_t>(control.rank())] = static_cast<int>(error.code());
    }
    int calls = 0;
    on_rank_zero(control, [&] { ++calls; });
    BICRL_CHECK(calls == (control.rank() == 0 ? 1 : 0));  // Catch2's assertions are for one thread
  });
  CHECK(messages == std::vector<std::string>(3, "no such thing"));
  CHECK(codes == std::vector<int>(3, static_cast<int>(ExitCode::kUsage)));
}

}  // namespace
}  // namespace bicrl
