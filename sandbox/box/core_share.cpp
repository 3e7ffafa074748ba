#include "sandbox/box/core_share.h"

#include <algorithm>

namespace bicrl {

CoreShare CoreShare::divide(const cpu_set_t& all, int set_aside) {
  CoreShare share;
  share.total_ = CPU_COUNT(&all);
  share.set_aside_ = std::clamp(set_aside, 0, std::max(share.total_ - 1, 0));
  if (share.set_aside_ == 0) return share;
  share.of_boxes_ = all;
  int left = share.set_aside_;
  for (int core = CPU_SETSIZE - 1; core >= 0 && left > 0; --core) {
    if (!CPU_ISSET(static_cast<size_t>(core), &all)) continue;
    CPU_CLR(static_cast<size_t>(core), &*share.of_boxes_);
    --left;
  }
  return share;
}

cpu_set_t CoreShare::of_this_process() {
  cpu_set_t all;
  CPU_ZERO(&all);
  // A machine with more cores than the set holds has none set aside.
  if (sched_getaffinity(0, sizeof all, &all) != 0) CPU_ZERO(&all);
  return all;
}

}  // namespace bicrl
