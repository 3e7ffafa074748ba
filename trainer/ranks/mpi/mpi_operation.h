// One collective operation over MPI as steps that can be polled: a handshake with each peer, then the peers'
// parts directly from rank to rank, sums in rank order. Parts are sent only when both sides have said that
// they mean the same operation. For mpi_tensor_plane.cpp. Not thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

#include "trainer/ranks/mpi/mpi_greeting.h"

namespace bicrl {

class MpiOperation {
 public:
  virtual ~MpiOperation() = default;
  // Does what can be done without waiting; returns whether the operation is over. Throws Error if a peer is
  // in another operation, or on a fault of MPI.
  virtual bool advance() = 0;
  virtual bool done() const = 0;
  // The operation, its buffer and the ranks that it still needs, for a message.
  virtual std::string what_it_waits_for() const = 0;
};

// The tensor plane's operations (tensor_plane.h).
std::unique_ptr<MpiOperation> make_all_reduce(MpiLink link, at::Tensor tensor, std::string what);
std::unique_ptr<MpiOperation> make_reduce_scatter(MpiLink link, at::Tensor whole, at::Tensor mine,
                                                  std::string what);
std::unique_ptr<MpiOperation> make_all_gather(MpiLink link, at::Tensor mine, at::Tensor whole,
                                              std::string what);
std::unique_ptr<MpiOperation> make_broadcast(MpiLink link, at::Tensor tensor, int root, std::string what);

}  // namespace bicrl
