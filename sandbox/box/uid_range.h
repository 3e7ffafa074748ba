// A range of uids for boxes that no other server on this host has as long as this object lives.
#pragma once
#include <sys/types.h>

#include "sandbox/box/process/descriptors.h"

namespace bicrl {

class UidRange {
 public:
  static constexpr int kUids = 100;
  // Throws Error(kUnavailable) if all ranges are taken.
  static UidRange claim();
  uid_t first() const { return first_; }

 private:
  UniqueFd claim_;  // a socket's name, which the kernel frees when its process dies
  uid_t first_ = 0;
};

}  // namespace bicrl
