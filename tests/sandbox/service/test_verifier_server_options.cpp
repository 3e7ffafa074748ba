// The section `verifier`: which clock it gives, and what of it is refused.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/config/config.h"
#include "sandbox/service/verifier_server.h"

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;

VerifierOptions options_of(const std::string& yaml) {
  const ConfigDocument document = ConfigDocument::from_text(yaml, "verifier.yaml");
  const VerifierOptions options = VerifierOptions::from_config(document.root());
  document.finish();
  return options;
}

}  // namespace

TEST_CASE("a verifier measures times where its options ask for it, and models them elsewhere") {
  CHECK(options_of("backend: ptx").pipeline.clock() == kModelClock);
  CHECK(options_of("backend: gpu").pipeline.clock() == kModelClock);
  CHECK(options_of("backend: gpu\ngpu: {measure_times: true}").pipeline.clock() == kMeasuredClock);
  CHECK(options_of("backend: gpu\ngpu: {measure_times: true, torch_compile: true}").pipeline.measures_times);
  CHECK(options_of("gpu: {torch_compile: false}").pipeline.clock() == kModelClock);
}

TEST_CASE("keys of times that would do nothing are refused with their place") {
  CHECK_THROWS_WITH(
      options_of("gpu: {measure_times: true}"),
      ContainsSubstring("verifier.yaml:1: gpu.measure_times") && ContainsSubstring("backend: gpu"));
  CHECK_THROWS_WITH(
      options_of("backend: gpu\ngpu: {torch_compile: true}"),
      ContainsSubstring("verifier.yaml:2: gpu.torch_compile") && ContainsSubstring("measure_times"));
}

TEST_CASE("a share of programs goes through compute-sanitizer where there is one to go through") {
  const auto options =
      options_of("backend: gpu\ngpu: {sanitizer: {share: 0.02, tools: [racecheck, memcheck]}}");
  CHECK(options.pipeline.sanitizer_share == 0.02);
  CHECK(options.pipeline.sanitizer_tools == std::vector<std::string>{"racecheck", "memcheck"});
  CHECK(options_of("backend: gpu").pipeline.sanitizer_share == 0);
  CHECK(options_of("backend: gpu").pipeline.sanitizer_tools.size() == 4);
  const std::pair<const char*, const char*> refused[] = {
      {"gpu: {sanitizer: {share: 0.1}}", "gpu.sanitizer.share"},
      {"backend: gpu\ngpu: {sanitizer: {share: 2}}", "gpu.sanitizer.share"},
      {"backend: gpu\ngpu: {sanitizer: {tools: [memchek]}}", "not 'memchek'"},
      {"backend: gpu\ngpu: {sanitizer: {tools: [memcheck, memcheck]}}", "names memcheck twice"},
      {"backend: gpu\ngpu: {sanitizer: {tools: []}}", "names none"}};
  for (const auto& [text, expected] : refused)
    CHECK_THROWS_WITH(options_of(text), ContainsSubstring(expected));
}

TEST_CASE("metrics are served to this machine alone, at an address that is checked") {
  CHECK(options_of("backend: ptx").metrics_listen.empty());
  for (const char* good : {"127.0.0.1:9464", "localhost:0", "'[::1]:9464'"})
    CHECK_FALSE(options_of(concat("metrics_listen: ", good)).metrics_listen.empty());
  CHECK_THROWS_WITH(options_of("metrics_listen: 0.0.0.0:9464"),
                    ContainsSubstring("verifier.yaml:1: metrics_listen") && ContainsSubstring("127.0.0.1"));
  for (const char* bad : {"9464", "127.0.0.1", "127.0.0.1:http", "127.0.0.1:99999"})
    CHECK_THROWS_WITH(options_of(concat("metrics_listen: ", bad)), ContainsSubstring("is not HOST:PORT"));
}

TEST_CASE("keys and values of earlier versions are refused with their new name") {
  CHECK(options_of("oracle: {pool_inputs: 3}").pipeline.oracle.pool_inputs == 3);
  CHECK_THROWS_WITH(options_of("oracle: {pool_draws: 3}"),
                    ContainsSubstring("verifier.yaml:1: unknown key oracle.pool_draws; it is called "
                                      "oracle.pool_inputs now"));
  CHECK(options_of("protocol: {specialised: incorrect}").protocol.specialised ==
        SpecialisedPolicy::kIncorrect);
  CHECK_THROWS_WITH(
      options_of("protocol: {specialised: wrong}"),
      ContainsSubstring("verifier.yaml:1: protocol.specialised: expected one of incorrect, mask"));
}

TEST_CASE("GPUs are all or named, each once") {
  options_of("backend: gpu\ngpu: {devices: all}");
  options_of("backend: gpu\ngpu: {devices: [0, 3]}");
  CHECK_THROWS_WITH(options_of("backend: gpu\ngpu: {devices: [0, 0]}"),
                    ContainsSubstring("names a GPU twice"));
  for (const char* bad : {"some", "[]", "[-1]", "[a]", "{a: 1}"})
    CHECK_THROWS_WITH(options_of(concat("backend: gpu\ngpu: {devices: ", bad, "}")),
                      ContainsSubstring("verifier.yaml:2: gpu.devices"));
  CHECK_THROWS_WITH(options_of("backend: gpu\ngpu: {device: 0}"),
                    ContainsSubstring("did you mean gpu.devices?"));
}

}  // namespace bicrl
