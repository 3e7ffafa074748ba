// The folder of a run: what may be gone on with, and what is refused with the reason.
#include "trainer/run/run_directory.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files.h"
#include "tasks/verifier_description.h"
#include "tests/support/support.h"

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

}  // namespace
}  // namespace bicrl
