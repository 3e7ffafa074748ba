#include "sandbox/interpreter/ptx/operations/async_copies.h"

#include <algorithm>
#include <cstring>

#include "sandbox/interpreter/ptx/execution/device_memory.h"

namespace bicrl::ptx {

void AsyncCopies::clear() {
  threads_.clear();
  arrivals_.clear();
  landed_.clear();
  in_flight_ = 0;
}

AsyncCopies::Thread& AsyncCopies::of(int thread) {
  const auto number = static_cast<size_t>(thread);
  if (number >= threads_.size()) threads_.resize(number + 1);
  return threads_[number];
}

void AsyncCopies::begin(int thread, const Copy& copy) {
  fill_poison({copy.to, copy.bytes});
  if (copy.to_undefined) memset(copy.to_undefined, 0xFF, copy.bytes);
  of(thread).copies.push_back(copy);
  ++in_flight_;
}

void AsyncCopies::commit(int thread) {
  Thread& committing = of(thread);
  if (committing.begun() == committing.landed && committing.groups.empty()) return;
  committing.groups.push_back(committing.begun());
  ++in_flight_;
}

void AsyncCopies::arrive_later(int thread, uint64_t barrier) {
  arrivals_.push_back({barrier, thread, of(thread).begun()});
}

void AsyncCopies::land(int number, uint64_t until) {
  Thread& thread = of(number);
  while (thread.landed < until) {
    const Copy& copy = thread.copies.front();
    const size_t rest = size_t{copy.bytes} - copy.read_bytes;
    if (copy.read_bytes > 0) memcpy(copy.to, copy.from, copy.read_bytes);
    memset(copy.to + copy.read_bytes, 0, rest);
    if (copy.to_undefined) {
      if (copy.read_bytes > 0) memcpy(copy.to_undefined, copy.from_undefined, copy.read_bytes);
      memset(copy.to_undefined + copy.read_bytes, 0, rest);
    }
    if (keeps_landed_) landed_.push_back({number, copy.place, copy.bytes});
    thread.copies.pop_front();
    ++thread.landed;
    --in_flight_;
  }
  while (!thread.groups.empty() && thread.groups.front() <= thread.landed) {
    thread.groups.pop_front();
    --in_flight_;
  }
}

void AsyncCopies::wait_for_groups(int thread, uint64_t groups) {
  Thread& waiting = of(thread);
  if (waiting.groups.size() > groups) land(thread, waiting.groups[waiting.groups.size() - groups - 1]);
}

void AsyncCopies::wait_for_all(int thread) { land(thread, of(thread).begun()); }

uint64_t AsyncCopies::take_arrivals(uint64_t barrier) {
  const auto first = std::stable_partition(arrivals_.begin(), arrivals_.end(),
                                           [barrier](const Arrival& a) { return a.barrier != barrier; });
  for (auto arrival = first; arrival != arrivals_.end(); ++arrival) {
    land(arrival->thread, arrival->copies);
    if (keeps_landed_) landed_.push_back({arrival->thread, barrier, 0});
  }
  const auto count = static_cast<uint64_t>(arrivals_.end() - first);
  arrivals_.erase(first, arrivals_.end());
  return count;
}

}  // namespace bicrl::ptx
