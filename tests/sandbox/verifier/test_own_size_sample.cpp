// What sampled blocks of the own size show, beside the counters of two reduced sizes.
#include "sandbox/verifier/reduced/own_size_sample.h"

#include <catch2/catch_test_macros.hpp>
#include <cstring>

namespace bicrl {
namespace {

constexpr uint64_t kOwnBlocks = 400'000;

// A kernel of (float*, long n, float s), of so many blocks.
Trace trace_of(uint64_t blocks, float s) {
  Trace trace;
  TraceOp op;
  op.entry = "_Z1kPflf";
  op.grid[0] = static_cast<uint32_t>(blocks);
  op.block[0] = 256;
  op.arguments.resize(20);
  const auto n = static_cast<int64_t>(blocks * 256);
  memcpy(op.arguments.data() + 8, &n, sizeof n);
  memcpy(op.arguments.data() + 16, &s, sizeof s);
  // What stands in the place of a pointer is no number.
  op.arguments[0] = blocks == kOwnBlocks ? 1 : 0;
  op.relocations.push_back({.offset = 0, .buffer = 0, .addend = 0});
  trace.ops.push_back(op);
  return trace;
}

CountedSize counted(const Trace& trace) {
  LaunchCounters counters;
  counters.blocks = trace.ops.front().blocks();
  counters.executed = 80 * counters.blocks;
  counters.load_sectors = counters.store_sectors = 64 * counters.blocks;
  return {&trace, {counters}, 0, 0};
}

SampledBlock block(uint64_t number, uint64_t executed = 80, uint64_t sectors = 64) {
  return {number, executed, sectors, sectors, 0};
}

std::string difference(const std::vector<SampledBlock>& blocks, float own_number = 1,
                       float other_number = 1) {
  const Trace own = trace_of(kOwnBlocks, own_number), one = trace_of(100, 1),
              other = trace_of(130, other_number);
  return difference_at_own_size(own, {counted(one), counted(other)},
                                {{.parameters = {{0, 8}, {8, 8}, {16, 4}}, .blocks = blocks}});
}

}  // namespace

TEST_CASE("sampled blocks that do as much as those of reduced sizes show nothing") {
  CHECK(difference({block(7), block(200'000), block(kOwnBlocks - 1)}).empty());
  // The last one has fewer elements; some take a longer branch.
  CHECK(difference({block(7, 120), block(kOwnBlocks - 1, 30, 2)}).empty());
}

TEST_CASE("one sampled block that does less or more is other work") {
  CHECK(difference({block(7), block(200'000, 12, 0), block(kOwnBlocks - 1)}).find("other work") !=
        std::string::npos);
  CHECK(difference({block(7), block(200'000, 60)}).find("other work") != std::string::npos);
  CHECK(difference({block(7), block(200'000, 80, 32)}).find("other work") != std::string::npos);
  CHECK(difference({block(7), block(200'000, 80, 128)}).find("other work") != std::string::npos);
  CHECK(difference({block(7), block(200'000, 140)}).find("other work") != std::string::npos);
}

TEST_CASE("a number that is equal at reduced sizes alone is another one") {
  CHECK(difference({block(7)}, 2).find("passes other numbers") != std::string::npos);
  // One that differs from size to size may differ here as well.
  CHECK(difference({block(7)}, 2, 3).empty());
}

TEST_CASE("a launch without sampled blocks has no time") {
  const Trace own = trace_of(kOwnBlocks, 1), one = trace_of(100, 1);
  CHECK_FALSE(difference_at_own_size(own, {counted(one)}, {}).empty());
}

TEST_CASE("a sample has blocks of all parts of a grid, the last, and one behind those of reduced sizes") {
  const BlockSample sample{.seed = 5, .blocks = 8, .beyond = {130}};
  const auto numbers = sampled_blocks(sample, 0, kOwnBlocks);
  REQUIRE(numbers.size() == 10);
  CHECK(numbers.back() == kOwnBlocks - 1);
  size_t beyond = 0;
  for (const uint64_t number : numbers) beyond += number >= 130 && number < 260;
  CHECK(beyond >= 1);
  for (uint64_t part = 0; part < 8; ++part) {
    size_t inside = 0;
    for (const uint64_t number : numbers) inside += number / (kOwnBlocks / 8) == part;
    CHECK(inside >= 1);
  }
  CHECK(sampled_blocks({.seed = 6, .blocks = 8, .beyond = {130}}, 0, kOwnBlocks) != numbers);
  CHECK(sampled_blocks(sample, 0, 1) == std::vector<uint64_t>{0});
}

}  // namespace bicrl
