#include "engine.h"

#include <sys/mman.h>

#include <cstring>

#include "engine_state.h"
#include "shared_memory.h"

// The built-in variables are constants for those who read them; only the scheduler writes them.
extern "C++" {
__attribute__((visibility("default"))) uint3 bicrl_thread_index asm("threadIdx");
__attribute__((visibility("default"))) uint3 bicrl_block_index asm("blockIdx");
__attribute__((visibility("default"))) uint3 bicrl_block_extent asm("blockDim");
__attribute__((visibility("default"))) uint3 bicrl_grid_extent asm("gridDim");
}

namespace bicrl {
namespace {

// CUDA gives a thread up to 512 KB of local memory; stacks are mapped lazily, so only what is used costs.
StackPool& stacks() {
  static StackPool pool(kMaxThreads, 512 << 10);
  return pool;
}

void fiber_main();

unsigned take_fiber() {
  Engine& e = engine();
  if (e.free_fibers > 0) return e.free_fiber[--e.free_fibers];
  const unsigned made = e.made_fibers++;
  stacks().prepare(e.fiber[made], made, fiber_main);
  return made;
}

void go_to_fiber(unsigned next) {
  Engine& e = engine();
  Fiber& from = e.fiber[e.current_fiber];
  e.current_fiber = next;
  switch_fiber(from, e.fiber[next]);
}

void leave_to_main() {
  Engine& e = engine();
  switch_fiber(e.fiber[e.current_fiber], e.main_fiber);
}

unsigned pop_ready() {
  Engine& e = engine();
  const unsigned t = e.ready[e.ready_head];
  e.ready_head = (e.ready_head + 1) % kMaxThreads;
  --e.ready_size;
  return t;
}

void enter_block() {
  Engine& e = engine();
  e.taken = e.exited = e.at_barrier = 0;
  e.ready_head = e.ready_size = 0;
  const unsigned warps = (e.threads + 31) / 32;
  for (unsigned w = 0; w < warps; ++w) {
    const unsigned lanes = e.threads - w * 32;
    e.warp[w] = {lanes >= 32 ? ~0u : (1u << lanes) - 1, 0, 0};
  }
  poison_shared(engine_options().poison);
}

bool next_block() {
  Engine& e = engine();
  uint3& b = bicrl_block_index;
  if (++b.x == e.call.grid.x) {
    b.x = 0;
    if (++b.y == e.call.grid.y) {
      b.y = 0;
      if (++b.z == e.call.grid.z) return false;
    }
  }
  enter_block();
  return true;
}

void release_barrier(int arrived) {
  Engine& e = engine();
  if (e.other_line != 0) {
    abandon_launch("illegal_access", "divergent __syncthreads: threads of one block wait at lines " +
                                         std::to_string(e.barrier_line) + " and " +
                                         std::to_string(e.other_line));
  }
  const unsigned long long count = static_cast<unsigned>(e.vote_count);
  const int n = static_cast<int>(e.threads);
  for (int i = 0; i < n; ++i) {
    const int t = engine_options().reverse ? n - 1 - i : i;
    ThreadState& s = e.thread[t];
    if (s.wait != ThreadState::Wait::kBarrier) continue;
    s.result = s.kind == 0 ? count : s.kind == 1 ? e.vote_and : e.vote_or;
    if (t == arrived) {
      s.wait = ThreadState::Wait::kNone;
    } else {
      e.make_ready(static_cast<unsigned>(t));
    }
  }
  e.at_barrier = 0;
}

[[noreturn]] void stuck() {
  Engine& e = engine();
  unsigned in_warp = 0;
  int line = 0;
  for (unsigned t = 0; t < e.threads; ++t)
    if (e.thread[t].wait == ThreadState::Wait::kWarp) {
      ++in_warp;
      line = e.thread[t].line;
    }
  std::string text = "divergent synchronisation: " + std::to_string(in_warp) +
                     " threads wait in a warp primitive (line " + std::to_string(line) +
                     ") for lanes of its mask that never come";
  if (e.at_barrier)
    text += "; " + std::to_string(e.at_barrier) + " wait at __syncthreads (line " +
            std::to_string(e.barrier_line) + ")";
  abandon_launch("illegal_access", text);
}

// Runs threads that have not started, one after another, on the current fiber, until others should go on.
void run_fresh_threads() {
  Engine& e = engine();
  while (e.taken < e.threads && e.ready_size == 0) {
    const unsigned t = engine_options().reverse ? e.threads - 1 - e.taken : e.taken;
    ++e.taken;
    e.current = t;
    ThreadState& s = e.thread[t];
    s.wait = ThreadState::Wait::kNone;
    s.fiber = static_cast<uint16_t>(e.current_fiber);
    bicrl_thread_index = e.index_of[t];
    e.call.invoker(e.call.entry, e.call.arguments);
    // Another thread may have started on another fiber meanwhile: the one that ends is the current one.
    const unsigned ended = e.current;
    ++e.exited;
    WarpState& w = e.warp[ended / 32];
    w.exited |= 1u << (ended % 32);
    if (w.waiting) lane_exited(ended / 32);
    if (e.at_barrier && e.at_barrier + e.exited == e.threads) release_barrier(-1);
  }
}

void fiber_main() {
  Engine& e = engine();
  for (;;) {
    try {
      run_fresh_threads();
    } catch (...) {
      abandon_launch("illegal_access", "a kernel threw an exception");
    }
    if (e.ready_size > 0) {
      const unsigned t = pop_ready();
      e.free_fiber[e.free_fibers++] = static_cast<uint16_t>(e.current_fiber);
      e.current = t;
      bicrl_thread_index = e.index_of[t];
      go_to_fiber(e.thread[t].fiber);
    } else if (e.taken < e.threads) {
      continue;
    } else if (e.exited == e.threads) {
      if (!next_block()) leave_to_main();
    } else if (!release_active_masks()) {
      stuck();
    }
  }
}

}  // namespace

Engine& engine() {
  static Engine one;
  return one;
}

EngineOptions& engine_options() {
  static EngineOptions one;
  return one;
}

bool kernel_running() { return engine().running; }

void wait_for_others() {
  Engine& e = engine();
  const unsigned me = e.current;
  if (e.ready_size == 0 && e.taken == e.threads && !release_active_masks()) stuck();
  if (e.ready_size > 0) {
    const unsigned t = pop_ready();
    e.current = t;
    bicrl_thread_index = e.index_of[t];
    if (t != me) go_to_fiber(e.thread[t].fiber);
  } else {
    go_to_fiber(take_fiber());
  }
  // Whoever came back here has made this thread current.
}

void abandon_launch(const char* fault_class, const std::string& message) {
  Engine& e = engine();
  e.outcome = {fault_class, message};
  leave_to_main();
  __builtin_unreachable();
}

KernelOutcome run_kernel(const KernelCall& call) {
  Engine& e = engine();
  e.call = call;
  e.outcome = {};
  e.threads = call.block.x * call.block.y * call.block.z;
  unsigned t = 0;
  for (unsigned z = 0; z < call.block.z; ++z)
    for (unsigned y = 0; y < call.block.y; ++y)
      for (unsigned x = 0; x < call.block.x; ++x) e.index_of[t++] = {x, y, z};
  bicrl_block_extent = call.block;
  bicrl_grid_extent = call.grid;
  bicrl_block_index = {0, 0, 0};
  e.free_fibers = e.made_fibers = 0;
  const char* refused = prepare_shared(call.shared_bytes);
  if (refused) return {"launch", refused};
  enter_block();
  e.running = true;
  e.current_fiber = take_fiber();
  switch_fiber(e.main_fiber, e.fiber[e.current_fiber]);
  e.running = false;
  if (e.outcome.fault_class.empty() && shared_overrun())
    e.outcome = {"illegal_access",
                 std::string(call.name) + " wrote past the end of its dynamic shared memory"};
  return e.outcome;
}

const char* launch_limit_violation(const uint64_t grid[3], const uint64_t block[3], uint64_t shared_bytes,
                                   uint64_t shared_limit) {
  if (!grid[0] || !grid[1] || !grid[2]) return "the grid is empty";
  if (!block[0] || !block[1] || !block[2]) return "the block is empty";
  if (grid[0] > 2147483647 || grid[1] > 65535 || grid[2] > 65535) return "the grid is too large";
  const uint64_t most = kMaxThreads;
  if (block[0] > most || block[1] > most || block[2] > most || block[0] * block[1] * block[2] > most)
    return "more than 1024 threads in a block";
  if (block[2] > 64) return "a block is deeper than 64 threads";
  if (shared_bytes > shared_limit) return "more dynamic shared memory than allowed";
  return nullptr;
}

}  // namespace bicrl

using bicrl::Engine;
using bicrl::ThreadState;

extern "C" int bicrl_syncthreads_vote(int kind, int predicate, int line) {
  Engine& e = bicrl::engine();
  if (e.at_barrier == 0) {
    e.barrier_line = line;
    e.other_line = 0;
    e.vote_count = 0;
    e.vote_and = true;
    e.vote_or = false;
  } else if (line != e.barrier_line) {
    e.other_line = line;
  }
  ThreadState& s = e.thread[e.current];
  s.wait = ThreadState::Wait::kBarrier;
  s.kind = static_cast<uint8_t>(kind);
  s.line = line;
  e.vote_count += predicate != 0;
  e.vote_and = e.vote_and && predicate;
  e.vote_or = e.vote_or || predicate;
  if (++e.at_barrier + e.exited == e.threads) {
    bicrl::release_barrier(static_cast<int>(e.current));
  } else {
    bicrl::wait_for_others();
  }
  return static_cast<int>(s.result);
}

extern "C" void bicrl_syncthreads(int line) { bicrl_syncthreads_vote(0, 0, line); }
