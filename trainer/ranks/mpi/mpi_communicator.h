// Communicators of MPI for the planes: each has one of its own, so that messages of different planes never
// meet.
#pragma once
#include <mpi.h>

#include "trainer/ranks/mpi/mpi_session.h"

namespace bicrl {

// Collective among the ranks of the session, or of them the first `ranks`, which alone call it then. Faults
// are returned, as codes. The caller frees it.
MPI_Comm make_communicator(const MpiSession& session, int ranks = MpiSession::kAllRanks);

}  // namespace bicrl
