// Up to 256 threads of one block, executed together: every operation is done for all lanes that are at it
// before the next one. And the rules by which lanes part and meet.
//
// Every lane has a program counter of its own. Lanes at the same basic block form a divergent subset; of the
// subsets that can run the one that comes first in the text does, until it branches, and subsets that
// come to the same block merge. So lanes that part at a branch meet again behind it without knowing where
// that is, and no lane waits for another that it does not have to wait for: independent thread scheduling. A
// subset that only spins (it reads and reads again what another lane is to write) steps back for others.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sandbox/interpreter/ptx/alu/lanes.h"
#include "sandbox/interpreter/ptx/execution/address_plan.h"
#include "sandbox/interpreter/ptx/execution/device_memory.h"
#include "sandbox/interpreter/ptx/execution/kernel_fault.h"
#include "sandbox/interpreter/ptx/lowering/kernel.h"

namespace bicrl::ptx {

class Grid;
class ThreadBlock;

enum class Pause : uint8_t {
  kExited,   // all lanes have
  kWaiting,  // every lane that is left waits for others
  kYielded   // there is more to do: the budget is spent, or the warp group only spins
};

// Not thread-safe. Owned by its block.
class WarpGroup {
 public:
  // Number `number` of the block's, for `threads` threads from thread `first_thread` on, which begins a warp.
  WarpGroup(ThreadBlock& block, int number, int first_thread, int threads);

  // Threads of another block from the start of the kernel on.
  void begin();
  Pause run(uint64_t budget);
  bool runs() const { return runs_; }

  // ---- For handlers ----
  Grid& grid() { return grid_; }
  ThreadBlock& block() { return block_; }
  int lanes() const { return lanes_; }
  const LaneSet& active() const { return active_; }
  const LaneSet& exited() const { return exited_; }  // lanes that never were among them
  // Whether lanes that are not active have exited, so that their values do not matter.
  bool dense() const { return dense_; }
  const uint32_t* active_words() const { return active_words_; }
  int number() const { return number_; }
  int first_thread() const { return first_thread_; }

  template <class T>
  T* values(Place place) {
    return reinterpret_cast<T*>(frame_ + static_cast<size_t>(place.slot) * static_cast<size_t>(lanes_));
  }
  // Undefined bits; null without shadows.
  template <class T>
  T* shadows(Place place) {
    if (!shadow_frame_) return nullptr;
    return reinterpret_cast<T*>(shadow_frame_ +
                                static_cast<size_t>(place.slot) * static_cast<size_t>(lanes_));
  }
  bool has_shadows() const { return shadow_frame_ != nullptr; }
  // Per-lane memory: word w of lane l at [w * lanes + l].
  uint32_t* local_words() { return local_.data(); }
  uint32_t* local_shadows() { return has_shadows() ? local_shadow_.data() : nullptr; }

  AddressPlan& plan(uint32_t number) { return plans_[number]; }
  // An array for results of which only some lanes count; `number` below kMaxAluDestinations.
  std::byte* scratch(size_t number) { return scratch_ + number * 16 * static_cast<size_t>(lanes_); }

  // A lane has read what others may be about to write: after some such reads the subset steps back.
  void note_wait() { --patience_; }
  // The lanes stay at the current operation until the block's barrier is complete.
  void wait_at_barrier(uint32_t barrier, const LaneSet& lanes);
  // Ends the launch. `lane`: whose fault it is; -1: of the warp group as a whole.
  [[noreturn]] void fail(FaultClass fault_class, const std::string& message, int lane = -1);
  // Fails if an active lane's value at `place` is undefined.
  void require_defined(Place place, const char* what);
  uint64_t clock() const;
  const CallSite& call_site(const Operation& op) const { return kernel_.call_sites[op.more]; }
  const Kernel& kernel() const { return kernel_; }

  // ---- For the block ----
  // Lanes that wait at that barrier go on.
  void release(uint32_t barrier);
  // Throws FaultError if lanes of one warp wait at different instructions for that barrier.
  void require_together(uint32_t barrier);
  // Where some lane waits, for a message: the operation, or null.
  const Operation* waiting_at() const;

 private:
  struct Subset {
    uint32_t block = 0;
    LaneSet lanes;
    bool resting = false;  // steps back for others
  };
  // Lanes that wait at the block of a barrier or a warp collective.
  struct Waiting {
    uint32_t block = 0;
    int32_t barrier = -1;  // of the thread block; -1: a warp collective
    LaneSet lanes;
  };

  // A call that a lane is in: the operation behind which it goes on.
  struct Return {
    uint32_t callee = 0;
    uint32_t operation = 0;
    bool saved = false;  // the lane was in the function already, whose state has been saved
    bool operator==(const Return&) const = default;
  };

  void fill_constants();
  void poison(Place place);
  void fill_special(const SpecialPlace& special, bool only_block);
  void add_subset(uint32_t block, const LaneSet& lanes);
  void set_active(const LaneSet& lanes);
  size_t choose_subset();
  bool comes_first(uint32_t block) const;
  // Runs from `block` on for the active lanes, as long as they stay together and nobody else has to run.
  Pause run_subsets(uint64_t budget);
  void run_subset(uint32_t block);
  void run_straight(const Operation* first, const Operation* last);
  void compute(const Operation& op);
  void run_handler(const Operation& op);
  void run_guarded(const Operation& op);
  LaneSet guarded_lanes(const Operation& op);
  LaneSet lanes_where(Place predicate, bool negated);
  // The way on from the last operation of a block; kStay: the subsets hold it.
  uint32_t follow(const Operation& op, uint32_t next_block);
  void arrive(uint32_t block, const Operation& op);
  bool complete_warp_collectives();
  void run_collective(const Operation& op, const LaneSet& lanes, uint32_t next_block);
  LaneSet ready_at(const Operation& op, const LaneSet& lanes);
  void call(const Operation& op, uint32_t callee);
  void come_back(const Return& call, const LaneSet& lanes);
  template <class Work>
  void for_each_piece(const Callee& callee, int lane, const Work& work);
  void save(const Callee& callee, int lane);
  void restore(const Callee& callee, int lane);
  void give_votes(const Operation& op);
  void copy_local(LocalRange from, LocalRange to);
  void spread_by_value(const Operation& op);

  ThreadBlock& block_;
  Grid& grid_;
  const Kernel& kernel_;
  const int number_, first_thread_, threads_, lanes_;
  std::vector<std::byte> memory_;
  std::byte* frame_ = nullptr;  // aligned to 64 bytes
  std::byte* shadow_frame_ = nullptr;
  std::byte* scratch_ = nullptr;  // arrays for results of which only some lanes count
  std::byte* shadow_scratch_ = nullptr;
  std::vector<uint32_t> local_, local_shadow_;
  std::vector<std::vector<Return>> returns_;   // by lane
  std::vector<std::vector<std::byte>> saved_;  // by lane: states of functions that it is in twice
  std::vector<Subset> subsets_;                // ascending by block
  std::vector<Waiting> waiting_;
  LaneSet active_, exited_;
  bool dense_ = false;
  alignas(64) uint32_t active_words_[kMaxLanes] = {};  // of active_, 0 or all ones
  std::array<AddressPlan, kAddressPlans> plans_;
  int patience_ = 0;
  bool runs_ = false;  // run() is under way
  uint64_t budget_ = 0;
  const Operation* current_ = nullptr;
  uint32_t barrier_block_ = 0;  // of the barrier operation that runs
};

}  // namespace bicrl::ptx
