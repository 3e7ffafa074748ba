#include <cstring>

#include "sandbox/interpreter/ptx/execution/memory_access.h"
#include "sandbox/interpreter/ptx/execution/observer.h"
#include "sandbox/interpreter/ptx/execution/thread_block.h"
#include "sandbox/interpreter/ptx/operations/async_operations.h"
#include "sandbox/interpreter/ptx/operations/lane_values.h"

namespace bicrl::ptx {
namespace {

constexpr uint32_t kBarrierBytes = 8;
// What a lane does here takes as long as that many operations on registers.
constexpr uint64_t kBarrierWork = 32;
constexpr uint32_t kMaxCount = (1 << 20) - 1;  // of arrivals, and of bytes of transactions

// What the 64 bits mean: from the lowest on, 20 bits of `expected`, 20 of `pending`, 22 of bytes + 2^20, a
// one, and the parity of the phase.
struct State {
  uint32_t expected = 0;
  uint32_t pending = 0;
  int32_t bytes = 0;
  bool parity = false;

  uint64_t bits() const {
    return expected | uint64_t{pending} << 20 | static_cast<uint64_t>(bytes + (1 << 20)) << 40 |
           uint64_t{1} << 62 | uint64_t{parity} << 63;
  }
  static State of(uint64_t bits) {
    State state;
    state.expected = bits & kMaxCount;
    state.pending = bits >> 20 & kMaxCount;
    state.bytes = static_cast<int32_t>(bits >> 40 & 0x3FFFFF) - (1 << 20);
    state.parity = bits >> 63 != 0;
    return state;
  }
  static bool is_one(uint64_t bits) { return (bits >> 62 & 1) != 0 && of(bits).bits() == bits; }
};

// The barrier at a lane's address.
class Barrier {
 public:
  Barrier(WarpGroup& warp_group, const Operation& op, int lane) : warp_group_(warp_group), lane_(lane) {
    const uint64_t address = lane_address(warp_group, op.address, op.offset, lane);
    require_aligned(warp_group, address, kBarrierBytes, lane);
    const Region region =
        find_region(warp_group, op.space, address, {.bytes = kBarrierBytes, .writes = true}, lane);
    if (region.space != Space::kShared)
      warp_group.fail(FaultClass::kIllegalAccess, "a barrier that is not in shared memory", lane);
    data_ = region.data + (address - region.begin);
    if (region.undefined) undefined_ = region.undefined + (address - region.begin);
  }

  uint64_t place() const { return static_cast<uint64_t>(data_ - warp_group_.block().shared()); }

  State read() const {
    constexpr uint64_t kPoison = kPoisonWord * 0x0001000100010001;
    uint64_t bits = 0;
    memcpy(&bits, data_, sizeof bits);
    bool known = bits != kPoison;
    for (uint32_t i = 0; undefined_ && i < kBarrierBytes; ++i) known &= undefined_[i] == 0;
    if (!known) warp_group_.fail(FaultClass::kUninitialised, "a barrier was never initialised", lane_);
    if (!State::is_one(bits))
      warp_group_.fail(FaultClass::kBarrier, "what is used as a barrier is none", lane_);
    return State::of(bits);
  }

  void write(const State& state) { write(state.bits(), false); }
  void invalidate() {
    write(0, true);
    fill_poison({data_, kBarrierBytes});
  }

  void expect(State& state, int64_t bytes) const {
    const int64_t sum = state.bytes + bytes;
    if (bytes > kMaxCount || bytes < -int64_t{kMaxCount} || sum > kMaxCount || sum < -int64_t{kMaxCount})
      fail("more bytes of transactions than a barrier can count");
    state.bytes = static_cast<int32_t>(sum);
  }

  void arrive(State& state, uint32_t count) const {
    if (count == 0 || count > state.pending) fail("more arrivals at a barrier than it waits for, or none");
    state.pending -= count;
  }

  // The next phase begins if nothing is pending any more.
  static void complete(State& state) {
    if (state.pending != 0 || state.bytes != 0) return;
    state.parity = !state.parity;
    state.pending = state.expected;
  }

  [[noreturn]] void fail(const char* message) const {
    warp_group_.fail(FaultClass::kBarrier, message, lane_);
  }

 private:
  void write(uint64_t bits, bool undefined) {
    memcpy(data_, &bits, sizeof bits);
    if (undefined_) memset(undefined_, undefined ? 0xFF : 0, kBarrierBytes);
  }

