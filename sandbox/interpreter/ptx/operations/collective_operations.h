// Barriers of a block, and warp collectives: shuffles, votes, matches and reductions. Handlers of Operation.
// Where the manual leaves a result undefined (a value from a lane that does not take part), it is poison.
#pragma once
#include <cstdint>

#include "sandbox/interpreter/ptx/lowering/kernel.h"

namespace bicrl::ptx {

// Operation::detail of arrive_at_barrier: lanes do not wait.
constexpr uint16_t kArriveOnly = 1;
// Sources: the barrier, the number of threads (or none), the predicate of bar.red (or none). If `offset` is
// not negative, it is the barrier, for all threads, and the sources are not looked at.
void arrive_at_barrier(WarpGroup& warp_group, const Operation& op);
// Operation::more of bar.red, as of redux.
enum class Combine : uint8_t { kAdd, kMin, kMax, kAnd, kOr, kXor, kPopc };

enum class ShuffleMode : uint8_t { kUp, kDown, kButterfly, kIndex };
// Sources: mask, value, lane, clamp. Destinations: value, and whether the source lane was in range.
void shuffle(WarpGroup& warp_group, const Operation& op);

enum class VoteMode : uint8_t { kAll, kAny, kUniform, kBallot };
// Sources: mask, predicate.
void vote(WarpGroup& warp_group, const Operation& op);

// Sources: mask, value (4 or 8 bytes). detail 1: match.all, whose second destination says whether all agree.
void match(WarpGroup& warp_group, const Operation& op);

// Sources: mask, value. detail: Combine; `type` says how values compare.
void reduce_warp(WarpGroup& warp_group, const Operation& op);

void active_mask(WarpGroup& warp_group, const Operation& op);
// Sources: mask. Destinations: the lane that is chosen, whether this is it.
void elect(WarpGroup& warp_group, const Operation& op);
// bar.warp.sync: does nothing but wait.
void sync_warp(WarpGroup& warp_group, const Operation& op);

}  // namespace bicrl::ptx
