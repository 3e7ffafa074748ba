// Counters of a size that nobody runs.
#include "sandbox/verifier/reduced/extrapolation.h"

#include <catch2/catch_test_macros.hpp>

namespace bicrl {
namespace {

Trace trace_of(uint32_t blocks, const std::string& entry = "_Z1kPf", uint32_t threads = 256) {
  Trace trace;
  TraceOp op;
  op.entry = entry;
  op.grid[0] = blocks;
  op.block[0] = threads;
  trace.ops.push_back(op);
  return trace;
}

LaunchCounters counters_of(uint64_t blocks, uint64_t executed, uint64_t sectors) {
  LaunchCounters counters;
  counters.name = "_Z1kPf";
  counters.blocks = blocks;
  counters.threads_per_block = 256;
  counters.executed = executed;
  counters.load_sectors = counters.store_sectors = counters.cold_sectors = sectors;
  return counters;
}

// Blocks of 80 instructions that move 64 sectors; a task of 2,048 bytes for each.
constexpr uint64_t kBytes = 2048;
constexpr double kWork = 8192;  // likewise

CountedSize own_of(const Trace& trace, uint64_t blocks) {
  return {&trace, {}, blocks * kBytes, static_cast<double>(blocks) * kWork};
}

struct Sized {
  Trace trace;
  CountedSize counted;
  Sized(uint32_t blocks, uint64_t per_block, uint64_t sectors = 64, bool is_long = false)
      : trace(trace_of(blocks)),
        counted{&trace,
                {counters_of(blocks, blocks * per_block, blocks * sectors)},
                blocks * kBytes,
                blocks * kWork,
                is_long} {}
};

}  // namespace

TEST_CASE("launches whose blocks are alike are counted for the own size by its grid") {
  const Sized one(100, 82), other(125, 80);
  const Trace own = trace_of(400'000);
  const Extrapolation found = extrapolate(own_of(own, 400'000), {one.counted, other.counted});
  INFO(found.reason);
  REQUIRE(found.launches.size() == 1);
  CHECK(found.launches[0].blocks == 400'000);
  CHECK(found.launches[0].executed == uint64_t{400'000} * 80);
  CHECK(found.launches[0].load_sectors == uint64_t{400'000} * 64);
  CHECK(found.launches[0].threads_per_block == 256);
}

TEST_CASE("counters are those of the largest size with a long axis, whichever others are counted") {
  const Sized small_long(110, 84, 64, true), large_long(125, 80, 64, true);
  const Trace own = trace_of(400'000);
  const auto executed = [&](const std::vector<CountedSize>& counted) {
    const Extrapolation found = extrapolate(own_of(own, 400'000), counted);
    INFO(found.reason);
    REQUIRE(found.launches.size() == 1);
    return found.launches[0].executed;
  };
  for (const uint32_t blocks : {3, 100, 130})
    for (const uint64_t per_block : {70, 90}) {
      const Sized chosen(blocks, per_block);
      CHECK(executed({chosen.counted, small_long.counted, large_long.counted}) == 400'000 * 80);
      CHECK(executed({chosen.counted, large_long.counted, small_long.counted}) == 400'000 * 80);
    }
  // Every counted size is compared.
  const Sized odd(130, 160);
  CHECK(extrapolate(own_of(own, 400'000), {small_long.counted, odd.counted, large_long.counted})
            .launches.empty());
}

TEST_CASE("what is not alike has no counters, and says why") {
  const Sized one(100, 80), other(130, 82);
  const auto reason = [&](const Trace& own, const CountedSize& a, const CountedSize& b) {
    const Extrapolation found = extrapolate(own_of(own, 400'000), {a, b});
    CHECK(found.launches.empty());
    return found.reason;
  };
  // A loop in each thread that depends on the size.
  CHECK(reason(trace_of(400'000), one.counted, Sized(130, 160).counted).find("other work") !=
        std::string::npos);
  CHECK(reason(trace_of(400'000), one.counted, Sized(130, 80, 128).counted).find("other work") !=
        std::string::npos);
  // A grid that stays as it is, or grows in another way than the task.
  CHECK(reason(trace_of(100), one.counted, other.counted).find("does not grow") != std::string::npos);
  CHECK(reason(trace_of(208'000), one.counted, other.counted).find("does not grow") != std::string::npos);
  CHECK(reason(trace_of(50'000), one.counted, other.counted).find("does not grow") != std::string::npos);
  CHECK(reason(trace_of(4'000'000), one.counted, other.counted).find("does not grow") != std::string::npos);
  // Another kernel at the own size, other blocks, or another number of launches.
  CHECK_FALSE(reason(trace_of(400'000, "_Z5otherPf"), one.counted, other.counted).empty());
  CHECK_FALSE(reason(trace_of(200'000, "_Z1kPf", 512), one.counted, other.counted).empty());
  Trace twice = trace_of(400'000);
  twice.ops.push_back(twice.ops.front());
  CHECK(reason(twice, one.counted, other.counted).find("2 kernels") != std::string::npos);
  // Nothing follows for a size that is hardly another one.
  CHECK(extrapolate(own_of(trace_of(400), 400), {one.counted, other.counted}).launches.empty());
}

TEST_CASE(
    "a task whose work grows faster than its bytes has no counters, whatever blocks do at small sizes") {
  // As a product of matrices of 4096 rows, of which two of some 200 rows were counted.
  const Sized one(100, 80), other(110, 84);
  const Trace own = trace_of(40'000);
  CountedSize at_own = own_of(own, 40'000);
  at_own.lane_operations *= 20;
  CHECK(extrapolate(at_own, {one.counted, other.counted}).reason.find("work grows") != std::string::npos);
}

TEST_CASE("a grid that is smaller than the task gains nothing") {
  const Sized one(100, 82), other(125, 80);
  const Trace smaller = trace_of(370'000);
  const Extrapolation found = extrapolate(own_of(smaller, 400'000), {one.counted, other.counted});
  INFO(found.reason);
  REQUIRE(found.launches.size() == 1);
  CHECK(found.launches[0].executed == uint64_t{400'000} * 80);
}

TEST_CASE("what the host part fills grows as the task does") {
  Sized one(100, 80, 64, true), other(130, 80);
  const Trace own = trace_of(400'000);
  const LaunchCounters fill = streaming_launch(LaunchCounters::Kind::kFill, 0, 100 * kBytes);
  one.counted.launches.insert(one.counted.launches.begin(), fill);
  other.counted.launches.insert(other.counted.launches.begin(),
                                streaming_launch(LaunchCounters::Kind::kFill, 0, 130 * kBytes));
  const Extrapolation found = extrapolate(own_of(own, 400'000), {one.counted, other.counted});
  INFO(found.reason);
  REQUIRE(found.launches.size() == 2);
  CHECK(found.launches[0].store_sectors == fill.store_sectors * 4000);
  CHECK(found.launches[1].blocks == 400'000);
}

}  // namespace bicrl
