// Finds races in a run: of every launch, in shared and in global memory, all pairs of accesses to a word that
// nothing orders. Observes the grids of one run, one after the other. What orders accesses is in
// block_clock.h; what is remembered of them in shadow_memory.h.
//
// Also a race: a non-coherent load (__ldg(), const __restrict__) of what the launch has written, whoever
// wrote it. Not a race: two strong accesses (atomic, volatile, relaxed and above) whose scopes hold both
// threads; a write that leaves the bytes as they are; a plain load of what only atomic operations change, if
// a compare-and-swap of the same place follows in the text, which checks what was read (the CUDA guide's own
// loop begins that way). But volatile accesses of lanes of one warp to shared memory are
// ones (warp-synchronous code without __syncwarp()), and so are volatile writes of different values, which
// leave what nobody knows.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "sandbox/interpreter/ptx/execution/observer.h"
#include "sandbox/interpreter/ptx/execution/warp_group.h"
#include "sandbox/interpreter/races/block_clock.h"
#include "sandbox/interpreter/races/race.h"
#include "sandbox/interpreter/races/shadow_memory.h"
#include "sandbox/interpreter/races/sync_log.h"

namespace bicrl::races {

struct DetectorLimits {
  uint64_t shadow_bytes = uint64_t{1} << 30;  // beyond which pages are not looked at that are not yet
  size_t races = 64;                          // pairs of operations that are told apart
  uint64_t racy_words = uint64_t{1} << 20;
};

class RaceDetector : public ptx::Observer {
 public:
  explicit RaceDetector(const DetectorLimits& limits = {});
  ~RaceDetector() override;

  const std::vector<Race>& races() const { return races_; }
  const RacyWords& words() const { return words_; }
  // Writes without order that left the bytes as they were.
  uint64_t repeated_writes() const { return repeated_writes_; }

  void launch_begins(ptx::Grid& grid) override;
  void launch_ends(ptx::Grid& grid) override;
  void block_begins(ptx::ThreadBlock& block) override;
  void will_access(ptx::WarpGroup& warp_group, const ptx::Operation& op, const ptx::Region& region,
                   const ptx::LaneAccess& access) override;
  void fence(ptx::WarpGroup& warp_group, const ptx::Operation& op) override;
  void barrier_arrival(ptx::WarpGroup& warp_group, uint32_t barrier, const ptx::LaneSet& lanes,
                       bool waits) override;
  void barrier_completed(ptx::ThreadBlock& block, uint32_t barrier) override;
  void warp_barrier(ptx::WarpGroup& warp_group, int warp, uint32_t lanes) override;
  void copy_begun(ptx::WarpGroup& warp_group, const ptx::Operation& op, int lane, uint64_t place,
                  uint32_t bytes) override;
  void copy_landed(ptx::ThreadBlock& block, int thread, uint64_t place, uint32_t bytes) override;
  void phases_begin(ptx::WarpGroup& warp_group, const ptx::Operation& op, int lane, uint64_t place) override;
  void phase_arrival(ptx::ThreadBlock& block, int thread, uint64_t place) override;
  void phase_ended(ptx::ThreadBlock& block, int thread, uint64_t place) override;

 private:
  struct BlockState;
  struct Phases;
  struct Visit;  // an access on its way
  // A side of a conflict that has been remembered.
  struct Earlier {
    uint32_t serial = 0, operation = 0;
    int thread = 0;
    bool writes = false;
  };

