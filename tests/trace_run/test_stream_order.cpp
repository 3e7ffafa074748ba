// Orders of the work of streams: each is one that a device may choose, and together they turn round whatever
// nothing orders.
#include "sandbox/trace_run/stream_order.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <random>
#include <vector>

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;
using Distances = std::vector<uint32_t>;

// The buffer that all operations here name, if it is a parameter of theirs, or memory that the program made.
std::vector<TraceBuffer> buffer(TraceBuffer::Kind kind) {
  std::vector<TraceBuffer> buffers(1);
  buffers[0].kind = kind;
  return buffers;
}
std::vector<CallOrder> orders_of_streams(const std::vector<TraceOp>& ops, const TraceOrder& end_after) {
  return other_orders(buffer(TraceBuffer::Kind::kConstant), ops, end_after);
}

TraceOp op(uint32_t stream, const TraceOrder& after = std::nullopt) {
  TraceOp op;
  op.kind = TraceOp::Kind::kFill;
  op.stream = stream;
  op.after = after;
  return op;
}

using Matrix = std::vector<std::vector<bool>>;

// comes_before[i][j]: by any chain, found from the definition.
Matrix closure(const std::vector<TraceOp>& ops) {
  const size_t n = ops.size();
  Matrix before(n, std::vector<bool>(n, false));
  for (size_t j = 0; j < n; ++j) {
    if (!ops[j].after && j > 0) before[j - 1][j] = true;
    if (ops[j].after)
      for (const uint32_t distance : *ops[j].after) before[j - distance][j] = true;
  }
  for (size_t k = 0; k < n; ++k)
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j) before[i][j] = before[i][j] || (before[i][k] && before[k][j]);
  return before;
}

// Streams that wait for each other now and then.
std::vector<TraceOp> random_call(std::mt19937& rng, uint32_t streams) {
  std::vector<TraceOp> ops;
  std::vector<int> last(streams, -1);
  const size_t count = 2 + rng() % 12;
  for (size_t i = 0; i < count; ++i) {
    const auto stream = static_cast<uint32_t>(rng() % streams);
    Distances after;
    if (last[stream] >= 0) after.push_back(static_cast<uint32_t>(static_cast<int>(i) - last[stream]));
    if (rng() % 3 == 0 && i > 0) after.push_back(static_cast<uint32_t>(1 + rng() % i));
    ops.push_back(op(stream, after));
    last[stream] = static_cast<int>(i);
  }
  return ops;
}

}  // namespace

TEST_CASE("work in one stream, or that streams hand to each other, has one order") {
  CHECK(orders_of_streams({}, std::nullopt).empty());
  CHECK(orders_of_streams(std::vector{op(0), op(0), op(0)}, std::nullopt).empty());
  CHECK(orders_of_streams(std::vector{op(0), op(1, Distances{1}), op(0, Distances{2, 1})}, Distances{1})
            .empty());
}

TEST_CASE("what nothing orders is turned round") {
  const auto orders = orders_of_streams(std::vector{op(1, Distances{}), op(2, Distances{})}, Distances{1, 2});
  REQUIRE(orders.size() == 1);
  CHECK(orders[0] == CallOrder{{1, 0}, 2});
}

TEST_CASE("what nobody waits for comes behind the end, and before it as early as it may") {
  const auto orders = orders_of_streams(std::vector{op(0), op(1, Distances{})}, Distances{2});
  REQUIRE(orders.size() == 2);
  CHECK(orders[0] == CallOrder{{0, 1}, 1});
  CHECK(orders[1] == CallOrder{{1, 0}, 2});
  // Nothing at all is waited for.
  CHECK(orders_of_streams(std::vector{op(1, Distances{}), op(1)}, Distances{}) ==
        std::vector{CallOrder{{0, 1}, 0}});
}

TEST_CASE("what stands before the call is done") {
  // As the first call's operations follow the constructor's.
  const std::vector<TraceOp> ops = {op(0), op(1, Distances{1}), op(2, Distances{5})};
  CHECK(orders_of_streams(ops, Distances{1, 2, 7}) ==
        std::vector{CallOrder{{2, 0, 1}, 3}, CallOrder{{0, 2, 1}, 3}});
}

