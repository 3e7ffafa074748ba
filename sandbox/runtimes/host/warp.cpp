// Warp primitives: lanes publish their values and wait; the last one computes all results from that snapshot.
#include <algorithm>

#include "bicrl/check.h"
#include "engine_state.h"

namespace bicrl {
namespace {

// What a lane reads of a lane that takes no part: rubbish on a GPU, so rubbish here.
constexpr unsigned long long kNobody = 0x7fc0dead7fc0deadULL;

unsigned long long lane_value(const ThreadState* lanes, unsigned participants, unsigned lane) {
  return participants >> lane & 1 ? lanes[lane].value : kNobody;
}

unsigned long long shuffled(const ThreadState* lanes, unsigned participants, unsigned lane) {
  const ThreadState& s = lanes[lane];
  const unsigned width = s.width >= 1 && s.width <= 32 ? static_cast<unsigned>(s.width) : 32;
  const unsigned first = lane & ~(width - 1);
  const auto argument = static_cast<unsigned>(s.argument);
  unsigned source = lane;
  switch (s.kind) {
    case kShuffle: source = first | (argument & (width - 1)); break;
    case kShuffleUp: source = lane >= first + argument && argument < 32 ? lane - argument : lane; break;
    case kShuffleDown: source = argument < 32 && lane + argument < first + width ? lane + argument : lane; break;
    // Within a narrower width a lane may read earlier groups but not later ones.
    default: source = (lane ^ (argument & 31)) < first + width ? lane ^ (argument & 31) : lane; break;
  }
  return source == lane ? s.value : lane_value(lanes, participants, source);
}

unsigned long long combine(int kind, unsigned long long a, unsigned long long b) {
  const auto ia = static_cast<int>(a), ib = static_cast<int>(b);
  const auto ua = static_cast<unsigned>(a), ub = static_cast<unsigned>(b);
  switch (kind) {
    case kMinSigned: return static_cast<unsigned>(std::min(ia, ib));
    case kMaxSigned: return static_cast<unsigned>(std::max(ia, ib));
    case kMinUnsigned: return std::min(ua, ub);
    case kMaxUnsigned: return std::max(ua, ub);
    case kAnd: return ua & ub;
    case kOr: return ua | ub;
    case kXor: return ua ^ ub;
    default: return static_cast<unsigned>(ua + ub);
  }
}

// Result of a vote or reduction: one value for all lanes.
unsigned long long collective(const ThreadState* lanes, unsigned participants, int kind) {
  const unsigned first = static_cast<unsigned>(__builtin_ctz(participants));
  unsigned ballot = 0;
  bool same = true;
  unsigned long long sum = lanes[first].value;
  for (unsigned lane = first; lane < 32; ++lane) {
    if (!(participants >> lane & 1)) continue;
    if (lanes[lane].value) ballot |= 1u << lane;
    same = same && lanes[lane].value == lanes[first].value;
    if (lane != first) sum = combine(kind, sum, lanes[lane].value);
  }
  switch (kind) {
    case kAny: return ballot != 0;
    case kAll: return ballot == participants;
    case kUniform: return same;
    case kBallot: return ballot;
    case kMatchAll: return same ? participants : 0;
    default: return sum;
  }
}

unsigned matching(const ThreadState* lanes, unsigned participants, unsigned lane) {
  unsigned equal = 0;
  for (unsigned other = 0; other < 32; ++other)
    if ((participants >> other & 1) && lanes[other].value == lanes[lane].value) equal |= 1u << other;
  return equal;
}

void compute_results(ThreadState* lanes, unsigned participants) {
  const int kind = lanes[__builtin_ctz(participants)].kind;
  if (kind == kSync) return;
  const bool one_for_all = kind >= kAny && kind != kMatchAny;
  const unsigned long long common = one_for_all ? collective(lanes, participants, kind) : 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!(participants >> lane & 1)) continue;
    lanes[lane].result = one_for_all         ? common
                         : kind == kMatchAny ? matching(lanes, participants, lane)
                                             : shuffled(lanes, participants, lane);
  }
}

}  // namespace

