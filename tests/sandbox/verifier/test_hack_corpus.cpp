// Dishonest, hostile, broken and honest programs through the whole pipeline: each ends in its class, no
// secret leaves a box, and the next candidate is served.
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>

#include "common/error.h"
#include "common/files/files.h"
#include "tests/sandbox/service/service_support.h"
#include "tests/sandbox/verifier/corpus.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

using testing::CorpusEntry;

CorpusEntry candidate(const std::string& name) { return testing::corpus_entry("sandbox/candidates", name); }

void check_verdict(const CorpusEntry& entry, const Verdict& verdict) {
  INFO(entry.name << ": reached " << verdict.reached << ", class '" << verdict.fault_class << "', "
                  << verdict.diagnostics);
  CHECK(verdict.outcome != Outcome::kInfrastructure);
  CHECK(entry.expects(verdict.correct ? "correct" : verdict.fault_class));
  CHECK(verdict.correct == (verdict.outcome == Outcome::kGraded && verdict.fault_class.empty()));
  CHECK(verdict.diagnostics.find("planted") == std::string::npos);
  CHECK(verdict.diagnostics.find("root:") == std::string::npos);
  CHECK(verdict.diagnostics.find(testing::source_path("").string()) == std::string::npos);
  CHECK(verdict.diagnostics.size() < 2100);
}

void check_canary() {
  const Verdict verdict = testing::pipeline().verify(candidate("honest").request);
  INFO("canary: " << verdict.fault_class << " " << verdict.diagnostics);
  REQUIRE(verdict.correct);
}

// An honest program through a pipeline that may be too impatient for this machine as busy as it is.
Verdict canary_of(Pipeline& pipeline, const VerificationRequest& honest) {
  Verdict verdict = pipeline.verify(honest);
  for (int round = 0; round < 100 && verdict.fault_class == "timeout"; ++round)
    verdict = pipeline.verify(honest);
  return verdict;
}

TEST_CASE("every program of the hack corpus ends in its class and the next one is served") {
  setenv("BICRL_TEST_SECRET", "planted-in-the-environment", 1);
  testing::TemporaryFolder folder;
  const std::string secret = folder.path() / "secret";
  std::ofstream(secret) << "planted-in-a-file";
  chmod(folder.path().c_str(), 0755);
  chmod(secret.c_str(), 0644);
  check_canary();
  std::vector<CorpusEntry> entries = testing::corpus("sandbox/candidates");
  REQUIRE(entries.size() > 70);
  const VerificationRequest honest = candidate("honest").request;
  for (auto& entry : entries)
    if (entry.request.program.find("SECRET_PATH") != std::string::npos)
      entry.request.program = testing::replaced(entry.request.program, "SECRET_PATH", secret);
  // Several at a time, as the server does it, each with a canary behind it in the same pipeline.
  std::vector<Verdict> verdicts(entries.size()), canaries(entries.size());
  testing::for_each_entry(entries, 6, [&](size_t k, Pipeline& pipeline) {
    verdicts[k] = pipeline.verify(entries[k].request);
    canaries[k] = canary_of(pipeline, honest);
  });
  for (size_t k = 0; k < entries.size(); ++k) {
    check_verdict(entries[k], verdicts[k]);
    INFO("after " << entries[k].name << ": " << canaries[k].fault_class << " " << canaries[k].diagnostics);
    CHECK(canaries[k].correct);
    const std::string& said = verdicts[k].diagnostics;
    if (entries[k].name == "read_secrets") CHECK(said.find("found []") != std::string::npos);
    if (entries[k].name == "write_outside") CHECK(said.find("wrote to []") != std::string::npos);
  }
  CHECK(testing::pipeline().record_zygote().starts() == 1);
  CHECK(testing::impatient_pipeline().record_zygote().starts() == 1);
}

TEST_CASE("verdicts repeat") {
  for (const char* name : {"honest", "wrong_value", "honest_reduction", "fallback_method"})
    for (int round = 0; round < 5; ++round) {
      const CorpusEntry entry = candidate(name);
      check_verdict(entry, testing::pipeline().verify(entry.request));
    }
}

TEST_CASE("writes to inputs and uploads are reported, and do no harm") {
  const auto diagnostics_of = [](const std::string& name) {
    const Verdict verdict = testing::pipeline().verify(testing::corpus_entry("honest", name).request);
    INFO(verdict.fault_class << " " << verdict.diagnostics);
    CHECK(verdict.correct);
    return verdict.diagnostics;
  };
  CHECK(diagnostics_of("sort_input_in_place") == "writes to input 0");
  // Three calls of two floats.
  CHECK(diagnostics_of("kept_coefficients") == "the host part uploads 24 bytes");
  CHECK(diagnostics_of("kept_workspace").empty());
  CHECK(diagnostics_of("kept_output") == "output 0 is overwritten by the next call");
}

