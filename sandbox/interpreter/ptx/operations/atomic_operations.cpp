#include "sandbox/interpreter/ptx/operations/atomic_operations.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "sandbox/interpreter/ptx/execution/grid.h"
#include "sandbox/interpreter/ptx/execution/memory_access.h"
#include "sandbox/interpreter/ptx/execution/observed_access.h"

namespace bicrl::ptx {
namespace {

using Bits128 = unsigned __int128;

// bf16 as a type that computes in fp32 and rounds to the nearest, like _Float16 does. The sum of two has
// fewer bits than fp32 keeps twice over, so that rounding twice is rounding once.
struct BFloat16 {
  uint16_t bits = 0;
  explicit operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
  static BFloat16 rounded(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    if (std::isnan(value)) return {0x7FFF};
    return {static_cast<uint16_t>((word + 0x7FFF + (word >> 16 & 1)) >> 16)};
  }
};
template <class T>
struct Pair {
  T low, high;
};

template <class T>
T sum(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
  else if constexpr (std::is_same_v<T, Bits128>)
    return a;
  else
    return static_cast<T>(a + b);
}
BFloat16 sum(BFloat16 a, BFloat16 b) {
  return BFloat16::rounded(static_cast<float>(a) + static_cast<float>(b));
}
template <class T>
Pair<T> sum(Pair<T> a, Pair<T> b) {
  return {sum(a.low, b.low), sum(a.high, b.high)};
}

// Minimum (or maximum) as PTX has it: a number wins against a NaN.
template <class T>
T least(T a, T b, bool greatest) {
  const float x = static_cast<float>(a), y = static_cast<float>(b);
  if (std::isnan(x)) return b;
  if (std::isnan(y)) return a;
  if (x == y) return std::signbit(x) == greatest ? b : a;
  return (x < y) != greatest ? a : b;
}
template <class T>
Pair<T> least(Pair<T> a, Pair<T> b, bool greatest) {
  return {least(a.low, b.low, greatest), least(a.high, b.high, greatest)};
}

template <AtomicKind kKind, class T>
T combine(T old, T value) {
  if constexpr (kKind == AtomicKind::kAdd) {
    return sum(old, value);
  } else if constexpr (kKind == AtomicKind::kExchange) {
    return value;
  } else if constexpr (std::is_integral_v<T>) {
    switch (kKind) {
      case AtomicKind::kMin:
        return std::min(old, value);
      case AtomicKind::kMax:
        return std::max(old, value);
      case AtomicKind::kInc:
        return old >= value ? T{0} : static_cast<T>(old + 1);
      case AtomicKind::kDec:
        return old == 0 || old > value ? value : static_cast<T>(old - 1);
      case AtomicKind::kAnd:
        return static_cast<T>(old & value);
      case AtomicKind::kOr:
        return static_cast<T>(old | value);
      default:
        return static_cast<T>(old ^ value);
    }
  } else {
    return least(old, value, kKind == AtomicKind::kMax);
  }
}

// Some bit of the bytes is undefined.
bool any_bit(const uint8_t* bytes, size_t count) {
  return std::any_of(bytes, bytes + count, [](uint8_t b) { return b != 0; });
}

// What a lane's element takes here, in operations on registers.
constexpr uint64_t kAtomicWork = 16;

// One element of one lane, and its undefined bits.
template <class T>
struct Element {
  T value;
  uint8_t undefined[sizeof(T)];
};

template <AtomicKind kKind, class T>
void run_atomic(WarpGroup& warp_group, const Operation& op) {
  const uint32_t count = op.count;
  const Access access{.bytes = static_cast<uint32_t>(sizeof(T)) * count, .writes = true};
  const bool shadows = warp_group.has_shadows();
  warp_group.grid().count_work(kAtomicWork * count, static_cast<uint64_t>(warp_group.active().count()));
  bool changed = false;
  const auto source = [&](Place place, int lane) {
    Element<T> element{};
    memcpy(&element.value, warp_group.values<T>(place) + lane, sizeof(T));
    if (shadows) memcpy(element.undefined, warp_group.shadows<T>(place) + lane, sizeof(T));
    return element;
  };
  for_each_region(warp_group, op, access, [&](const RegionAccess& group) {
    if (group.region.local)
      warp_group.fail(FaultClass::kIllegalAccess, "an atomic operation on local memory");
    ObservedAccess observed(warp_group, op, group.region);
    if (observed) {
      observed.set_offsets(group.lanes, group.offsets);
      observed.begin(LaneAccess::Kind::kAtomic, access.bytes);
    }
    group.lanes.for_each([&](int lane) {
      for (uint32_t i = 0; i < count; ++i) {
        const uint64_t at = group.offsets[lane] + i * sizeof(T);
        std::byte* memory = group.region.data + at;
        uint8_t* undefined = group.region.undefined ? group.region.undefined + at : nullptr;
        Element<T> old{};
        memcpy(&old.value, memory, sizeof(T));
        if (undefined) memcpy(old.undefined, undefined, sizeof(T));
        const Element<T> first = source(op.sources[i], lane);
        Element<T> next{};
        if constexpr (kKind == AtomicKind::kCompareAndSwap) {
          const Element<T> second = source(op.sources[1], lane);
          if (shadows && (any_bit(old.undefined, sizeof(T)) || any_bit(first.undefined, sizeof(T))))
            warp_group.fail(FaultClass::kUninitialised, "what a compare-and-swap compares was never written",
                            lane);
          next = memcmp(&old.value, &first.value, sizeof(T)) == 0 ? second : old;
        } else {
          next.value = combine<kKind, T>(old.value, first.value);
          const bool unknown = any_bit(first.undefined, sizeof(T)) ||
                               (kKind != AtomicKind::kExchange && any_bit(old.undefined, sizeof(T)));
          memset(next.undefined, unknown ? 0xFF : 0, sizeof(T));
        }
        changed |= memcmp(&old.value, &next.value, sizeof(T)) != 0;
        memcpy(memory, &next.value, sizeof(T));
        if (undefined) memcpy(undefined, next.undefined, sizeof(T));
        if (group.region.writers)
          memset(group.region.writers + at, static_cast<int>(Writer::kKernel), sizeof(T));
        if (!op.destinations[i]) continue;
        memcpy(warp_group.values<T>(op.destinations[i]) + lane, &old.value, sizeof(T));
        if (shadows) memcpy(warp_group.shadows<T>(op.destinations[i]) + lane, old.undefined, sizeof(T));
      }
    });
    observed.finish();
  });
  // Whoever changes nothing may be waiting for a change.
  if (!changed && op.destinations[0]) warp_group.note_wait();
}

template <class T>
Handler integer(AtomicKind kind) {
  switch (kind) {
    case AtomicKind::kAdd:
      return run_atomic<AtomicKind::kAdd, T>;
    case AtomicKind::kMin:
      return run_atomic<AtomicKind::kMin, T>;
    case AtomicKind::kMax:
      return run_atomic<AtomicKind::kMax, T>;
    case AtomicKind::kInc:
      return run_atomic<AtomicKind::kInc, T>;
    case AtomicKind::kDec:
      return run_atomic<AtomicKind::kDec, T>;
    case AtomicKind::kAnd:
      return run_atomic<AtomicKind::kAnd, T>;
    case AtomicKind::kOr:
      return run_atomic<AtomicKind::kOr, T>;
    case AtomicKind::kXor:
      return run_atomic<AtomicKind::kXor, T>;
    case AtomicKind::kExchange:
      return run_atomic<AtomicKind::kExchange, T>;
    case AtomicKind::kCompareAndSwap:
      return run_atomic<AtomicKind::kCompareAndSwap, T>;
  }
  return nullptr;
}

template <class T>
Handler sums_only(AtomicKind kind) {
  return kind == AtomicKind::kAdd ? run_atomic<AtomicKind::kAdd, T> : nullptr;
}

template <class T>
Handler small_float(AtomicKind kind) {
  switch (kind) {
    case AtomicKind::kAdd:
      return run_atomic<AtomicKind::kAdd, T>;
    case AtomicKind::kMin:
      return run_atomic<AtomicKind::kMin, T>;
    case AtomicKind::kMax:
      return run_atomic<AtomicKind::kMax, T>;
    default:
      return nullptr;
  }
}

}  // namespace

Handler atomic_handler(AtomicKind kind, Type type) {
  const bool swaps = kind == AtomicKind::kExchange || kind == AtomicKind::kCompareAndSwap;
  switch (type) {
    case Type::kU32:
    case Type::kB32:
      return integer<uint32_t>(kind);
    case Type::kS32:
      return integer<int32_t>(kind);
    case Type::kU64:
    case Type::kB64:
      return integer<uint64_t>(kind);
    case Type::kS64:
      return integer<int64_t>(kind);
    case Type::kB16:
    case Type::kU16:
      return swaps ? integer<uint16_t>(kind) : nullptr;
    case Type::kB128:
      return kind == AtomicKind::kExchange         ? run_atomic<AtomicKind::kExchange, Bits128>
             : kind == AtomicKind::kCompareAndSwap ? run_atomic<AtomicKind::kCompareAndSwap, Bits128>
                                                   : nullptr;
    case Type::kF32:
      return small_float<float>(kind);
    case Type::kF64:
      return sums_only<double>(kind);
    case Type::kF16:
      return small_float<_Float16>(kind);
    case Type::kF16x2:
      return small_float<Pair<_Float16>>(kind);
    case Type::kBF16:
      return small_float<BFloat16>(kind);
    case Type::kBF16x2:
      return small_float<Pair<BFloat16>>(kind);
    default:
      return nullptr;
  }
}

}  // namespace bicrl::ptx
