// Runs a hidden case of this test program on several ranks under mpirun. To be included before Catch2.
#pragma once
#include <string>

#include "tests/trainer/fixtures.h"

namespace bicrl::testing {

struct RanksEnd {
  int status = 0;
  std::string command;
  std::string output;
};

// The case with this tag; `environment` is put before the command: "NAME='value' ...".
RanksEnd run_on_mpi_ranks(int ranks, const std::string& tag, const std::string& environment = "");

}  // namespace bicrl::testing
