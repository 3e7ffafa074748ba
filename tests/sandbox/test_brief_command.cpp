// Short commands: what they say, how they end, and that one without an end is ended.
#include "sandbox/box/brief_command.h"

#include <catch2/catch_test_macros.hpp>

namespace bicrl {
namespace {

BriefAnswer shell(const std::string& script, double limit_s = 20) {
  return run_briefly({"/bin/sh", "-c", script}, {"GIVEN=yes"}, limit_s);
}

TEST_CASE("a short command's answer and exit code") {
  const BriefAnswer good = shell("echo out; echo $GIVEN$HOME >&2");
  CHECK(good.succeeded);
  CHECK(good.said == "out\nyes");  // nothing of this process's environment
  const BriefAnswer bad = shell("echo why; exit 7");
  CHECK_FALSE(bad.succeeded);
  CHECK(bad.exit_code == 7);
  CHECK(bad.said == "why");
  const BriefAnswer killed = shell("kill -9 $$");
  CHECK_FALSE(killed.succeeded);
  CHECK(killed.exit_code == -1);
}

TEST_CASE("a program that is not there is an answer, not an exception") {
  const BriefAnswer answer = run_briefly({"/no/such/program"});
  CHECK_FALSE(answer.succeeded);
  CHECK_FALSE(answer.said.empty());
}

TEST_CASE("a command without an end, or with endless output, is ended") {
  const BriefAnswer sleeper = shell("echo begun; exec sleep 1000", 0.3);
  CHECK_FALSE(sleeper.succeeded);
  CHECK(sleeper.said == "begun; no end within 0.3 s");
  const BriefAnswer flood = run_briefly({"/usr/bin/yes"});
  CHECK_FALSE(flood.succeeded);
  CHECK(flood.said.size() < (1u << 17));
}

}  // namespace
}  // namespace bicrl
