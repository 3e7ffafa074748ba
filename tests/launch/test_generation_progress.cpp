#include <catch2/catch_test_macros.hpp>

#include "launch/commands/generation_progress.h"

namespace bicrl {

TEST_CASE("what is left of a generation is judged by the responses that have ended") {
  GenerationPace pace{.responses = 10, .done = 4, .max_new_tokens = 100};  // 4 that lay there
  CHECK(pace.seconds_left() < 0);
  CHECK(to_string(pace).empty());
  // None has ended yet: each may take all its tokens.
  pace.generated_tokens = 200;
  pace.seconds = 2;
  CHECK(pace.tokens_per_second() == 100);
  CHECK(pace.seconds_left() == (6 * 100 - 200) / 100.0);
  CHECK(to_string(pace) == "100 tokens/s  ETA 4 s");
  // Two of 30 and 50 tokens: four more of 40, of which 20 are there.
  pace.done = 6;
  pace.ended = 2;
  pace.ended_tokens = 80;
  pace.generated_tokens = 100;
  CHECK(pace.seconds_left() == (4 * 40 - 20) / 50.0);
  // Those in work are longer than all before.
  pace.generated_tokens = 500;
  CHECK(pace.seconds_left() == 0);
  pace.done = 10;
  CHECK(to_string(pace) == "250 tokens/s");
}

}  // namespace bicrl
