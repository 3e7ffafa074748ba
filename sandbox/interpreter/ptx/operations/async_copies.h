// Copies from global to shared memory that threads of a block have begun and that have not landed. A copy
// lands when its thread waits for it, or when somebody asks a barrier that it is to arrive at, and not
// before; until then its destination is poison, and undefined. So whoever reads too early is found out,
// always. The source is read when the copy lands. Copies of a thread land in the order in which they were
// begun. Not thread-safe; owned by the block.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace bicrl::ptx {

class AsyncCopies {
 public:
  // Memory that stays where it is until the block ends. Shadows are null if there are none.
  struct Copy {
    std::byte* to = nullptr;
    uint8_t* to_undefined = nullptr;
    const std::byte* from = nullptr;
    const uint8_t* from_undefined = nullptr;
    uint8_t bytes = 0;       // of the destination;
    uint8_t read_bytes = 0;  // those beyond become zeros
    uint64_t place = 0;      // of the destination in shared memory
  };
  // To be made at a barrier (an offset in shared memory) when the first `copies` of a thread have landed.
  struct Arrival {
    uint64_t barrier = 0;
    int thread = 0;
    uint64_t copies = 0;
  };
  // A copy, or behind those that it waited for an arrival (bytes 0, at the barrier `place`).
  struct Landed {
    int thread = 0;
    uint64_t place = 0;
    uint32_t bytes = 0;
  };
  // Copies, groups and arrivals of a block in flight.
  static constexpr size_t kMax = size_t{1} << 17;

  // Forgets everything.
  void clear();
  bool is_full() const { return in_flight_ + arrivals_.size() >= kMax; }
  // Of `thread` of the block. Only if there is room.
  void begin(int thread, const Copy& copy);
  void commit(int thread);
  void arrive_later(int thread, uint64_t barrier);
  // Lands the groups of a thread but for the last `groups`.
  void wait_for_groups(int thread, uint64_t groups);
  void wait_for_all(int thread);
  // Lands what the arrivals at a barrier are for, forgets them, and says how many there were.
  uint64_t take_arrivals(uint64_t barrier);
  // What has landed since the last call, in that order. Empty unless keep_landed().
  std::vector<Landed> take_landed() { return std::exchange(landed_, {}); }
  void keep_landed() { keeps_landed_ = true; }

 private:
  struct Thread {
    std::deque<Copy> copies;      // in flight
    uint64_t landed = 0;          // of all that it has begun
    std::deque<uint64_t> groups;  // copies begun before each commit; those that all have landed are forgotten
    uint64_t begun() const { return landed + copies.size(); }
  };
  Thread& of(int thread);
  void land(int number, uint64_t until);

  std::vector<Thread> threads_;
  std::vector<Arrival> arrivals_;
  std::vector<Landed> landed_;
  bool keeps_landed_ = false;
  size_t in_flight_ = 0;  // copies and groups
};

}  // namespace bicrl::ptx
