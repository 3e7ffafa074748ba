// The checks of `bicrl doctor` on the machine itself. Each returns what it found; none throws.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "launch/doctor/doctor_report.h"

namespace bicrl {

// Of what common/usable_machine.h measures.
Check check_cpus(double usable);
Check check_memory(uint64_t available_bytes);

// Whether `folder`, or the nearest folder above it that exists, can be written and has room: below
// `least_bytes` nothing works, below `enough_bytes` not everything does.
struct FolderNeeds {
  uint64_t least_bytes = 0;
  uint64_t enough_bytes = 0;
  std::string remedy;
};
Check check_folder(const std::string& name, const std::filesystem::path& folder, const FolderNeeds& needs);

// The MPI launcher on PATH. `library`: version text of the MPI library that ranks use; empty where unknown.
Check check_mpi_launcher(const std::string& library);

}  // namespace bicrl