TEST_CASE("random streams: every order is legal, and each pair without order is done both ways") {
  std::mt19937 rng(5);
  size_t turned = 0;
  for (int round = 0; round < 600; ++round) {
    const auto streams = static_cast<uint32_t>(2 + rng() % 4);
    const std::vector<TraceOp> ops = random_call(rng, streams);
    Distances end;
    for (size_t i = 0; i < ops.size(); ++i)
      if (rng() % 3 > 0) end.push_back(static_cast<uint32_t>(ops.size() - i));
    const Matrix before = closure(ops);
    Matrix done_before(ops.size(), std::vector<bool>(ops.size(), false));
    for (const CallOrder& order : orders_of_streams(ops, end)) {
      std::vector<size_t> place(ops.size(), ops.size());
      REQUIRE(order.operations.size() == ops.size());
      for (size_t k = 0; k < ops.size(); ++k) place[order.operations[k]] = k;
      REQUIRE(std::ranges::count(place, ops.size()) == 0);
      for (const uint32_t distance : end) CHECK(place[ops.size() - distance] < order.before_end);
      for (size_t i = 0; i < ops.size(); ++i)
        for (size_t j = 0; j < ops.size(); ++j) {
          if (before[i][j]) REQUIRE(place[i] < place[j]);
          if (place[i] < place[j]) done_before[i][j] = true;
        }
    }
    for (size_t i = 0; i < ops.size(); ++i)
      for (size_t j = i + 1; j < ops.size(); ++j)
        if (!before[i][j]) {
          CHECK(done_before[j][i]);
          ++turned;
        }
  }
  CHECK(turned > 1000);
}

TEST_CASE("of two operations without order on one buffer each comes just before the other") {
  std::mt19937 rng(6);
  size_t pairs = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<TraceOp> ops = random_call(rng, static_cast<uint32_t>(2 + rng() % 2));
    ops.resize(std::min<size_t>(ops.size(), 5));
    Distances end;
    for (uint32_t i = 1; i <= ops.size(); ++i) end.push_back(i);
    const Matrix before = closure(ops);
    auto orders = other_orders(buffer(TraceBuffer::Kind::kAllocation), ops, end);
    CHECK(orders.size() <= kMaxOrders);
    CallOrder& issued = orders.emplace_back();
    for (uint32_t i = 0; i < ops.size(); ++i) issued.operations.push_back(i);
    for (uint32_t i = 0; i < ops.size(); ++i)
      for (uint32_t j = 0; j < ops.size(); ++j) {
        if (i == j || before[i][j] || before[j][i]) continue;
        ++pairs;
        CHECK(std::ranges::any_of(orders, [&](const CallOrder& order) {
          const auto at = std::ranges::find(order.operations, i);
          return at + 1 != order.operations.end() && at[1] == j;
        }));
      }
  }
  CHECK(pairs > 500);
}

TEST_CASE("many streams have a few orders") {
  std::vector<TraceOp> ops;
  Distances end;
  for (uint32_t i = 0; i < 40; ++i) {
    ops.push_back(op(i % 20, i < 20 ? Distances{} : Distances{20}));
    end.push_back(i + 1);
  }
  CHECK(orders_of_streams(ops, end).size() == kStreamOrders);
  CHECK(other_orders(buffer(TraceBuffer::Kind::kAllocation), ops, end).size() == kMaxOrders);
}

TEST_CASE("what is turned round is named with its streams") {
  Trace trace;
  trace.buffers.resize(3);
  trace.buffers[0].kind = TraceBuffer::Kind::kInput;
  // Both read the input; the second and the third write one buffer.
  TraceOp copy = op(0);
  copy.kind = TraceOp::Kind::kCopy;
  copy.source.buffer = 0;
  copy.target.buffer = 1;
  TraceOp launch = op(1, Distances{});
  launch.kind = TraceOp::Kind::kLaunch;
  launch.entry = "_Z4workPf";
  launch.relocations = {{0, 0, 0}, {8, 2, 0}};
  TraceOp fill = op(2, Distances{});
  fill.target.buffer = 2;
  const std::vector ops{copy, launch, fill};
  std::vector<TraceView> outputs(1);
  outputs[0].buffer = 1;
  CHECK_THAT(turned_round(trace, ops, outputs, {{2, 1, 0}, 3}),
             ContainsSubstring("work(float*) in stream 1 is issued before a fill in stream 2"));
  CHECK_THAT(turned_round(trace, ops, outputs, {{1, 0, 2}, 3}),
             ContainsSubstring("a copy in the default stream is issued before work(float*) in stream 1"));
  CHECK_THAT(turned_round(trace, ops, outputs, {{0, 1, 2}, 2}),
             ContainsSubstring("end of forward: a fill in stream 2 may still be at work"));
  CHECK_THAT(turned_round(trace, ops, outputs, {{0, 1, 2}, 0}),
             ContainsSubstring("end of forward: a copy in the default stream may still be at work"));
}

}  // namespace bicrl
