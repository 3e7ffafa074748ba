// Session of a command on several ranks: MPI's lifetime, errors that must end all ranks, and one
// verifier for all of them.
#pragma once
#include <c10/core/Device.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "launch/embedded_verifier.h"
#include "trainer/ranks/control_plane.h"
#include "trainer/ranks/measured_tensors.h"

namespace bicrl {

// Planes of some of the ranks, which have the same numbers there.
struct PartPlanes {
  ControlPlane& control;
  MeasuredTensors& tensors;
};

// How a command's ranks talk (trainer/ranks/).
struct RankPlanes {
  ControlPlane& control;
  // Collective, at most once: the plane that moves tensors of this device; it lives as long as `control`.
  std::function<MeasuredTensors&(at::Device)> make_tensors;
  // Collective among the first `ranks` ranks, which alone call it, at most once: planes among those alone,
  // which live as long.
  std::function<PartPlanes(int ranks, at::Device)> make_part;
};

// Runs `work` with the planes of mpirun's ranks, or of this process alone, and returns its exit code.
// Under mpirun it catches what `work` throws: a SharedError, and an InputError that every rank finds, is
// logged once (by rank 0); anything else ends all ranks with the message.
int with_ranks(const std::function<int(RankPlanes)>& work);

// Collective. Fills in `addresses` if it is empty: rank 0 starts a server with the `verifier.server`
// section of the configuration, its log in `log_path` (empty: stderr), and owns it. Throws Error on every
// rank if it does not start.
std::unique_ptr<EmbeddedVerifier> share_embedded_verifier(const std::string& config_path,
                                                          const std::vector<std::string>& overrides,
                                                          const std::string& log_path, ControlPlane& control,
                                                          std::vector<std::string>& addresses);

// What a person should know of the section `verifier` if no server is started, as there are addresses: that
// settings of one do nothing. Empty if there is nothing to report.
std::string note_on_unused_server(const ConfigSection& verifier, const std::vector<std::string>& addresses);

}  // namespace bicrl