  WarpGroup& warp_group_;
  const int lane_;
  std::byte* data_ = nullptr;
  uint8_t* undefined_ = nullptr;
};

void change(WarpGroup& warp_group, const Operation& op, int lane) {
  const auto action = static_cast<BarrierAction>(op.detail);
  Barrier barrier(warp_group, op, lane);
  const uint32_t operand =
      op.sources[0] ? defined_value<uint32_t>(warp_group, op.sources[0], lane, "a count of a barrier") : 1;
  Observer* observer = warp_group.grid().observer();
  if (action == BarrierAction::kInit) {
    if (observer) observer->phases_begin(warp_group, op, lane, barrier.place());
    if (operand == 0 || operand > kMaxCount) barrier.fail("a barrier of no arrivals, or of too many");
    return barrier.write(State{.expected = operand, .pending = operand, .bytes = 0, .parity = false});
  }
  State state = barrier.read();
  if (observer && action != BarrierAction::kInvalidate)
    observer->phase_arrival(warp_group.block(), warp_group.first_thread() + lane, barrier.place());
  if (action == BarrierAction::kInvalidate) return barrier.invalidate();
  const State before = state;
  switch (action) {
    case BarrierAction::kExpectBytes:
      barrier.expect(state, operand);
      return barrier.write(state);
    case BarrierAction::kCompleteBytes:
      barrier.expect(state, -int64_t{operand});
      break;
    case BarrierAction::kArriveExpecting:
    case BarrierAction::kDropExpecting:
      barrier.expect(state, operand);
      barrier.arrive(state, 1);
      break;
    default:
      barrier.arrive(state, operand);
      break;
  }
  if (action == BarrierAction::kDrop || action == BarrierAction::kDropIncomplete ||
      action == BarrierAction::kDropExpecting)
    state.expected -= action == BarrierAction::kDropExpecting ? 1 : operand;
  Barrier::complete(state);
  if ((action == BarrierAction::kArriveIncomplete || action == BarrierAction::kDropIncomplete) &&
      state.parity != before.parity)
    barrier.fail("an arrival that must not end the phase of a barrier ends it");
  barrier.write(state);
  set_value(warp_group, op.destinations[0], lane, before.bits());
}

}  // namespace

void arrive_after_copies(WarpGroup& warp_group, const Operation& op) {
  warp_group.grid().count_work(kBarrierWork, static_cast<uint64_t>(warp_group.active().count()));
  warp_group.active().for_each([&](int lane) {
    Barrier barrier(warp_group, op, lane);
    State state = barrier.read();
    if (op.detail == 0) {
      if (state.pending == kMaxCount) barrier.fail("a barrier of too many arrivals");
      ++state.pending;
    }
    barrier.write(state);
    if (warp_group.block().copies().is_full())
      warp_group.fail(FaultClass::kMemory, "too many arrivals wait for asynchronous copies", lane);
    warp_group.block().copies().arrive_later(warp_group.first_thread() + lane, barrier.place());
  });
}

void change_barrier(WarpGroup& warp_group, const Operation& op) {
  warp_group.grid().count_work(kBarrierWork, static_cast<uint64_t>(warp_group.active().count()));
  warp_group.active().for_each([&](int lane) { change(warp_group, op, lane); });
}

void test_barrier(WarpGroup& warp_group, const Operation& op) {
  warp_group.grid().count_work(kBarrierWork, static_cast<uint64_t>(warp_group.active().count()));
  bool waits = false;
  warp_group.active().for_each([&](int lane) {
    Barrier barrier(warp_group, op, lane);
    State state = barrier.read();
    if (const uint64_t arrivals = warp_group.block().copies().take_arrivals(barrier.place()); arrivals > 0) {
      for (uint64_t i = 0; i < arrivals; ++i) {
        barrier.arrive(state, 1);
        Barrier::complete(state);
      }
      barrier.write(state);
      warp_group.block().show_landed();
    }
    bool parity = false;
    if (op.detail == 0) {
      const auto bits = defined_value<uint64_t>(warp_group, op.sources[0], lane, "the state of a barrier");
      if (!State::is_one(bits)) barrier.fail("what is used as the state of a barrier is none");
      parity = State::of(bits).parity;
    } else {
      parity = (defined_value<uint32_t>(warp_group, op.sources[0], lane, "the parity of a phase") & 1) != 0;
    }
    const bool ended = state.parity != parity;
    waits |= !ended;
    if (Observer* observer = warp_group.grid().observer(); observer && ended)
      observer->phase_ended(warp_group.block(), warp_group.first_thread() + lane, barrier.place());
    set_predicate(warp_group, op.destinations[0], lane, ended);
  });
  if (waits) warp_group.note_wait();
}

void pending_arrivals(WarpGroup& warp_group, const Operation& op) {
  warp_group.active().for_each([&](int lane) {
    const auto bits = defined_value<uint64_t>(warp_group, op.sources[0], lane, "the state of a barrier");
    set_value(warp_group, op.destinations[0], lane, State::of(bits).pending);
  });
}

}  // namespace bicrl::ptx
