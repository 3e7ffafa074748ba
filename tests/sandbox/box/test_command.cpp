// Short commands: what they say, how they end, and that one without an end is ended.
#include "sandbox/box/process/command.h"

#include <catch2/catch_test_macros.hpp>

namespace bicrl {
namespace {

CommandResult run_shell(const std::string& script, double limit_s = 20) {
  return run_command({"/bin/sh", "-c", script}, {"GIVEN=yes"}, limit_s);
}

TEST_CASE("a short command's result and exit code") {
  const CommandResult good = run_shell("echo out; echo $GIVEN$HOME >&2");
  CHECK(good.succeeded);
  CHECK(good.output == "out\nyes");  // nothing of this process's environment
  const CommandResult bad = run_shell("echo why; exit 7");
  CHECK_FALSE(bad.succeeded);
  CHECK(bad.exit_code == 7);
  CHECK(bad.output == "why");
  const CommandResult killed = run_shell("kill -9 $$");
  CHECK_FALSE(killed.succeeded);
  CHECK(killed.exit_code == -1);
}

TEST_CASE("a program that is not there is an result, not an exception") {
  const CommandResult result = run_command({"/no/such/program"});
  CHECK_FALSE(result.succeeded);
  CHECK_FALSE(result.output.empty());
}

TEST_CASE("a command without an end, or with endless output, is ended") {
  const CommandResult sleeper = run_shell("echo begun; exec sleep 1000", 0.3);
  CHECK_FALSE(sleeper.succeeded);
  CHECK(sleeper.output == "begun; no end within 0.3 s");
  const CommandResult flood = run_command({"/usr/bin/yes"});
  CHECK_FALSE(flood.succeeded);
  CHECK(flood.output.size() < (1u << 17));
}

}  // namespace
}  // namespace bicrl
