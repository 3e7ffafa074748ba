// Divides cores between boxes and the processes that feed GPUs, which must not wait for a core until a
// compiler's time slice is over. Plain data.
#pragma once
#include <sched.h>

#include <optional>

namespace bicrl {

class CoreShare {
 public:
  // The last ones of `all` are set aside, as many as `set_aside` says, but never all.
  static CoreShare divide(const cpu_set_t& all, int set_aside);
  static cpu_set_t of_this_process();

  int total() const { return total_; }
  int set_aside() const { return set_aside_; }
  // Nothing: all of them.
  const std::optional<cpu_set_t>& of_boxes() const { return of_boxes_; }

 private:
  int total_ = 0, set_aside_ = 0;
  std::optional<cpu_set_t> of_boxes_;
};

}  // namespace bicrl
