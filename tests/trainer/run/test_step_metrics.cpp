#include "tests/trainer/fixtures.h"
#include "trainer/run/layout/run_memory.h"
#include "trainer/run/reports/model_flops.h"
#include "trainer/run/reports/step_metrics.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

using namespace bicrl;
using namespace bicrl::testing;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

namespace {

StepMetrics two_ranks() {
  StepMetrics m;
  m.phase = "end_to_end";
  m.step = 1;
  m.steps = 2;
  m.responses = StepFigures{};
  m.responses->sums[Sum::kGenerated] = 6000;
  m.update[UpdateRow::kUpdates] = 1;
  m.update[UpdateRow::kPackedRows] = 40000;
  m.seconds = {.rollout = 3, .verify_wait = 1, .train = 2, .step = 6};
  m.load.generators = m.load.trainers = 2;
  m.load.memory_peak_bytes = int64_t{3} << 29;
  m.load.verifier_queue = 7;
  return m;
}

}  // namespace

TEST_CASE("a step of a warm-up by epochs names its epoch, and no other does") {
  StepMetrics m;
  m.phase = "warm_up";
  m.step = 198;
  m.steps = 591;
  CHECK_THAT(step_line(m, 60), !ContainsSubstring("epoch"));
  CHECK(!to_json(m).contains("epoch"));
  m.epoch = 2;
  m.epochs = 3;
  CHECK_THAT(step_line(m, 60), ContainsSubstring("warm_up 198/591 | epoch 2/3 | "));
  CHECK(to_json(m)["epoch"] == 2);
  CHECK(to_json(m)["epochs"] == 3);
}

TEST_CASE("a step reports what a rank did in a second, its memory and the verifier's queue") {
  StepMetrics m = two_ranks();
  CHECK_THAT(step_line(m, 60),
             ContainsSubstring("rollout 3.0 s (1000 tok/s), verify +1.0 s (7 waiting), train 2.0 s (10000 "
                               "rows/s) | memory 1.5 GiB"));
  const nlohmann::json json = to_json(m);
  CHECK(json.at("rank_generated_tokens_per_second") == 1000);
  CHECK(json.at("rank_trained_tokens_per_second") == 10000);
  CHECK(json.at("rows_per_second") == 20000);
  CHECK(json.at("tokens_per_second") == 1000);  // of both ranks, over the whole step
  CHECK(json.at("memory_peak_bytes") == int64_t{3} << 29);
  CHECK(json.at("verifier_queue") == 7);
  CHECK_FALSE(json.contains("train_mfu"));
  m.load.generators = m.load.trainers = 1;  // each does one thing
  CHECK(to_json(m).at("rank_generated_tokens_per_second") == 2000);
  CHECK(to_json(m).at("rank_trained_tokens_per_second") == 20000);
  CHECK(to_json(m).at("rows_per_second") == 20000);
  m = two_ranks();
  m.load.mfu = 0.25;
  CHECK(to_json(m).at("train_mfu") == 0.25);
  CHECK_THAT(step_line(m, 60), ContainsSubstring("(10000 rows/s, MFU 25 %)"));
}

TEST_CASE("a step of several ranks reports the seconds of each") {
  StepMetrics m = two_ranks();
  CHECK_FALSE(to_json(m).contains("rank_seconds"));
  m.load.seconds_of_ranks = {
      {.rollout = 3, .verify_wait = 0.5, .exchange = 0.25, .train = 2, .collectives = 0.125, .step = 6},
      {.rollout = 2, .verify_wait = 1, .exchange = 0.75, .train = 1.5, .collectives = 0.5, .step = 5.5}};
  const nlohmann::json seconds = to_json(m).at("rank_seconds");
  CHECK(seconds.at("rollout") == nlohmann::json({3, 2}));
  CHECK(seconds.at("verify_wait") == nlohmann::json({0.5, 1}));
  CHECK(seconds.at("exchange") == nlohmann::json({0.25, 0.75}));
  CHECK(seconds.at("train") == nlohmann::json({2, 1.5}));
  CHECK(seconds.at("collectives") == nlohmann::json({0.125, 0.5}));
  CHECK(seconds.at("step") == nlohmann::json({6, 5.5}));
  m.responses.reset();
  CHECK_FALSE(to_json(m).at("rank_seconds").contains("rollout"));
}

