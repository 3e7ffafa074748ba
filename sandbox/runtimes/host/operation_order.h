// Happens-before order of the operations of a sequence on a device: those of a call, or of a graph. The work
// of a stream is done in order; streams wait for events, for the legacy stream and it for them, and for what
// the host has waited for (CUDA Programming Guide, "Streams"). Inside of libbicrl_host.so, single-threaded.
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bicrl/cuda_api.h"

namespace bicrl {

// Work that is done one after the other: a stream's, and that of each branch of the graphs launched in it.
using Lane = std::pair<cudaStream_t, size_t>;
// A point in order: the last operation of each lane that comes before it, by its number in the sequence.
using Frontier = std::map<Lane, size_t>;
bool covers(const Frontier& point, const Frontier& other);

class OperationOrder {
 public:
  // The number of the next operation.
  size_t size() const { return size_; }
  // Where the stream is: what comes before its next operation.
  const Frontier& point(cudaStream_t stream) { return state(stream).seen; }
  const Frontier& everything() const { return everything_; }
  void wait(cudaStream_t stream, const Frontier& point);
  // What is recorded from now on comes after it, in whatever stream.
  void host_waits(const Frontier& point);
  // Whether the host finds it done. The first time it does not, unless it has waited: who asks in a loop
  // waits, and who asks once knows nothing.
  bool host_asks(const Frontier& point);

  // The operations that the stream's next one comes directly after: others come before these.
  std::vector<size_t> before(cudaStream_t stream);
  // Takes the next operation, of that lane.
  void add(const Lane& lane);
  // The stream's work is behind these operations, which came behind what was before().
  void advance(cudaStream_t stream, const Frontier& last);

 private:
  struct Stream {
    bool blocking = false;
    Frontier seen;
    Frontier direct;  // of these, what the stream's operations so far do not imply
  };
  static void join(Stream& stream, const Frontier& point);
  Stream& state(cudaStream_t stream);

  size_t size_ = 0;
  std::map<cudaStream_t, Stream> streams_;
  Frontier everything_, host_, asked_;
};

// The operation's JSON with the lane and with what it comes after, as the trace has them: how far before it
// these stand. Nothing is said of what comes after the operation before it, or of the first lane.
std::string with_order(std::string json, size_t number, const std::vector<size_t>& after, size_t lane);
// The same list alone; empty where nothing is to be said.
std::string order_text(size_t number, const std::vector<size_t>& after);

}  // namespace bicrl
