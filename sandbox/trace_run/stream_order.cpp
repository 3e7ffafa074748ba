#include "sandbox/trace_run/stream_order.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>
#include <utility>

#include "sandbox/frontend/device/entry_names.h"

namespace bicrl {
namespace {

// Of operations that number `index` of a call, or its end, comes directly after; what stands before the call
// is done.
template <class Visit>
void for_each_before(const TraceOrder& after, size_t index, const Visit& visit) {
  if (!after && index > 0) visit(index - 1);
  if (!after) return;
  for (const uint32_t distance : *after)
    if (distance <= index) visit(index - distance);
}

// Which operations are done when the call ends.
std::vector<bool> done_at_end(std::span<const TraceOp> operations, const TraceOrder& end_after) {
  std::vector<bool> done(operations.size(), false);
  const auto mark = [&done](size_t index) { done[index] = true; };
  for_each_before(end_after, operations.size(), mark);
  for (size_t i = operations.size(); i-- > 0;)
    if (done[i]) for_each_before(operations[i].after, i, mark);
  return done;
}

// What could be done next is done in the order of its ranks, the highest first.
using Rank = std::pair<int, int64_t>;

class Scheduler {
 public:
  Scheduler(std::span<const TraceOp> operations, const TraceOrder& end_after)
      : operations_(operations),
        done_(done_at_end(operations, end_after)),
        next_(operations.size()),
        waits_for_(operations.size(), 0) {
    for (size_t i = 0; i < operations.size(); ++i)
      for_each_before(operations[i].after, i, [&](size_t before) {
        next_[before].push_back(static_cast<uint32_t>(i));
        ++waits_for_[i];
      });
  }

  // `late`: what need not be done at the end comes behind it.
  CallOrder order(bool late, const std::function<Rank(uint32_t)>& rank) const {
    CallOrder order;
    std::vector<uint32_t> waits_for = waits_for_;
    std::priority_queue<std::pair<Rank, uint32_t>> ready;
    const auto offer = [&](uint32_t i) {
      if (waits_for[i] == 0 && (done_[i] || !late)) ready.push({rank(i), i});
    };
    for (uint32_t i = 0; i < operations_.size(); ++i) offer(i);
    while (!ready.empty()) {
      const uint32_t at = ready.top().second;
      ready.pop();
      order.operations.push_back(at);
      for (const uint32_t next : next_[at]) {
        --waits_for[next];
        offer(next);
      }
    }
    order.before_end = order.operations.size();
    for (uint32_t i = 0; i < operations_.size(); ++i)
      if (late && !done_[i]) order.operations.push_back(i);
    return order;
  }

 private:
  std::span<const TraceOp> operations_;
  std::vector<bool> done_;
  std::vector<std::vector<uint32_t>> next_;
  std::vector<uint32_t> waits_for_;
};

// In the order of their first operations.
std::vector<uint32_t> streams_of(std::span<const TraceOp> operations) {
  std::vector<uint32_t> streams;
  for (const TraceOp& op : operations)
    if (streams.size() < kStreamOrders && std::ranges::find(streams, op.stream) == streams.end())
      streams.push_back(op.stream);
  return streams;
}

CallOrder order_of_issue(size_t count) {
  CallOrder order;
  for (uint32_t i = 0; i < count; ++i) order.operations.push_back(i);
  order.before_end = count;
  return order;
}

// Calls visit(buffer) for each that the operation names.
template <class Visit>
void for_each_buffer(const TraceOp& op, const Visit& visit) {
  if (op.kind == TraceOp::Kind::kFree) return;
  if (op.kind != TraceOp::Kind::kLaunch) visit(op.target.buffer);
  if (op.kind == TraceOp::Kind::kCopy) visit(op.source.buffer);
  for (const TraceRelocation& relocation : op.relocations) visit(relocation.buffer);
}

bool is_own(const TraceBuffer& buffer) {
  return buffer.kind == TraceBuffer::Kind::kAllocation || buffer.kind == TraceBuffer::Kind::kSymbol;
}

using Pair = std::pair<uint32_t, uint32_t>;

// Which operations stand before which, by any chain. Only of calls that are not too long for such a table.
class Ancestors {
 public:
  static constexpr size_t kMaxOperations = 1024;

  explicit Ancestors(std::span<const TraceOp> operations) : of_(operations.size()) {
    for (size_t i = 0; i < operations.size(); ++i) {
      of_[i].assign(operations.size(), false);
      for_each_before(operations[i].after, i, [&](size_t before) {
        for (size_t k = 0; k < before; ++k) of_[i][k] = of_[i][k] || of_[before][k];
        of_[i][before] = true;
      });
    }
  }
  bool stands_before(size_t a, size_t b) const { return of_[b][a]; }

