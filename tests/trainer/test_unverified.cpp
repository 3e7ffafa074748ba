// How many responses without a verdict a run tolerates.
#include "trainer/experience/unverified.h"

#include <catch2/catch_test_macros.hpp>

using namespace bicrl;

TEST_CASE("a run does not go on when the limit is reached") {
  CHECK(unverified_problem({{64, 31}, {64, 31}}, 0.5).empty());
  CHECK(unverified_problem({{64, 32}, {64, 32}}, 0.5) == "64 of 128 responses got no verdict");
  CHECK(unverified_problem({{64, 1}}, 0) == "1 of 64 responses got no verdict");
  CHECK(unverified_problem({{64, 0}}, 0).empty());
  CHECK(unverified_problem({{64, 63}}, 1).empty());
  CHECK(!unverified_problem({{64, 64}}, 1).empty());
  CHECK(unverified_problem({{0, 0}, {0, 0}}, 0.5).empty());
}

TEST_CASE("one rank whose verifier is out of reach does not go unnoticed among many") {
  CHECK(unverified_problem({{16, 0}, {16, 0}, {16, 16}, {16, 0}}, 0.5) ==
        "16 of 16 responses of rank 2 got no verdict");
  CHECK(unverified_problem({{16, 0}, {16, 7}}, 0.5).empty());
  // A rank with a handful of responses says too little by itself.
  CHECK(unverified_problem({{4, 0}, {4, 3}}, 0.5).empty());
}
