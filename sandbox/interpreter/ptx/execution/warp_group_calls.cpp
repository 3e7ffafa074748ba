// Calls, returns, and branches to where a value says.
#include "sandbox/interpreter/ptx/execution/warp_group.h"

#include <algorithm>
#include <cstring>

#include "sandbox/interpreter/ptx/execution/grid.h"
#include "sandbox/interpreter/ptx/execution/thread_block.h"

namespace bicrl::ptx {
namespace {

constexpr size_t kMaxCallDepth = 256;
constexpr size_t kMaxSavedBytes = 64 << 10;  // of a lane's functions that call themselves

}  // namespace

void WarpGroup::copy_local(LocalRange from, LocalRange to) {
  const size_t lanes = static_cast<size_t>(lanes_);
  const size_t words = (std::min(from.bytes, to.bytes) + 3) / 4;
  const auto copy = [&](uint32_t* memory) {
    for (size_t word = 0; word < words; ++word) {
      uint32_t* target = memory + (to.begin / 4 + word) * lanes;
      const uint32_t* source = memory + (from.begin / 4 + word) * lanes;
      active_.for_each([&](int lane) { target[lane] = source[lane]; });
    }
  };
  copy(local_.data());
  if (has_shadows()) copy(local_shadow_.data());
}

// Calls work(bytes, count) for every piece of the lane's part of a function's state.
template <class Work>
void WarpGroup::for_each_piece(const Callee& callee, int lane, const Work& work) {
  const size_t at = static_cast<size_t>(lane);
  for (const Place& place : callee.registers) {
    work(values<std::byte>(place) + at * place.bytes, place.bytes);
    if (has_shadows()) work(shadows<std::byte>(place) + at * place.bytes, place.bytes);
  }
  for (const LocalRange& range : callee.ranges)
    for (size_t word = range.begin / 4; word < (range.begin + range.bytes + 3) / 4; ++word) {
      const size_t index = word * static_cast<size_t>(lanes_) + at;
      work(reinterpret_cast<std::byte*>(&local_[index]), sizeof(uint32_t));
      if (has_shadows()) work(reinterpret_cast<std::byte*>(&local_shadow_[index]), sizeof(uint32_t));
    }
}

void WarpGroup::save(const Callee& callee, int lane) {
  auto& saved = saved_[static_cast<size_t>(lane)];
  for_each_piece(callee, lane, [&](const std::byte* bytes, size_t count) {
    saved.insert(saved.end(), bytes, bytes + count);
  });
  if (saved.size() > kMaxSavedBytes) fail(FaultClass::kMemory, "calls are nested too deeply", lane);
}

void WarpGroup::restore(const Callee& callee, int lane) {
  auto& saved = saved_[static_cast<size_t>(lane)];
  size_t bytes = 0;
  for_each_piece(callee, lane, [&](const std::byte*, size_t count) { bytes += count; });
  const std::byte* from = saved.data() + (saved.size() - bytes);
  for_each_piece(callee, lane, [&](std::byte* to, size_t count) {
    memcpy(to, from, count);
    from += count;
  });
  saved.resize(saved.size() - bytes);
}

void WarpGroup::call(const Operation& op, uint32_t number) {
  const Callee& callee = kernel_.callees[number];
  const CallSite& site = kernel_.call_sites[op.more];
  const auto where = static_cast<uint32_t>(&op - kernel_.operations.data());
  active_.for_each([&](int lane) {
    auto& stack = returns_[static_cast<size_t>(lane)];
    if (stack.size() >= kMaxCallDepth) fail(FaultClass::kMemory, "calls are nested too deeply", lane);
    const bool again =
        callee.recursive && std::any_of(stack.begin(), stack.end(),
                                        [&](const Return& entered) { return entered.callee == number; });
    if (again) save(callee, lane);
    stack.push_back({number, where, again});
  });
  for (size_t i = 0; i < std::min(site.arguments.size(), callee.parameters.size()); ++i)
    copy_local(site.arguments[i], callee.parameters[i]);
  for (const Place& place : callee.poisoned) poison(place);
}

void WarpGroup::come_back(const Return& call, const LaneSet& lanes) {
  const Operation& op = kernel_.operations[call.operation];
  const Callee& callee = kernel_.callees[call.callee];
  const CallSite& site = kernel_.call_sites[op.more];
  const size_t results = std::min(site.results.size(), callee.returns.size());
  set_active(lanes);
  if (call.saved) {
    // The results lie in what comes back; they are taken aside first.
    std::vector<uint32_t> aside;
    const auto for_each_word = [&](LocalRange range, const auto& work) {
      for (size_t word = 0; word < (range.bytes + 3) / 4; ++word)
        lanes.for_each([&](int lane) {
          const size_t index =
              (range.begin / 4 + word) * static_cast<size_t>(lanes_) + static_cast<size_t>(lane);
          work(local_[index]);
          if (has_shadows()) work(local_shadow_[index]);
        });
    };
    const auto bytes_of_result = [&](size_t i) {
      return std::min(callee.returns[i].bytes, site.results[i].bytes);
    };
    for (size_t i = 0; i < results; ++i)
      for_each_word({callee.returns[i].begin, bytes_of_result(i)},
                    [&](uint32_t word) { aside.push_back(word); });
    lanes.for_each([&](int lane) { restore(callee, lane); });
    size_t next = 0;
    for (size_t i = 0; i < results; ++i)
      for_each_word({site.results[i].begin, bytes_of_result(i)},
                    [&](uint32_t& word) { word = aside[next++]; });
  } else {
    for (size_t i = 0; i < results; ++i) copy_local(callee.returns[i], site.results[i]);
  }
  lanes.for_each([&](int lane) { returns_[static_cast<size_t>(lane)].pop_back(); });
  add_subset(op.next_block, lanes);
}

void WarpGroup::spread_by_value(const Operation& op) {
  const LaneSet all = active_;
  LaneSet left = all;
  // The first lane's way, taken by all that have the same; then the next one's.
  while (!left.empty()) {
    const int first = left.first();
    LaneSet alike;
    const auto gather = [&](const auto& value_of) {
      const auto value = value_of(first);
      left.for_each([&](int lane) {
        if (value_of(lane) == value) alike.add(lane);
      });
      return value;
    };
    if (op.flow == Flow::kReturn) {
      // Of a call; a return of the kernel itself has become an exit.
      const auto top = gather([&](int lane) { return returns_[static_cast<size_t>(lane)].back(); });
      come_back(top, alike);
    } else if (op.flow == Flow::kIndexedBranch) {
      require_defined(op.sources[0], "an index of a branch");
      const auto& table = kernel_.branch_tables[op.target];
      const uint32_t index = gather([&](int lane) { return values<uint32_t>(op.sources[0])[lane]; });
      if (index >= table.size()) fail(FaultClass::kIllegalAccess, "a branch beyond its table", first);
      add_subset(table[index], alike);
    } else {
      require_defined(op.sources[0], "the address of a function");
      const uint64_t address = gather([&](int lane) { return values<uint64_t>(op.sources[0])[lane]; });
      uint32_t callee = 0;
      while (callee < kernel_.callees.size() && function_address(kernel_.callees[callee].function) != address)
        ++callee;
      if (callee == 0 || callee == kernel_.callees.size())
        fail(FaultClass::kIllegalAccess, "a call of what is no function", first);
      set_active(alike);
      call(op, callee);
      add_subset(kernel_.callees[callee].entry_block, alike);
    }
    left -= alike;
  }
}

}  // namespace bicrl::ptx
