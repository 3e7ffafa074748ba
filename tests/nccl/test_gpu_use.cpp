// While a rank works on its GPU no window has it; its place on the bus is the one that verifiers know.
#include "tests/nccl/ranks_with_gpus.h"

#include <cuda_runtime_api.h>

#include <catch2/catch_test_macros.hpp>

#include "tests/rollout/tiny_decoding.h"
#include "trainer/experience/response_collector.h"
#include "trainer/ranks/device_use.h"

using namespace bicrl;
using namespace bicrl::testing;

namespace {

bool window_may_begin(const std::string& bus) {
  std::stop_source at_once;
  at_once.request_stop();
  return bool(DeviceLock::alone(bus, at_once.get_token()));
}

TEST_CASE("a rank at work on its GPU keeps windows waiting, and lets them go on behind it") {
  GpuRanks& ranks = gpu_ranks(1);
  char bus[64] = {};
  REQUIRE(cudaDeviceGetPCIBusId(bus, sizeof bus, ranks.gpu().index()) == cudaSuccess);
  {
    const DeviceUse use(ranks.gpu());
    CHECK_FALSE(window_may_begin(bus));
    CHECK_FALSE(window_may_begin(bus_of(ranks.gpu().index())));
  }
  CHECK(window_may_begin(bus));
}

TEST_CASE("responses are generated within the rank's turn") {
  GpuRanks& ranks = gpu_ranks(1);
  const std::string bus = bus_of(ranks.gpu().index());
  const Transformer policy = tiny_policy(tiny_config(), ranks.gpu());
  DecodeEngine engine(policy, tiny_tokenizer());
  int responses = 0, outside = 0;
  EpisodeVerifier verifier(nullptr, nullptr,
                           {.source = VerdictSource::kStore, .needs_verdict = [&](const Episode&) {
                              ++responses;
                              outside += window_may_begin(bus);
                              return false;
                            }});
  DecodingSettings decoding;
  decoding.max_new_tokens = 8;
  ResponseCollector collector(engine, decoding, verifier);
  Task task;
  task.id = "task";
  PromptedGroup group;
  group.task = &task;
  group.prompt.text = "a prompt";
  collector.collect({group}, 4, 1, 0);
  CHECK(responses == 4);
  CHECK(outside == 0);
  CHECK(window_may_begin(bus));
}

}  // namespace
