#include "trainer/update/attention_choice.h"

#include <catch2/catch_test_macros.hpp>

using namespace bicrl;

TEST_CASE("attention on a CPU is computed by operators, whatever the policy's shape") {
  const AttentionShape shape{16, 8, 128, 4, at::kBFloat16, at::kCPU};
  CHECK(choose_attention(shape)->name() == "operators");
  CHECK(choose_attention({4, 2, 24, 12, at::kFloat, at::kCPU})->name() == "operators");
}
