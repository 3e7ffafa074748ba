// The operations that a rank has entered on a tensor plane: how many, a running hash over all of them, and
// the latest ones by name. Ranks that have entered the same operations in the same order have the same
// digest; if they have not, the first one in which they differ is named. Not thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <deque>
#include <string>

#include "trainer/ranks/control_plane.h"
#include "trainer/ranks/tensor_plane.h"

namespace bicrl {

class EnteredOperations {
 public:
  // So many are known by name. A rank is never so far ahead of another one within a pass.
  static constexpr int64_t kRecent = 256;

  // Returns the operation's number, counted from 0. `operation` names its kind and root, `what` the buffer;
  // `like` has the size and type of what is exchanged.
  int64_t enter(const std::string& operation, const std::string& what, const at::Tensor& like);

  int64_t count() const { return count_; }
  // "all-reduce of gradient of layer 3 (100 elements of Float)".
  std::string text(int64_t number) const;
  // Count and hash.
  std::string digest() const { return concat(count_, " ", hash_); }

  // All of it, as other ranks read it.
  std::string to_bytes() const;
  static EnteredOperations from_bytes(const std::string& bytes);

 private:
  struct Entered {
    std::string text;
    std::string hash;  // of all operations up to this one
  };
  friend std::string difference(int rank, const EnteredOperations& own, int other,
                                const EnteredOperations& theirs);
  int64_t oldest() const { return count_ - static_cast<int64_t>(recent_.size()); }
  const Entered& entered(int64_t number) const;

  int64_t count_ = 0;
  std::string hash_;
  std::deque<Entered> recent_;
};

// "rank 0 is in all-gather of ..., and rank 1 in all-reduce of ...": of the first operation that both have
// entered and in which they differ. Empty if there is none; a rank may have entered more than another.
std::string difference(int rank, const EnteredOperations& own, int other, const EnteredOperations& theirs);

// Collective among the ranks of both planes, which are the same: throws Error on all of them, with the plane
// aborted, unless all have entered the same operations. To be called when transfers have been waited for and
// before their results count. Nothing is exchanged on planes that compare every operation by themselves.
void compare_entered(TensorPlane& tensors, ControlPlane& control);

}  // namespace bicrl