  BlockState& state_of(ptx::ThreadBlock& block);
  void complete_counted(ptx::ThreadBlock& block, BlockState& state, uint32_t number);
  ShadowMemory& global_memory(uint64_t address, uint64_t bytes);
  bool find_memory(Visit& visit, const ptx::Region& region);
  void visit_weak(Visit& visit);
  void visit_non_coherent(Visit& visit);
  bool visit_warp(Visit& visit, int first_lane);
  bool visit_broadcast(Visit& visit, int first_lane);
  bool visit_group(Visit& visit, int first_lane, int32_t step);
  void visit_lane(Visit& visit, int lane);
  void visit_word(Visit& visit, int thread, int lane, uint64_t word);
  void read_word(Visit& visit, ShadowPage& page, int thread, uint64_t word);
  void write_word(Visit& visit, ShadowPage& page, int thread, int lane, uint64_t word);
  void add_reader(Visit& visit, ShadowPage& page, uint64_t at, int thread, uint32_t bits);
  static std::vector<Reader>& reader_list(Visit& visit, ShadowPage& page, uint64_t at);
  void add_to_list(const Visit& visit, std::vector<Reader>& list, int thread, const Reader& added) const;
  // Readers in the cell that the thread does not know of.
  std::vector<Earlier> unknown_readers(const Visit& visit, const ShadowPage& page, uint64_t at,
                                       int thread) const;
  void visit_strong_cell(Visit& visit, int thread, uint64_t word);
  void visit_copy(ptx::ThreadBlock& block, const ptx::Operation* op, int thread, uint64_t place,
                  uint32_t bytes);
  // A thread uses a barrier in shared memory, which somebody has made.
  void visit_phases(BlockState& state, const Phases& phases, int thread, uint64_t place);
  void visit_strong(Visit& visit);
  void strong_lane(Visit& visit, int lane, uint64_t byte);
  void against_weak(Visit& visit, int thread, uint64_t byte);
  bool strong_conflict(const Visit& visit, const StrongAccess& earlier, bool earlier_writes, int thread,
                       bool changes) const;
  static bool has_seen(const Visit& visit, const StrongCell& cell, const StrongAccess& write, int thread);
  void synchronise(Visit& visit, StrongCell& cell, int thread, const std::byte* data);
  bool knows(const Visit& visit, int thread, uint32_t serial, int other, uint32_t stamp) const;
  bool is_stale(const Visit& visit, uint32_t serial, uint32_t stamp) const;
  static bool repeats_value(const Visit& visit, const ShadowPage& page, int lane, uint64_t word,
                            bool by_this_operation);
  // Loads before a compare-and-swap of the same place: what they read is checked there.
  void find_guesses();
  bool is_guess(uint32_t operation, uint32_t other) const;
  void record(const Visit& visit, const Earlier& earlier, int thread, uint64_t word);
  RacyAccess described(uint32_t operation, uint32_t serial, int thread, bool writes) const;
  bool updates(uint32_t operation) const;
  void name_variable(uint64_t byte, Race& race) const;
  void remember(const Visit& visit, const Earlier& earlier, uint64_t byte);

  const DetectorLimits limits_;
  uint64_t pages_left_;
  SyncLogs logs_;
  const ptx::Kernel* kernel_ = nullptr;
  bool orders_blocks_ = false;   // the kernel has an operation that may: a fence, or one that releases
  bool has_flags_ = false;       // it has volatile or relaxed loads
  std::vector<bool> guesses_;    // by operation
  uint64_t grid_workspace_ = 0;  // of a cooperative launch
  uint32_t launch_ = 0;
  uint32_t serial_ = 0;            // of the last block that began
  uint32_t base_ = 1;              // of the launch's first block
  std::vector<ptx::Dim3> blocks_;  // of the launch, by serial - base
  std::unordered_map<const ptx::ThreadBlock*, std::unique_ptr<BlockState>> states_;
  const ptx::ThreadBlock* last_block_ = nullptr;
  BlockState* last_state_ = nullptr;
  std::unordered_map<uint64_t, std::unique_ptr<ShadowMemory>> memories_;  // by address
  uint64_t last_address_ = 0;
  ShadowMemory* last_memory_ = nullptr;
  // The kernel (by its name), the operations, and which of them write.
  using RaceKey = std::tuple<std::string, uint32_t, uint32_t, bool, bool>;
  std::map<RaceKey, size_t> numbers_;
  std::vector<Race> races_;
  RacyWords words_;
  uint64_t repeated_writes_ = 0;
};

}  // namespace bicrl::races
