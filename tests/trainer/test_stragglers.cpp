// Verdicts that do not come in time: their responses are left out, the ledger knows it before an update is
// made of the others, and a step that is repeated leaves out the same ones. A verifier that is quick here may
// be late on a busy machine, so nothing below says which responses have their verdicts in time, but for those
// that never get one.
#include "tests/trainer/ranks/thread_ranks.h"
#include "tests/trainer/small_steps.h"
#include "trainer/experience/experience_collector.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <sstream>

#include "common/files/files.h"
#include "common/rng.h"
#include "tests/support/held_grader.h"
#include "tests/support/support.h"
#include "trainer/run/run_settings.h"

using namespace bicrl;
using namespace bicrl::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

constexpr double kDeadline_s = 0.5;

bool is_chosen(const HeldGrader::Question& asked) { return mix_key(2, asked.program) % 4 == 0; }

VerifierClientOptions options_for(const std::string& address) {
  VerifierClientOptions options;
  options.addresses = {address};
  return options;
}

struct Setting {
  std::filesystem::path ledger;
  std::string address;
  double deadline_s = 0;
  int ranks = 1;
  int64_t step = 1;
  const Quarantine* quarantine = nullptr;
  bool keeps = true;  // what is masked goes to the ledger, as a run does it before an update
};

// What a step has come to over all ranks.
struct Taken {
  std::vector<Episode> log;
  StepFigures figures;
  std::vector<MaskedTurn> masked;  // by group and sample
  size_t experiences = 0;
  int64_t unverified = 0;
};

// The step as a new process takes it that goes on from the start of the run.
Taken take(const Setting& setting) {
  const std::vector<Task> tasks = five_tasks();
  std::vector<CollectedStep> steps(static_cast<size_t>(setting.ranks));
  on_ranks(setting.ranks, [&](ControlPlane& control) {
    VerdictLedger ledger(setting.ledger, {"p", "v"}, control);
    ledger.resume_at(0);
    VerifierClient client(options_for(setting.address));
    EpisodeVerifier verifier(&client, &ledger,
                             {.straggler_deadline_s = setting.deadline_s, .quarantine = setting.quarantine});
    const DecodingSettings settings = decoding();
    DecodeEngine engine(policy(), tokenizer());
    ResponseCollector responses(engine, settings, verifier);
    ExperienceCollector collector(responses, &ledger, binary(), control, Placement::colocated(control.size()),
                                  {.samples_per_task = 4});
    const StepPlace place{"infilling", setting.step};
    CollectedStep& step = steps[static_cast<size_t>(control.rank())];
    step = collector.collect(prompted(tasks), 7, 0, place);
    BICRL_CHECK(client.pending() == 0);
    if (setting.keeps) ledger.keep_masked(masked_set(place, step.generated));
  });
  Taken taken;
  taken.log = std::move(steps[0].log);
  taken.figures = steps[0].figures;
  for (const UnverifiedCount& count : steps[0].unverified) taken.unverified += count.unverified;
  for (const CollectedStep& step : steps) {
    const std::vector<MaskedTurn> masked = masked_set({}, step.generated).turns;
    taken.masked.insert(taken.masked.end(), masked.begin(), masked.end());
    taken.experiences += step.experiences.size();
  }
  std::ranges::sort(taken.masked, {}, &MaskedTurn::episode);
  return taken;
}

using EntryFacts = std::tuple<int64_t, std::string, bool, double, double>;
std::vector<EntryFacts> facts_of(const Taken& taken) {
  std::vector<EntryFacts> facts;
  for (const Episode& e : taken.log)
    facts.emplace_back(e.key.group, e.last().verdict_key, e.reward.masked, e.reward.value, e.advantage);
  return facts;
}

std::vector<std::pair<int64_t, int64_t>> places_of(const Taken& taken) {
  std::vector<std::pair<int64_t, int64_t>> places;
  for (const MaskedTurn& m : taken.masked) places.emplace_back(m.episode.group, m.episode.sample);
  return places;
}

