// The checks of `bicrl doctor` on what trains: the learner module, GPUs, a run's configuration, its
// verifiers.
#pragma once
#include <string>
#include <vector>

#include "common/error.h"
#include "launch/doctor/doctor_report.h"
#include "reward/client/verifier_options.h"

namespace bicrl {

struct LearnerModule {
  bool loaded = false;
  bool built_for_cuda = false;
  int gpus = 0;
  std::string mpi_library;
};
// Call while this process has one thread.
LearnerModule check_learner(DoctorReport& report);

// Adds a line if the module was built for GPUs or the run asks for one.
void check_gpus(const LearnerModule& module, const std::string& device, DoctorReport& report);

// Has the run's configuration read as `bicrl train` does it.
Check check_run_configuration(const std::string& path, const std::vector<std::string>& overrides);

// One line per address: whether a verifier answers there, and how fast.
void check_verifiers(const VerifierClientOptions& verifiers, DoctorReport& report);

}  // namespace bicrl
