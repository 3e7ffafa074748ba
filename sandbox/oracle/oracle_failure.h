// The reason for which the oracle has no answer to a task. Plain values.
#pragma once
#include <string>

#include "sandbox/box/zygote.h"

namespace bicrl {

inline constexpr size_t kMaxReferenceReasonBytes = 600;  // of what a reference's box says

// Why there is no answer. If the task is invalid, asking again will not help.
struct OracleFailure {
  bool invalid_task = false;
  std::string reason;
  std::string kind;  // of a task's fault, as in InvalidTask
  bool will_recur() const { return invalid_task; }
  // Whether smaller inputs may do.
  bool is_of_size() const { return invalid_task && (kind == "too_large" || kind == "timeout"); }
};

// What the end of a reference's box means that has not answered.
OracleFailure failure_of(const ChildResult& result);

}  // namespace bicrl
