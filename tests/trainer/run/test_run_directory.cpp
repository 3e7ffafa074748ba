// The folder of a run: what may be gone on with, and what is refused with the reason.
#include "trainer/run/run_directory.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/files.h"
#include "common/program_version.h"
#include "tests/support/support.h"
#include "verdict/verifier_description.h"

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

TEST_CASE("a run is taken up by the program that speaks its verifier's protocol, and by no other") {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "run";
  {
    RunDirectory run(path);
    CHECK_FALSE(run.has_run());
    run.adopt("a: 1\n", "rule: binary\n", /*allow_changes=*/false);
  }
  CHECK(RunDirectory(path).has_run());
  RunDirectory(path).mark_finished();
  CHECK(RunDirectory(path).finished());

  const json written = json::parse(read_file(path / "run.json"));
  CHECK(written.at("protocol") == kProtocolVersion);
  CHECK_FALSE(written.at("program").at("version").get<std::string>().empty());
  CHECK(written.at("program").value("commit", "") == kProgramVersion.commit);
  const auto refused = [&](const json& stored, const std::string& reason) {
    write_file_atomically(path / "run.json", stored.dump() + "\n");
    CHECK_THROWS_WITH(RunDirectory(path), ContainsSubstring("run.json") && ContainsSubstring(reason) &&
                                              ContainsSubstring("name another folder"));
  };
  for (const bool finished : {false, true}) {
    json old = written;
    old["finished"] = finished;
    old.erase("protocol");  // as it was up to protocol 2
    refused(old, concat("another protocol of the verifier (2 or earlier, this program speaks ",
                        kProtocolVersion, ")"));
    for (const json& other : {json("3"), json("99"), json(4), json(nullptr)}) {
      old["protocol"] = other;
      refused(old, "another protocol of the verifier");
    }
  }
  json other_format = written;
  other_format["format"] = 1;
  refused(other_format, "another version of this program");
  write_file_atomically(path / "run.json", written.dump() + "\n");
  CHECK(RunDirectory(path).finished());  // nothing was lost by what was refused
}

TEST_CASE("a bench is marked in run.json, for good") {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "run";
  const auto is_marked = [&] { return json::parse(read_file(path / "run.json")).contains("bench"); };
  {
    RunDirectory run(path);
    run.adopt("a: 1\n", "rule: binary\n", /*allow_changes=*/false);
    CHECK_FALSE(is_marked());
    run.mark_bench();
    CHECK(is_marked());
  }
  RunDirectory(path).mark_finished();
  CHECK(is_marked());
}

TEST_CASE("finished run is extended by more steps of its last stage, and by nothing else") {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "run";
  const std::string before =
      "run:\n  seed: 1\nwarm_up:\n  steps: 5\nstages:\n  - stage: infilling\n    steps: 2\n"
      "  - stage: end_to_end\n    steps: 3\n";
  RunDirectory run(path);
  run.adopt(before, "rule: binary\n", false);
  run.mark_finished();
  const auto with = [&](const std::string& old, const std::string& changed) {
    std::string text = before;
    text.replace(text.find(old), old.size(), changed);
    return text;
  };
  CHECK(run.is_extended_by(with("steps: 3", "steps: 30")));
  CHECK(run.is_extended_by(before + "  - stage: end_to_end\n    steps: 4\n"));
  CHECK_FALSE(run.is_extended_by(before));
  CHECK_FALSE(run.is_extended_by(with("steps: 3", "steps: 1")));
  CHECK_FALSE(run.is_extended_by(with("steps: 2", "steps: 9")));
  CHECK_FALSE(run.is_extended_by(with("steps: 5", "steps: 9")));
  CHECK_FALSE(run.is_extended_by(with("seed: 1", "seed: 2")));
  run.adopt(with("steps: 3", "steps: 30"), "rule: binary\n", true);
  CHECK_FALSE(run.finished());
  CHECK(json::parse(read_file(path / "run.json")).at("finished") == false);
  const testing::TemporaryFolder other;
  RunDirectory supervised(other.path() / "run");
  supervised.adopt("warm_up:\n  steps: 5\nstages: []\n", "rule: binary\n", false);
  CHECK(supervised.is_extended_by("warm_up:\n  steps: 6\nstages: []\n"));
  CHECK_FALSE(supervised.is_extended_by("warm_up:\n  epochs: 6\nstages: []\n"));
  supervised.adopt("warm_up:\n  epochs: 2\nstages: []\n", "rule: binary\n", true);
  CHECK(supervised.is_extended_by("warm_up:\n  epochs: 3\nstages: []\n"));
  CHECK_FALSE(supervised.is_extended_by("warm_up:\n  epochs: 1\nstages: []\n"));
}

}  // namespace
}  // namespace bicrl