bool complete_warp(unsigned w, unsigned mask, int arrived) {
  Engine& e = engine();
  WarpState& warp = e.warp[w];
  const unsigned participants = mask & warp.present & ~warp.exited;
  if (participants == 0 || (participants & ~warp.waiting)) return false;
  ThreadState* lanes = e.thread + w * 32;
  const int kind = lanes[__builtin_ctz(participants)].kind;
  for (unsigned lane = 0; lane < 32; ++lane)
    if ((participants >> lane & 1) && (lanes[lane].mask != mask || lanes[lane].kind != kind)) return false;
  compute_results(lanes, participants);
  warp.waiting &= ~participants;
  for (int i = 0; i < 32; ++i) {
    const int lane = engine_options().reverse ? 31 - i : i;
    if (!(participants >> lane & 1)) continue;
    const unsigned t = w * 32 + static_cast<unsigned>(lane);
    if (static_cast<int>(t) == arrived) {
      lanes[lane].wait = ThreadState::Wait::kNone;
    } else {
      e.make_ready(t);
    }
  }
  return true;
}

void lane_exited(unsigned w) {
  Engine& e = engine();
  for (unsigned left = e.warp[w].waiting; left;) {
    const unsigned mask = e.thread[w * 32 + static_cast<unsigned>(__builtin_ctz(left))].mask;
    complete_warp(w, mask, -1);
    left &= e.warp[w].waiting & ~mask;
  }
}

bool release_active_masks() {
  Engine& e = engine();
  bool released = false;
  for (unsigned w = 0; w * 32 < e.threads; ++w) {
    ThreadState* lanes = e.thread + w * 32;
    const unsigned here = std::min(32u, e.threads - w * 32);
    unsigned group = 0;
    int line = 0;
    for (unsigned lane = 0; lane < here; ++lane) {
      if (lanes[lane].wait != ThreadState::Wait::kActiveMask) continue;
      if (group == 0) line = lanes[lane].line;
      if (lanes[lane].line == line) group |= 1u << lane;
    }
    for (unsigned lane = 0; lane < here; ++lane)
      if (group >> lane & 1) {
        lanes[lane].result = group;
        e.make_ready(w * 32 + lane);
        released = true;
      }
  }
  return released;
}

}  // namespace bicrl

using namespace bicrl;

extern "C" unsigned long long bicrl_warp(int kind, unsigned mask, unsigned long long value, int argument, int width,
                                         int line) {
  Engine& e = engine();
  const unsigned t = e.current, w = t / 32, lane = t % 32;
  if (!(mask >> lane & 1))
    abandon_launch("illegal_access", "a warp primitive (line " + std::to_string(line) +
                                         ") was called with a mask that leaves out the calling lane");
  ThreadState& s = e.thread[t];
  s.wait = ThreadState::Wait::kWarp;
  s.kind = static_cast<uint8_t>(kind);
  s.mask = mask;
  s.value = value;
  s.argument = argument;
  s.width = width;
  s.line = line;
  e.warp[w].waiting |= 1u << lane;
  if (!complete_warp(w, mask, static_cast<int>(t))) wait_for_others();
  return s.result;
}

extern "C" unsigned bicrl_activemask(int line) {
  Engine& e = engine();
  ThreadState& s = e.thread[e.current];
  s.wait = ThreadState::Wait::kActiveMask;
  s.line = line;
  wait_for_others();
  return static_cast<unsigned>(s.result);
}

extern "C" void bicrl_trap(const char* text, const char* file, int line) {
  if (!kernel_running()) bicrl::fail(file, line, "assertion failed: ", text);
  abandon_launch("illegal_access", std::string("device-side assert or trap: ") + text + " (line " +
                                       std::to_string(line) + ")");
}

extern "C" long long bicrl_clock() {
  static long long ticks = 0;  // deterministic: two runs of a kernel are to agree
  return ticks += 100;
}
