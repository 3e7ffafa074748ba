// Which bytes of its inputs a run reads.
#include "sandbox/interpreter/executor/input_reads.h"

#include <catch2/catch_test_macros.hpp>
#include <vector>

namespace bicrl {
namespace {

using Runs = std::vector<std::vector<uint64_t>>;

Runs unread(const InputReads& reads) {
  Runs runs;
  for (const InputBytes& run : reads.unread()) runs.push_back({run.leaf, run.begin, run.end});
  return runs;
}

}  // namespace

TEST_CASE("copies count as reads of all that they take, elsewhere of nothing") {
  InputReads reads;
  reads.add(4096, 3, 1000);
  CHECK(unread(reads) == Runs{{3, 0, 1000}});
  reads.copied(8192, 0, 1000);
  CHECK(unread(reads) == Runs{{3, 0, 1000}});
  reads.copied(4096, 100, 200);
  CHECK(unread(reads) == Runs{{3, 300, 1000}, {3, 0, 100}});
  reads.copied(4096, 0, 98);
  CHECK(unread(reads) == Runs{{3, 300, 1000}, {3, 98, 100}});
  reads.copied(4096, 98, 902);
  CHECK(unread(reads).empty());
}

TEST_CASE("of very many runs the longest are reported") {
  InputReads reads;
  constexpr uint64_t kBytes = 200000;
  reads.add(4096, 0, kBytes);
  for (uint64_t at = 0; at < kBytes; at += 4)
    if (at != 500) reads.copied(4096, at, 1);
  const auto runs = unread(reads);
  CHECK(runs.size() == 4096);
  CHECK(runs[0] == std::vector<uint64_t>{0, 497, 504});
  CHECK(runs[1] == std::vector<uint64_t>{0, 1, 4});
}

}  // namespace bicrl
