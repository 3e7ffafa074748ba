// Programs for tasks that are too large to be run here (large_programs.h), judged at reduced sizes.
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "tests/sandbox/service/service_support.h"
#include "tests/sandbox/verifier/large_programs.h"

namespace bicrl {
namespace {

using testing::CorpusEntry;
using testing::large_entries;
using testing::LargeKind;

// What is wrong at the own size alone is not seen at reduced ones: such a program is graded correct, and its
// class says so: "unseen", or "unseen_paid" if it has the time of a correct program as well.
bool as_expected(const CorpusEntry& entry, const Verdict& verdict) {
  if (entry.expects("unseen") || entry.expects("unseen_paid")) return verdict.correct;
  return entry.expects(verdict.correct ? "correct" : verdict.fault_class);
}

std::vector<Verdict> check(std::vector<CorpusEntry> entries, size_t least) {
  CHECK(entries.size() >= least);
  if (const char* only = getenv("BICRL_CORPUS"))  // programs whose names hold this
    std::erase_if(entries, [&](const CorpusEntry& e) { return e.name.find(only) == std::string::npos; });
  std::vector<Verdict> verdicts(entries.size());
  testing::for_each_entry(
      entries, 2, [&](size_t k, Pipeline& pipeline) { verdicts[k] = pipeline.verify(entries[k].request); });
  for (size_t i = 0; i < entries.size(); ++i) {
    const Verdict& v = verdicts[i];
    if (getenv("BICRL_PRINT_CORPUS"))
      printf(
          "%s %s: %s | %.1e lane operations | %.17g ms modelled | %s | %.0f ms (compile %.0f, record %.0f, "
          "run %.0f)\n",
          as_expected(entries[i], v) ? "ok  " : "BAD ", entries[i].name.c_str(),
          v.correct ? "correct" : v.fault_class.c_str(), double(v.lane_operations), v.candidate_ms,
          v.diagnostics.substr(0, 300).c_str(), v.total_ms, v.compile_ms, v.record_ms, v.run_ms);
    INFO(entries[i].name << ": expected " << entries[i].classes << ", got " << v.fault_class << ": "
                         << v.diagnostics);
    CHECK(as_expected(entries[i], v));
    CHECK((v.graded_at == kReducedSize || !v.correct));
  }
  return verdicts;
}

}  // namespace

TEST_CASE("programs in ordinary style are graded correct at reduced sizes, and those listed have a time") {
  auto entries = large_entries(LargeKind::kOrdinary);
  for (CorpusEntry& entry : entries) entry.request.protocol.measure_time = true;
  const auto verdicts = check(entries, 60);
  if (getenv("BICRL_CORPUS")) return;
  for (size_t i = 0; i < entries.size(); ++i) {
    INFO(entries[i].name << ": " << verdicts[i].diagnostics);
    CHECK((verdicts[i].candidate_ms > 0) == entries[i].expects("timed"));
  }
}

TEST_CASE("programs that refuse all sizes but their own are specialised") {
  check(large_entries(LargeKind::kSpecialised), 60);
}

TEST_CASE("incorrect neighbours are refused unless only their own size shows it") {
  check(large_entries(LargeKind::kNeighbours), 180);
}

// A program that does other work at its own size alone has no time, as far as its launches, their arguments
// or a sample of its blocks show it. Else it has the time of its work at reduced sizes, and gains nothing.
TEST_CASE("programs that look at sizes are refused or gain no speed") {
  auto entries = testing::hostile_large_entries();
  for (CorpusEntry& entry : entries) entry.request.protocol.measure_time = true;
  const auto verdicts = check(entries, 40);
  if (getenv("BICRL_CORPUS")) return;
  std::map<std::string, Verdict> ordinary;
  for (size_t i = 0; i < entries.size(); ++i) {
    INFO(entries[i].name << ": " << verdicts[i].diagnostics);
    if (!entries[i].expects("unseen_paid")) {
      CHECK(verdicts[i].candidate_ms == 0);
      continue;
    }
    const std::string& task = entries[i].request.task_id;
    for (const CorpusEntry& known : large_entries(LargeKind::kOrdinary))
      if (known.request.task_id == task && !ordinary.contains(task)) {
        VerificationRequest request = known.request;
        request.protocol.measure_time = true;
        ordinary[task] = testing::pipeline().verify(request);
      }
    CHECK(verdicts[i].costed_at == kReducedSize);
    CHECK(ordinary.at(task).candidate_ms > 0);
    CHECK(verdicts[i].candidate_ms > 0.8 * ordinary.at(task).candidate_ms);
  }
}

}  // namespace bicrl
