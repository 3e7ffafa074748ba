// Step verify: verdicts that only the verifier is to blame for.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "common/files/files.h"
#include "tests/curation/fake_services.h"
#include "tests/curation/pipelines.h"
#include "tests/curation/record_lists.h"
#include "tests/support/support.h"

namespace bicrl::curation {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

std::vector<Record> answers(int count) {
  std::vector<Record> records;
  for (int i = 0; i < count; ++i) {
    records.push_back(sample(concat("r", i), concat("t", i), 1, 1));
    records.back().verdict.reset();
    records.back().answer.program = concat("p", i);
  }
  return records;
}

// Of these programs the verifier has no verdict.
FakeGrader without_verdict(std::function<bool(const std::string& program)> is_poison) {
  return FakeGrader([is_poison](const VerificationRequest& request) {
    Verdict verdict;
    verdict.outcome = is_poison(request.program) ? Outcome::kInfrastructure : Outcome::kGraded;
    verdict.correct = verdict.compiled = verdict.outcome == Outcome::kGraded;
    verdict.diagnostics = "internal error: vector::_M_range_check";
    return verdict;
  });
}

TEST_CASE("record that the verifier fails on stops a pipeline, or leaves where that is asked for") {
  FakeServices services;
  services.verdicts = without_verdict([](const std::string& program) { return program == "p3"; });
  CHECK_THROWS_MATCHES(
      run_step("verify", answers(9), services), Error,
      MessageMatches(ContainsSubstring("record r3") && ContainsSubstring("internal error: vector") &&
                     ContainsSubstring("'unverified: drop'")));
  const StepResult result = run_step("verify, unverified: drop", answers(9), services);
  CHECK(result.dropped == std::map<std::string, std::string>{{"r3", "no verdict"}});
  REQUIRE(result.records.size() == 8);
  for (const Record& record : result.records) CHECK(record.verdict->correct);
}

TEST_CASE("dropped record without a verdict is asked again by the next run") {
  const testing::TemporaryFolder folder;
  std::string lines;
  for (const Record& record : answers(5)) lines += to_line(record) + "\n";
  write_file_atomically(folder.path() / "in.jsonl", lines);
  FakeServices services;
  services.verdicts = without_verdict([](const std::string& program) { return program == "p3"; });
  const auto verify = [&](const std::string& more) {
    run_pipeline(concat("curation: {directory: ", (folder.path() / "run").string(),
                        "}\nsteps:\n  - {step: load, files: [", (folder.path() / "in.jsonl").string(),
                        "], form: records}\n  - {step: verify, unverified: drop}\n", more),
                 services);
    return lines_of(folder.path() / "run/records/02-verify.jsonl").size();
  };
  CHECK(verify("") == 4);
  CHECK_THAT(read_file(folder.path() / "run/audit/02-verify.jsonl"), ContainsSubstring("internal error"));
  CHECK(read_file(folder.path() / "run/ledger.jsonl").find("infrastructure") == std::string::npos);
  std::filesystem::remove(folder.path() / "run/records/02-verify.jsonl");
  const int before = services.verdicts.answered;
  services.verdicts = without_verdict([](const std::string&) { return false; });
  CHECK(verify("") == 5);
  CHECK(before == 5);
  CHECK(services.verdicts.answered == 1);
}

TEST_CASE("verifier that fails on every program stops a pipeline that drops single records") {
  FakeServices services;
  services.verdicts = without_verdict([](const std::string&) { return true; });
  CHECK_THROWS_MATCHES(run_step("verify, unverified: drop", answers(60), services), Error,
                       MessageMatches(ContainsSubstring("33 programs in a row")));
  // One that dies before the last few programs.
  const auto is_late = [](const std::string& program) { return program >= "p5"; };
  services.verdicts = without_verdict(is_late);
  CHECK_THROWS_MATCHES(run_step("verify, unverified: drop", answers(9), services), Error,
                       MessageMatches(ContainsSubstring("4 programs in a row")));
  services.verdicts = without_verdict(is_late);
  CHECK(run_step("verify, unverified: drop", answers(8), services).dropped.size() == 3);
}

TEST_CASE("equal programs to one task are verified once") {
  FakeServices services;
  std::vector<Record> records = answers(4);
  for (Record& record : records) {
    record.pytorch_code = records[0].pytorch_code;
    if (record.id != "r3") record.answer.program = "same";
  }
  const StepResult result = run_step("verify", records, services);
  CHECK(result.ids() == std::vector<std::string>{"r0", "r1", "r2", "r3"});
  for (const Record& record : result.records) CHECK(record.verdict->correct);
  CHECK(services.verdicts.answered == 2);
}

}  // namespace
}  // namespace bicrl::curation