TEST_CASE("a step reports distinct correct programs of a group, and novel ones") {
  StepMetrics m = two_ranks();
  StepSums& sums = m.responses->sums;
  sums[Sum::kResponses] = 16;
  sums[Sum::kKnown] = 12;
  sums[Sum::kNovel] = 3;
  sums[Sum::kGroups] = 4;
  sums[Sum::kUniqueCorrect] = 7;
  sums[Sum::kUniquePrograms] = 9;
  m.update[UpdateRow::kEntropy] = 0.5;
  CHECK_THAT(step_line(m, 60), ContainsSubstring("| unique 9/16, correct 1.8 a group |"));
  CHECK_THAT(step_line(m, 60), ContainsSubstring("| novel 25 % |"));
  CHECK(to_json(m).at("unique_correct") == 1.75);
  CHECK(to_json(m).at("novel_rate") == 0.25);
  CHECK(to_json(m).at("entropy") == 0.5);
  m.meaning.verified = false;  // a replay of rollouts alone
  CHECK_THAT(step_line(m, 60), ContainsSubstring("| unique 9/16 |"));
}

TEST_CASE("a step without rollouts, or of an unknown memory, reports neither") {
  StepMetrics m = two_ranks();
  m.responses.reset();
  m.load.memory_peak_bytes = 0;
  const std::string line = step_line(m, 60);
  CHECK_THAT(line, ContainsSubstring("| train 2.0 s (10000 rows/s) | step 6.0 s"));
  CHECK_THAT(line, !ContainsSubstring("rollout") && !ContainsSubstring("memory"));
  CHECK_FALSE(to_json(m).contains("memory_peak_bytes"));
}

TEST_CASE("an update's operations are those of its matrices and of its attention's pairs") {
  PolicyConfig config = tiny_config(4);
  double matrices = 0, head = 0;
  const ParameterLayout layout(config);
  for (const ParameterEntry& entry : layout.entries()) {
    if (entry.name == "lm_head.weight") head = static_cast<double>(entry.size);
    if (entry.is_matrix() && entry.group > 0 && entry.name != "lm_head.weight")
      matrices += static_cast<double>(entry.size);
  }
  REQUIRE(head > 0);
  CHECK(training_flops(config, false, 100, 40, 0) == Approx(6 * (100 * matrices + 40 * head)));
  CHECK(training_flops(config, true, 100, 40, 0) == Approx(4 * (100 * matrices + 40 * head)));
  config.tie_word_embeddings = true;  // the head multiplies all the same
  CHECK(training_flops(config, false, 100, 40, 0) == Approx(6 * (100 * matrices + 40 * head)));
  const double attention =
      training_flops(config, false, 100, 40, 700) - training_flops(config, false, 100, 40, 0);
  CHECK(attention ==
        Approx(12.0 * 700 * static_cast<double>(config.heads * config.head_dim * config.layers)));
}

TEST_CASE("peaks are those of the data sheets, and none is made up") {
  CHECK(peak_bf16_flops("NVIDIA H100 80GB HBM3") == 989.4e12);
  CHECK(peak_bf16_flops("NVIDIA H100 PCIe") == 756e12);
  CHECK(peak_bf16_flops("NVIDIA H200") == 989.4e12);
  CHECK(peak_bf16_flops("NVIDIA A100-SXM4-80GB") == 312e12);
  CHECK(peak_bf16_flops("NVIDIA L40S") == 362e12);
  CHECK(peak_bf16_flops("NVIDIA L4") == 121e12);
  for (const char* other : {"NVIDIA L40", "NVIDIA GeForce RTX 4090", "NVIDIA H2000", ""})
    CHECK_FALSE(peak_bf16_flops(other));
}

TEST_CASE("a process's peak grows with what it touches") {
  const int64_t before = memory_peak_bytes(at::kCPU);
  const at::Tensor touched = at::ones({int64_t{1} << 26});  // 256 MiB
  CHECK(memory_peak_bytes(at::kCPU) >= before);
  CHECK(memory_peak_bytes(at::kCPU) > static_cast<int64_t>(touched.nbytes()));
  CHECK(memory_peak_bytes(at::kCPU) < memory_limit_bytes(at::kCPU));
}