 private:
  std::vector<std::vector<bool>> of_;
};

constexpr size_t kMaxPairs = 1 << 16;

// Two operations without order that may use one buffer of the program: kernels of which nobody knows here
// whether they write to it. In the order of issue, the nearest first.
std::vector<Pair> pairs_without_order(const std::vector<TraceBuffer>& buffers,
                                      std::span<const TraceOp> operations, const Ancestors& ancestors) {
  std::vector<std::vector<uint32_t>> users(buffers.size());
  for (uint32_t i = 0; i < operations.size(); ++i)
    for_each_buffer(operations[i], [&](uint32_t buffer) {
      if (is_own(buffers[buffer]) && (users[buffer].empty() || users[buffer].back() != i))
        users[buffer].push_back(i);
    });
  std::vector<Pair> pairs;
  for (const std::vector<uint32_t>& of_buffer : users)
    for (size_t b = 1; b < of_buffer.size(); ++b)
      for (size_t a = 0; a < b; ++a)
        if (pairs.size() < kMaxPairs && !ancestors.stands_before(of_buffer[a], of_buffer[b]))
          pairs.emplace_back(of_buffer[a], of_buffer[b]);
  std::ranges::sort(pairs, {}, [](const Pair& pair) { return std::pair(pair.second - pair.first, pair); });
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

std::string named(const TraceOp& op) {
  std::string name;
  switch (op.kind) {
    case TraceOp::Kind::kLaunch:
      name = readable_name(op.entry);
      break;
    case TraceOp::Kind::kFill:
      name = "a fill";
      break;
    case TraceOp::Kind::kCopy:
      name = "a copy";
      break;
    case TraceOp::Kind::kUpload:
      name = "an upload";
      break;
    case TraceOp::Kind::kFree:
      name = "a release of memory";
      break;
  }
  return name + (op.stream ? concat(" in stream ", op.stream) : " in the default stream");
}

// The first two operations on one buffer that the order turns round: on one that the program can have written
// to, if there is such.
std::optional<Pair> turned_pair(const Trace& trace, std::span<const TraceOp> operations,
                                const CallOrder& order) {
  std::vector<uint32_t> places(operations.size());
  for (uint32_t place = 0; place < order.operations.size(); ++place) places[order.operations[place]] = place;
  std::vector<std::optional<uint32_t>> last(trace.buffers.size());
  std::optional<Pair> of_any;
  for (uint32_t i = 0; i < operations.size(); ++i) {
    std::optional<Pair> found;
    for_each_buffer(operations[i], [&](uint32_t buffer) {
      if (last[buffer] && places[*last[buffer]] > places[i]) {
        auto& pair = is_own(trace.buffers[buffer]) ? found : of_any;
        if (!pair) pair = {*last[buffer], i};
      }
      last[buffer] = i;
    });
    if (found) return found;
  }
  return of_any;
}

// What the order leaves for the end: the last such operation that may write to an output, or the last.
uint32_t unfinished(std::span<const TraceOp> operations, const std::vector<TraceView>& outputs,
                    const CallOrder& order) {
  for (size_t k = order.operations.size(); k-- > order.before_end;) {
    bool on_output = false;
    for_each_buffer(operations[order.operations[k]], [&](uint32_t buffer) {
      on_output = on_output || std::ranges::find(outputs, buffer, &TraceView::buffer) != outputs.end();
    });
    if (on_output) return order.operations[k];
  }
  return order.operations.back();
}

}  // namespace

std::vector<CallOrder> other_orders(const std::vector<TraceBuffer>& buffers,
                                    std::span<const TraceOp> operations, const TraceOrder& end_after) {
  std::vector<CallOrder> orders;
  if (!end_after && std::ranges::none_of(operations, [](const TraceOp& op) { return op.after.has_value(); }))
    return orders;
  const Scheduler scheduler(operations, end_after);
  const CallOrder issued = order_of_issue(operations.size());
  const auto add = [&](bool late, const std::function<Rank(uint32_t)>& rank) {
    CallOrder order = scheduler.order(late, rank);
    if (order != issued && std::ranges::find(orders, order) == orders.end())
      orders.push_back(std::move(order));
  };
  add(true, [](uint32_t i) { return Rank{0, -int64_t{i}}; });
  add(false, [](uint32_t i) { return Rank{0, int64_t{i}}; });
  for (const uint32_t stream : streams_of(operations))
    if (orders.size() < kStreamOrders)
      add(false, [&](uint32_t i) { return Rank{operations[i].stream != stream, -int64_t{i}}; });
  if (orders.empty() || operations.size() > Ancestors::kMaxOperations) return orders;
  const Ancestors ancestors(operations);
  for (const auto& [a, b] : pairs_without_order(buffers, operations, ancestors))
    for (const auto& [first, second] : {Pair{a, b}, Pair{b, a}}) {
      if (orders.size() >= kMaxOrders) return orders;
      add(false, [&](uint32_t i) {
        const bool first_needs = i == first || ancestors.stands_before(i, first);
        const int group = ancestors.stands_before(i, second) ? 3 : first_needs ? 2 : i == second ? 1 : 0;
        return Rank{group, -int64_t{i}};
      });
    }
  return orders;
}

size_t other_orders(const Trace& trace) {
  const std::span first = std::span(trace.ops).subspan(trace.construction_ops);
  size_t most = other_orders(trace.buffers, first, trace.end_after).size();
  for (const TraceRepeat& repeat : trace.repeats)
    most = std::max(most, other_orders(trace.buffers, repeat.ops, repeat.end_after).size());
  return most;
}

std::string turned_round(const Trace& trace, std::span<const TraceOp> operations,
                         const std::vector<TraceView>& outputs, const CallOrder& order) {
  std::optional<Pair> pair = turned_pair(trace, operations, order);
  if (!pair && order.before_end < operations.size())
    return concat("race with the end of forward: ", named(operations[unfinished(operations, outputs, order)]),
                  " may still be at work when it returns; the current stream, or the host, must wait for it");
  for (size_t i = 1; i < order.operations.size() && !pair; ++i)
    if (order.operations[i] < order.operations[i - 1]) pair = {order.operations[i], order.operations[i - 1]};
  if (!pair) return "race between streams";
  return concat("race between streams: ", named(operations[pair->first]), " is issued before ",
                named(operations[pair->second]),
                ", but may be done after it; an event or a synchronisation is missing between them");
}

}  // namespace bicrl
