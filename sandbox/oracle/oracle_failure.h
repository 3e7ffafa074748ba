// Why the oracle has no answer to a task. Plain values.
#pragma once
#include <string>

#include "sandbox/box/zygote.h"

namespace bicrl {

inline constexpr size_t kMaxReasonBytes = 600;  // of what a reference's box says

// Why there is no answer. If the task is at fault, asking again will not help.
struct OracleFailure {
  bool task_fault = false;
  std::string reason;
  std::string kind;  // of a task's fault, as in TaskFault
  bool will_recur() const { return task_fault; }
  // Whether smaller inputs may do.
  bool is_of_size() const { return task_fault && (kind == "too_large" || kind == "timeout"); }
};

// What the end of a reference's box means that has not answered.
OracleFailure failure_of(const ChildResult& result);

}  // namespace bicrl
