// A rank's end of NCCL: its GPU, and the communicator of all ranks, which is made without blocking and whose
// faults are asked for. For nccl_tensor_plane.cpp. Not thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <string>

#include "trainer/ranks/control_plane.h"

struct ncclComm;  // nccl.h

namespace bicrl {

class NcclCommunicator {
 public:
  static constexpr double kStartLimit_s = 300;  // the first contact of many hosts takes long

  // Collective. Makes `gpu` this process's current device. Throws Error if NCCL does not start within the
  // limit, and on every rank if two ranks of a host would share a GPU.
  NcclCommunicator(ControlPlane& control, at::Device gpu, double limit_s = kStartLimit_s);
  ~NcclCommunicator();
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  ncclComm* get() const { return communicator_; }
  // NCCL's version, and which rank has which GPU of which host.
  const std::string& description() const { return description_; }

  // Whether what was started last has reached its stream; until then nothing else may be started. Throws
  // Error if this rank or another has met a fault.
  bool settled() const;
  // Throws Error unless `result`, of nccl.h, says that the call succeeded or goes on.
  void check(int result, const std::string& operation) const;
  // Ends what runs on this rank's GPU, within a limit; others do not learn of it.
  void abort() noexcept;

 private:
  void start(ControlPlane& control, double limit_s);

  ncclComm* communicator_ = nullptr;
  std::string description_;
};

}  // namespace bicrl
