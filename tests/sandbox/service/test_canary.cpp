// The verifier's check of itself: a sound pipeline passes, and every way of being unsound is told apart.
#include "sandbox/service/canary.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/error.h"
#include "tests/sandbox/service/service_support.h"

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;

Verdict graded(const std::string& fault_class) {
  Verdict verdict;
  verdict.outcome = Outcome::kGraded;
  verdict.reached = "compare";
  verdict.correct = fault_class.empty();
  verdict.fault_class = fault_class;
  return verdict;
}

Verdict failed(Outcome outcome, const std::string& reached, const std::string& fault_class,
               const std::string& diagnostics) {
  Verdict verdict;
  verdict.outcome = outcome;
  verdict.reached = reached;
  verdict.fault_class = fault_class;
  verdict.diagnostics = diagnostics;
  return verdict;
}

// The message of a check in which the first program gets `correct` and the second `incorrect`.
std::string complaint(const Verdict& correct, const Verdict& incorrect) {
  int calls = 0;
  try {
    check_canaries([&](const VerificationRequest& request) {
      CHECK(request.fresh);
      return calls++ == 0 ? correct : incorrect;
    });
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUnavailable);
    return error.what();
  }
  return "";
}

TEST_CASE("a sound pipeline passes its canaries, again and again") {
  Pipeline& pipeline = testing::pipeline();
  for (int round = 0; round < 5; ++round) {
    const CanaryTimes times = run_canaries(pipeline);
    CHECK(times.correct_ms > 0);
    CHECK(times.incorrect_ms > 0);
  }
}

TEST_CASE("a verifier that grades every program correct, incorrect or dead fails its canaries") {
  CHECK(complaint(graded(""), graded("wrong_value")).empty());
  CHECK_THAT(complaint(graded(""), graded("")),
             ContainsSubstring("an incorrect program is not graded as incorrect"));
  CHECK_THAT(complaint(graded(""), graded("non_finite")), ContainsSubstring("non_finite"));
  CHECK_THAT(complaint(graded("wrong_value"), graded("wrong_value")),
             ContainsSubstring("a correct program is not graded as correct"));
  CHECK_THAT(complaint(graded(""), failed(Outcome::kInfrastructure, "run", "", "no space left")),
             ContainsSubstring("no space left"));
}

TEST_CASE("a failed canary names the likely remedy") {
  CHECK_THAT(complaint(failed(Outcome::kInfrastructure, "extract", "",
                              "the oracle interpreter is not ready: ImportError: libtorch"),
                       graded("")),
             ContainsSubstring("ImportError: libtorch") && ContainsSubstring("BICRL_PYTHON"));
  CHECK_THAT(complaint(failed(Outcome::kInfrastructure, "extract", "", "No module named 'torch.nn.utils'"),
                       graded("")),
             ContainsSubstring("every user may read"));
  CHECK_THAT(complaint(failed(Outcome::kCandidateFault, "compile", "compile", "cc1plus"), graded("")),
             ContainsSubstring("cc1plus") && ContainsSubstring("g++"));
  CHECK_THAT(complaint(failed(Outcome::kCandidateFault, "compile", "timeout", ""), graded("")),
             ContainsSubstring("limits"));
  CHECK_THAT(complaint(failed(Outcome::kInfrastructure, "run", "", "cannot write"), graded("")),
             ContainsSubstring("scratch"));
}

TEST_CASE("a stop ends the check as an interruption, not as a fault of the machine") {
  std::stop_source stop;
  try {
    check_canaries(
        [&](const VerificationRequest&) {
          stop.request_stop();
          return failed(Outcome::kInfrastructure, "extract", "", "cancelled");
        },
        stop.get_token());
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kInterrupted);
  }
}

}  // namespace
}  // namespace bicrl