void check_equal(const Taken& found, const Taken& expected) {
  CHECK((facts_of(found) == facts_of(expected)));
  CHECK((places_of(found) == places_of(expected)));
  REQUIRE(found.masked.size() == expected.masked.size());
  for (size_t i = 0; i < found.masked.size(); ++i) {
    CHECK(found.masked[i].verdict_key == expected.masked[i].verdict_key);
    CHECK(found.masked[i].straggled == expected.masked[i].straggled);
    CHECK(found.masked[i].verdict.diagnostics == expected.masked[i].verdict.diagnostics);
  }
  CHECK(found.experiences == expected.experiences);
  CHECK(found.unverified == expected.unverified);
  CHECK(found.figures[Figure::kStragglers] == expected.figures[Figure::kStragglers]);
  CHECK(found.figures[Figure::kLostRate] == expected.figures[Figure::kLostRate]);
  CHECK(found.figures[Figure::kConfirmed] == expected.figures[Figure::kConfirmed]);
  CHECK(found.figures[Figure::kCorrectRate] == expected.figures[Figure::kCorrectRate]);
  CHECK(found.figures[Figure::kTooFew] == expected.figures[Figure::kTooFew]);
  CHECK_THAT(found.figures[Figure::kRewardMean],
             Catch::Matchers::WithinAbs(expected.figures[Figure::kRewardMean], 1e-12));
}

// Takes the lines that say what was masked out of a ledger.
void forget_masked(const std::filesystem::path& ledger) {
  for (const auto& file : std::filesystem::directory_iterator(ledger)) {
    std::istringstream lines(read_file(file.path()));
    std::ofstream kept(file.path(), std::ios::trunc);
    for (std::string line; std::getline(lines, line);)
      if (line.find("\"masked\"") == std::string::npos) kept << line << "\n";
  }
}

}  // namespace

TEST_CASE("a straggler is left out, and again when its step is repeated, whatever is known by then") {
  for (const int ranks : {1, 2}) {
    const TemporaryFolder folder;
    HeldGrader grader;
    grader.is_held = is_chosen;
    grader.holds = true;
    Setting setting{.ledger = folder.path() / "ledger",
                    .address = grader.address(),
                    .deadline_s = kDeadline_s,
                    .ranks = ranks};
    // The process ends after the ledger has it and before an update.
    const Taken first = take(setting);
    REQUIRE_FALSE(first.masked.empty());
    const auto lost = static_cast<int64_t>(first.masked.size());
    CHECK(first.figures[Figure::kStragglers] == lost);
    CHECK(first.unverified == lost);
    for (const MaskedTurn& m : first.masked) {
      CHECK(m.straggled);
      CHECK_THAT(m.verdict.diagnostics, StartsWith("given up after 0.5 s"));
      const Episode& entry = first.log.at(static_cast<size_t>(4 * m.episode.group + m.episode.sample));
      CHECK((entry.reward.masked && entry.reward.value == 0 && entry.advantage == 0));
      CHECK(entry.last().verdict_key == m.verdict_key);
    }
    // Not wrong either: rates are over the others.
    CHECK(first.figures[Figure::kLostRate] == static_cast<double>(lost) / 20);

    grader.holds = false;
    const int calls = grader.calls();
    for (const int again_on : {ranks, 3 - ranks}) {
      setting.ranks = again_on;
      check_equal(take(setting), first);
      CHECK(grader.calls() == calls);  // all that counts is in the ledger
    }

    // Another step has the same responses here: they are verified now, and the ledger knows them from then
    // on.
    setting.ranks = ranks;
    setting.step = 2;
    setting.deadline_s = 0;
    const Taken later = take(setting);
    CHECK(later.masked.empty());
    CHECK(grader.calls() > calls);
    setting.step = 1;
    setting.deadline_s = kDeadline_s;
    check_equal(take(setting), first);

    forget_masked(setting.ledger);
    const Taken otherwise = take(setting);
    CHECK(otherwise.masked.empty());
    CHECK((facts_of(otherwise) != facts_of(first)));
    CHECK((facts_of(otherwise) == facts_of(later)));
  }
}

