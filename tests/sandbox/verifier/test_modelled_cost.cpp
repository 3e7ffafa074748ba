// Modelled times of whole programs: what the verdict says, and that it says the same again.
#include <catch2/catch_test_macros.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "sandbox/verifier/cost_summary.h"
#include "tests/sandbox/service/service_support.h"
#include "tests/sandbox/verifier/corpus.h"

namespace bicrl {

using testing::corpus_entry;
using testing::pipeline;

namespace {

Verdict timed(const std::string& folder, const std::string& name) {
  VerificationRequest request = corpus_entry(folder, name).request;
  request.protocol.measure_time = true;
  return pipeline().verify(request);
}

}  // namespace

TEST_CASE("a correct program has a modelled time beside its reference's") {
  for (const char* name : {"add_relu_lists", "attention_naive", "argmax_shuffle", "bmm_batched"}) {
    const Verdict v = timed("honest", name);
    INFO(name << ": " << v.diagnostics);
    REQUIRE(v.correct);
    CHECK(v.clock == kModelClock);
    CHECK(v.device == "h100, tables 3");
    CHECK(v.candidate_ms > 0.0025);  // a launch
    CHECK(v.eager_ms > 0.0025);
    CHECK(v.torch_compile_ms > 0);
    CHECK(v.torch_compile_ms <= v.eager_ms);
    CHECK(v.roofline_fraction > 0);
    CHECK(v.roofline_fraction <= 1);
    CHECK(verdict_problem(v).empty());
    const auto counters = nlohmann::json::parse(v.counters);
    CHECK(counters.at("launches").get<size_t>() >= 1);
    for (const auto& launch : counters.at("listed"))
      if (launch.at("kind") == "kernel") CHECK(launch.at("registers_per_thread").get<int>() > 0);
    const std::string text = profile_text(v.counters, v.device);
    CHECK(text.find("bound by") != std::string::npos);
    CHECK(text.find("line ") != std::string::npos);
    // The test input that is counted on is another each time; these programs do the same on all.
    const Verdict again = timed("honest", name);
    CHECK(again.candidate_ms == v.candidate_ms);
    CHECK(again.counters == v.counters);
    CHECK(again.eager_ms == v.eager_ms);
  }
}

TEST_CASE(
    "an incorrect program has no modelled time, and neither has a correct one that is not to be timed") {
  const Verdict incorrect = timed("sandbox/candidates", "wrong_nan");
  CHECK_FALSE(incorrect.correct);
  CHECK(incorrect.clock == kModelClock);
  CHECK(incorrect.candidate_ms == 0);
  const Verdict unasked = pipeline().verify(corpus_entry("honest", "add_relu_lists").request);
  CHECK(unasked.correct);
  CHECK(unasked.clock.empty());
  CHECK(unasked.candidate_ms == 0);
}

TEST_CASE("profiles of some programs", "[.profile]") {
  for (const char* name :
       {"add_relu_lists", "attention_naive", "attention_flash", "bmm_batched", "avg_pool_floor"}) {
    const Verdict v = timed("honest", name);
    std::cout << name << " " << v.correct << " " << v.diagnostics << " candidate " << 1000 * v.candidate_ms
              << " eager " << 1000 * v.eager_ms << " fused " << 1000 * v.torch_compile_ms << " us, run "
              << v.run_ms << " ms, total " << v.total_ms << "\n"
              << (v.correct ? profile_text(v.counters, v.device) : "") << "\n";
  }
}

}  // namespace bicrl
