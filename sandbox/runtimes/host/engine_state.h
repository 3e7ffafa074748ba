// State of the kernel that runs, shared between the scheduler (engine.cpp) and the warp primitives (warp.cpp).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "engine.h"
#include "fiber.h"

namespace bicrl {

constexpr unsigned kMaxThreads = 1024;

struct ThreadState {
  enum class Wait : uint8_t { kNone, kBarrier, kWarp, kActiveMask };
  Wait wait = Wait::kNone;
  uint8_t kind = 0;
  uint16_t fiber = 0;
  int line = 0;
  unsigned mask = 0;
  int argument = 0, width = 32;
  unsigned long long value = 0, result = 0;
};

struct WarpState {
  unsigned present = 0;  // lanes that exist
  unsigned exited = 0;
  unsigned waiting = 0;  // lanes in a warp primitive
};

struct Engine {
  KernelCall call;
  KernelOutcome outcome;
  bool running = false;
  unsigned threads = 0;
  uint3 index_of[kMaxThreads];
  ThreadState thread[kMaxThreads];
  WarpState warp[kMaxThreads / 32];
  unsigned taken = 0, exited = 0;
  unsigned current = 0, current_fiber = 0;
  // Block barrier.
  unsigned at_barrier = 0;
  int barrier_line = 0, other_line = 0;
  int vote_count = 0;
  bool vote_and = true, vote_or = false;
  // Threads that may go on, oldest first.
  uint16_t ready[kMaxThreads];
  unsigned ready_head = 0, ready_size = 0;
  // Fibers.
  Fiber main_fiber;
  Fiber fiber[kMaxThreads];
  uint16_t free_fiber[kMaxThreads];
  unsigned free_fibers = 0, made_fibers = 0;

  void make_ready(unsigned t) {
    thread[t].wait = ThreadState::Wait::kNone;
    ready[(ready_head + ready_size++) % kMaxThreads] = static_cast<uint16_t>(t);
  }
};
Engine& engine();

// Lets other threads run until the current one is made ready.
void wait_for_others();
// Ends the launch; does not return.
[[noreturn]] void abandon_launch(const char* fault_class, const std::string& message);
// Completes the primitive that lanes of warp `w` wait for with `mask`, if all of them have come. `arrived` is the
// thread that goes on without being queued, or -1.
bool complete_warp(unsigned w, unsigned mask, int arrived);
// A lane of `w` has exited: what waits for it may be complete now.
void lane_exited(unsigned w);
// Nothing can run: groups of lanes that asked for the active mask are as converged as they will be.
bool release_active_masks();

}  // namespace bicrl