TEST_CASE("a program that is incorrect from a later call on is found in time, and the call is reported") {
  CorpusEntry entry = testing::corpus_entry("hacks", "state_fourth_call_of_python");
  entry.request.program = testing::replaced(entry.request.program, "self.calls > 3", "self.calls > 5");
  Verdict verdict;
  // The sixth call is in more than half of all verifications.
  for (int round = 0; round < 60 && (round == 0 || verdict.correct); ++round)
    verdict = testing::pipeline().verify(entry.request);
  INFO(verdict.diagnostics);
  CHECK(verdict.fault_class == "wrong_value");
  CHECK(verdict.diagnostics.find("at call 6 of forward") != std::string::npos);
}

TEST_CASE("texts that are no program are refused before any box") {
  CorpusEntry entry = candidate("honest");
  for (const std::string& program :
       {std::string(), std::string("  \n"), entry.request.program + std::string(1, '\0'),
        entry.request.program + "# " + std::string(70000, 'x')}) {
    entry.request.program = program;
    const Verdict verdict = testing::pipeline().verify(entry.request);
    CHECK(verdict.fault_class == "extract");
    CHECK(verdict.outcome == Outcome::kCandidateFault);
  }
}

TEST_CASE("a protocol without trials is a fault of the caller") {
  VerificationRequest request = candidate("honest").request;
  request.protocol = {};
  CHECK_THROWS_AS(testing::pipeline().verify(request), Error);
}

TEST_CASE("an invalid task is reported by its name and not tried again") {
  VerificationRequest request = candidate("honest").request;
  request.task_id = "broken_task";
  request.pytorch_code = "x = 1\n";
  const Verdict verdict = testing::pipeline().verify(request);
  CHECK(verdict.outcome == Outcome::kInvalidTask);
  CHECK(verdict.diagnostics.find("broken_task") != std::string::npos);
}

TEST_CASE("a task that is passed without computing is invalid, except where published results are compared") {
  VerificationRequest request = candidate("honest").request;
  request.pytorch_code =
      "import torch, torch.nn as nn\nclass Model(nn.Module):\n    def forward(self, x):\n        return "
      "torch.zeros_like(x)\n\ndef get_inputs():\n    return [torch.randn(64, 33)]\n\ndef "
      "get_init_inputs():\n    return []\n";
  const Verdict verdict = testing::pipeline().verify(request);
  INFO(verdict.fault_class << " " << verdict.diagnostics);
  CHECK(verdict.outcome == Outcome::kInvalidTask);
  CHECK(verdict.diagnostics.find("does not depend on any input") != std::string::npos);
  request.protocol.tolerance = TolerancePolicy::kPublished;
  CHECK(judges_program(testing::pipeline().verify(request).outcome));
}

TEST_CASE(
    "a task that is too large for its own size is nobody's fault, whatever its size does to a program") {
  VerificationRequest request = candidate("honest").request;
  request.pytorch_code =
      "import torch, torch.nn as nn\nclass Model(nn.Module):\n    def forward(self, x):\n        return "
      "torch.sigmoid(x)\n\ndef get_inputs():\n    return [torch.rand(4096, 393216)]\n\ndef "
      "get_init_inputs():\n    return []\n";
  request.protocol.size = SizePolicy::kOwn;
  const Verdict verdict = testing::pipeline().verify(request);
  INFO(verdict.fault_class << " " << verdict.diagnostics);
  CHECK(verdict.outcome == Outcome::kInvalidTask);
  CHECK(verdict.diagnostics.find("max_input_mib") != std::string::npos);
}

TEST_CASE("a cancelled verification ends early and is not the candidate's fault") {
  std::stop_source stop;
  stop.request_stop();
  CHECK(testing::pipeline().verify(candidate("loop_python").request, stop.get_token()).outcome ==
        Outcome::kInfrastructure);
}

TEST_CASE("a killed interpreter is an infrastructure fault that a retry repairs") {
  check_canary();
  kill(testing::pipeline().record_zygote().box_pid(), SIGKILL);
  check_canary();
  kill(testing::pipeline().oracle_zygote().box_pid(), SIGKILL);
  VerificationRequest fresh = candidate("honest").request;
  fresh.pytorch_code += "# another task\n";
  const Verdict verdict = testing::pipeline().verify(fresh);
  INFO(verdict.diagnostics);
  CHECK(verdict.correct);
}

}  // namespace
}  // namespace bicrl