TEST_CASE("what was not yet in the ledger is decided anew") {
  const TemporaryFolder folder;
  HeldGrader grader;
  grader.is_held = is_chosen;
  grader.holds = true;
  Setting setting{.ledger = folder.path() / "ledger",
                  .address = grader.address(),
                  .deadline_s = kDeadline_s,
                  .keeps = false};  // as in a step that ends the run, with too few verdicts
  const Taken first = take(setting);
  CHECK_FALSE(first.masked.empty());
  grader.holds = false;
  setting.deadline_s = 0;
  const Taken again = take(setting);
  CHECK(again.masked.empty());
  CHECK(again.figures[Figure::kLostRate] == 0);
}

TEST_CASE("verdicts that the verifiers lost are left out again as well") {
  const TemporaryFolder folder;
  HeldGrader grader;
  grader.is_refused = is_chosen;
  const Setting setting{.ledger = folder.path() / "ledger", .address = grader.address()};
  const Taken first = take(setting);
  REQUIRE_FALSE(first.masked.empty());
  CHECK(first.figures[Figure::kStragglers] == 0);
  CHECK_FALSE(first.masked.front().straggled);
  grader.is_refused = [](const auto&) { return false; };
  check_equal(take(setting), first);
}

TEST_CASE("a second verification may straggle: the success does not count, now and when it is repeated") {
  const TemporaryFolder folder;
  HeldGrader grader;
  Setting setting{.ledger = folder.path() / "ledger", .address = grader.address()};
  const Taken unconfirmed = take(setting);  // so that first verdicts are in the ledger
  REQUIRE(unconfirmed.masked.empty());
  const Quarantine quarantine({.first_success = true});
  setting.quarantine = &quarantine;
  setting.deadline_s = kDeadline_s;
  grader.is_held = [](const auto& asked) { return asked.fresh && mix_key(2, asked.program) % 2 == 0; };
  grader.holds = true;
  const Taken first = take(setting);
  REQUIRE_FALSE(first.masked.empty());
  CHECK(first.figures[Figure::kConfirmed] >= first.figures[Figure::kStragglers]);
  for (const MaskedTurn& m : first.masked) {
    const auto at = static_cast<size_t>(4 * m.episode.group + m.episode.sample);
    CHECK_THAT(m.verdict.diagnostics, StartsWith("no second verification: given up"));
    CHECK(m.verdict_key == first.log.at(at).last().verdict_key);
    CHECK(m.verdict_key != unconfirmed.log.at(at).last().verdict_key);
    CHECK(unconfirmed.log.at(at).reward.value == 1);
  }
  grader.holds = false;
  const int calls = grader.calls();
  check_equal(take(setting), first);
  CHECK(grader.calls() == calls);
  forget_masked(setting.ledger);
  CHECK(take(setting).masked.empty());
}

TEST_CASE("a stop keeps the verdicts that have come and withdraws what is missing") {
  HeldGrader grader;
  grader.is_held = [](const auto& asked) { return asked.program == "slow"; };
  grader.holds = true;
  VerifierClient client(options_for(grader.address()));
  bool stops = false;
  EpisodeVerifier verifier(&client, nullptr, {.stop_requested = [&] { return stops; }});
  const Task task = five_tasks().front();
  const auto responses_to = [&](const std::vector<std::string>& programs) {
    std::vector<Episode> responses(programs.size());
    for (size_t i = 0; i < programs.size(); ++i) {
      responses[i].task = &task;
      responses[i].last().program = programs[i];
      verifier.submit(responses, i);
    }
    return responses;
  };
  auto responses = responses_to({"slow", "quick"});
  while (!responses[1].last().verdict) verifier.take_ready(responses);
  stops = true;
  CHECK_FALSE(verifier.wait(responses));
  CHECK_FALSE(responses[0].last().verdict.has_value());
  // With steps ahead of the update another step follows, with requests of the same ids.
  stops = false;
  auto others = responses_to({"a", "b"});
  REQUIRE(verifier.wait(others));
  for (const Episode& e : others) CHECK(e.last().verdict->diagnostics == "program " + e.last().program);
}

