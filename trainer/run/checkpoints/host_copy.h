// Host memory that live tensors are copied into, kept from one copy to the next. Owns the memory. Not
// thread-safe: while somebody reads a copy, no other is taken.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "policy/files/safetensors.h"

namespace bicrl {

class HostCopy {
 public:
  // Makes room for a copy of these, as take() does if there is none: beforehand, as pinned memory for
  // tensors of a GPU takes seconds. Holds none of them.
  void reserve(const NamedTensors& live);

  // The values that `live` have now, contiguous, in this object's memory: there when this returns, and until
  // the next call. Copies of a GPU's tensors run at the speed of the bus, one behind the other.
  // `copied_as` gives what is copied for a tensor, when its turn has come; empty: the tensor itself.
  const NamedTensors& take(const NamedTensors& live, const WrittenAs& copied_as = {});

 private:
  struct Chunk {
    at::Tensor bytes;
    int64_t used = 0;
  };
  bool fits(const NamedTensors& live) const;
  at::Tensor place_for(const at::Tensor& tensor, int64_t bytes_to_come);

  std::vector<Chunk> chunks_;
  NamedTensors copies_;
};

}  // namespace bicrl
