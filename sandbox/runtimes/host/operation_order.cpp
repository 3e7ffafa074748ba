#include "operation_order.h"

#include <algorithm>

#include "streams.h"

namespace bicrl {
namespace {

// The legacy stream has two names.
cudaStream_t key(cudaStream_t stream) { return is_legacy(stream) ? nullptr : stream; }

void join(Frontier& point, const Frontier& other) {
  for (const auto& [lane, operation] : other) {
    const auto [at, is_new] = point.try_emplace(lane, operation);
    if (!is_new) at->second = std::max(at->second, operation);
  }
}

}  // namespace

bool covers(const Frontier& point, const Frontier& other) {
  return std::all_of(other.begin(), other.end(), [&point](const auto& last) {
    const auto at = point.find(last.first);
    return at != point.end() && at->second >= last.second;
  });
}

void OperationOrder::join(Stream& stream, const Frontier& point) {
  for (const auto& [lane, operation] : point) {
    const auto [at, is_new] = stream.seen.try_emplace(lane, operation);
    if (!is_new && at->second >= operation) continue;
    at->second = stream.direct[lane] = operation;
  }
}

OperationOrder::Stream& OperationOrder::state(cudaStream_t stream) {
  const auto [at, is_new] = streams_.try_emplace(key(stream));
  Stream& own = at->second;
  if (is_new) own.blocking = is_blocking(stream);
  join(own, host_);
  if (is_legacy(stream)) {
    for (const auto& [other, state] : streams_)
      if (state.blocking) join(own, state.seen);
  } else if (own.blocking) {
    const auto legacy = streams_.find(nullptr);
    if (legacy != streams_.end()) join(own, legacy->second.seen);
  }
  return own;
}

void OperationOrder::wait(cudaStream_t stream, const Frontier& point) { join(state(stream), point); }

void OperationOrder::host_waits(const Frontier& point) { bicrl::join(host_, point); }

bool OperationOrder::host_asks(const Frontier& point) {
  if (covers(host_, point)) return true;
  const bool again = covers(asked_, point);
  bicrl::join(again ? host_ : asked_, point);
  return again;
}

std::vector<size_t> OperationOrder::before(cudaStream_t stream) {
  std::vector<size_t> operations;
  for (const auto& [lane, operation] : state(stream).direct) operations.push_back(operation);
  return operations;
}

void OperationOrder::add(const Lane& lane) { everything_[lane] = size_++; }

void OperationOrder::advance(cudaStream_t stream, const Frontier& last) {
  if (last.empty()) return;
  Stream& own = state(stream);
  own.direct = last;
  for (const auto& [lane, operation] : last) own.seen[lane] = operation;
}

std::string order_text(size_t number, const std::vector<size_t>& after) {
  if (number == 0 || (after.size() == 1 && after.front() + 1 == number)) return {};
  std::string text;
  for (const size_t operation : after)
    text += (text.empty() ? "[" : ",") + std::to_string(number - operation);
  return text.empty() ? "[]" : text + "]";
}

std::string with_order(std::string json, size_t number, const std::vector<size_t>& after, size_t lane) {
  const std::string order = order_text(number, after);
  if (order.empty() && lane == 0) return json;
  json.pop_back();
  if (!order.empty()) json += ",\"after\":" + order;
  if (lane > 0) json += ",\"stream\":" + std::to_string(lane);
  return json + "}";
}

}  // namespace bicrl
