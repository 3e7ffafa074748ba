// Failure detector of a run's ranks, with a thread and connections of its own beside MPI. MPI may wait for
// ever for a rank that is stopped, or whose network is gone. Every rank sends rank 0 a beat each second and
// rank 0 every rank. A rank that is not heard of for the limit is lost; one that ends without saying so is
// lost after a moment (in which it may report why). Work that takes long is no silence, as the thread beats
// meanwhile; a rank that hangs in a wait of its own reaches that wait's limit.
// The object owns thread and connections.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "trainer/ranks/control_plane.h"

namespace bicrl {

class Heartbeat {
 public:
  // A stopped rank's peers are to be gone within a minute.
  static constexpr double kLimit_s = 40;
  // Called once, from the heartbeat's thread, with a sentence that names who is lost; mostly it ends the
  // process, as the thread that works may be caught in MPI.
  using Lost = std::function<void(const std::string& reason)>;

  // Collective. Throws Error if a rank cannot reach rank 0.
  Heartbeat(ControlPlane& control, double limit_s, Lost lost);
  // Says goodbye: nobody takes this rank for lost from then on.
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  class Watch;
  std::unique_ptr<Watch> watch_;
};

}  // namespace bicrl