TEST_CASE("a verdict that was missing when a step was scored is confirmed as any other") {
  HeldGrader grader;
  const TemporaryFolder folder;
  SingleProcessControl control;
  VerdictLedger ledger(folder.path() / "ledger", {"p", "v"}, control);
  const Quarantine quarantine({.first_success = true});
  VerifierClient client(options_for(grader.address()));
  EpisodeVerifier verifier(&client, &ledger, {.quarantine = &quarantine});
  const Task task = five_tasks().front();
  std::string program = "late";
  while (mix_key(1, program) % 3 == 0) program += "r";  // the grader's rule for incorrect ones
  std::vector<Episode> responses(1);
  responses[0].task = &task;
  responses[0].last().program = program;
  responses[0].last().counted_key = ledger.key_of(task, program);  // of no verdict at all
  verifier.submit(responses, 0);
  REQUIRE(verifier.wait(responses));
  int64_t confirmed = 0;
  REQUIRE(verifier.confirm(responses, confirmed));
  CHECK(confirmed == 1);
  CHECK(grader.calls_for(program) == 2);
}

TEST_CASE("equal candidates straggle together, and no verdict of theirs goes to a later response") {
  HeldGrader grader;
  grader.is_held = [](const auto& asked) { return asked.program == "slow"; };
  grader.holds = true;
  VerifierClient client(options_for(grader.address()));
  EpisodeVerifier verifier(&client, nullptr, {.straggler_deadline_s = kDeadline_s});
  const Task task = five_tasks().front();
  const auto responses_to = [&](const std::vector<std::string>& programs) {
    std::vector<Episode> responses(programs.size());
    for (size_t i = 0; i < programs.size(); ++i) {
      responses[i].task = &task;
      responses[i].last().program = programs[i];
    }
    for (size_t i = 0; i < programs.size(); ++i) verifier.submit(responses, i);
    return responses;
  };
  auto responses = responses_to({"slow", "quick", "slow", "slow"});
  while (!responses[1].last().verdict) verifier.take_ready(responses);
  REQUIRE(verifier.wait(responses));
  for (const size_t i : {0, 2, 3}) {
    CHECK(responses[i].last().straggled);
    CHECK(responses[i].last().is_lost());
  }
  CHECK_FALSE(responses[1].last().straggled);
  CHECK(responses[1].last().verdict->diagnostics == "program quick");
  CHECK(grader.calls_for("slow") == 1);
  grader.holds = false;
  auto others = responses_to({"a", "b", "c", "slow"});
  while (!std::ranges::all_of(others, [](const Episode& e) { return e.last().verdict.has_value(); }))
    verifier.take_ready(others);
  for (const Episode& e : others) CHECK(e.last().verdict->diagnostics == "program " + e.last().program);
}

TEST_CASE("a deadline for stragglers is a time that can be waited for") {
  const auto deadline_of = [](const std::string& value) {
    const std::filesystem::path source = source_path("");
    const ConfigDocument document =
        ConfigDocument::from_file(source / "configs/quickstart.yaml", {"run.straggler_deadline_s=" + value});
    return RunSettings::from_config(document.root(), source / "configs").straggler_deadline_s;
  };
  CHECK(deadline_of("86400") == 86400);
  for (const char* endless : {".inf", "1e17", "86401"}) {
    CAPTURE(endless);
    CHECK_THROWS_WITH(deadline_of(endless),
                      ContainsSubstring("straggler_deadline_s: expected a number from 0 to 86400"));
  }
}
