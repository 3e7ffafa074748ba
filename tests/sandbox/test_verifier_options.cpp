// The section `verifier`: which clock it gives, and what of it is refused.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/config.h"
#include "sandbox/service/verifier_server.h"

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;

VerifierOptions read(const std::string& yaml) {
  const ConfigDocument document = ConfigDocument::from_text(yaml, "verifier.yaml");
  const VerifierOptions options = VerifierOptions::from_config(document.root());
  document.finish();
  return options;
}

}  // namespace

TEST_CASE("a verifier measures times where it is told to, and models them elsewhere") {
  CHECK(read("backend: ptx").pipeline.clock() == kModelClock);
  CHECK(read("backend: gpu").pipeline.clock() == kModelClock);
  CHECK(read("backend: gpu\ngpu: {measure_times: true}").pipeline.clock() == kMeasuredClock);
  CHECK(read("backend: gpu\ngpu: {measure_times: true, torch_compile: true}").pipeline.measures_times);
  CHECK(read("gpu: {torch_compile: false}").pipeline.clock() == kModelClock);
}

TEST_CASE("keys of times that would do nothing are refused with their place") {
  CHECK_THROWS_WITH(
      read("gpu: {measure_times: true}"),
      ContainsSubstring("verifier.yaml:1: gpu.measure_times") && ContainsSubstring("backend: gpu"));
  CHECK_THROWS_WITH(
      read("backend: gpu\ngpu: {torch_compile: true}"),
      ContainsSubstring("verifier.yaml:2: gpu.torch_compile") && ContainsSubstring("measure_times"));
}

}  // namespace bicrl
