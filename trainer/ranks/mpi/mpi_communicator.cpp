#include "trainer/ranks/mpi/mpi_communicator.h"

#include "common/error.h"

namespace bicrl {

MPI_Comm make_communicator(const MpiSession&, int ranks) {
  MPI_Comm made = MPI_COMM_NULL;
  if (ranks == MpiSession::kAllRanks) {
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &made), "MPI_Comm_dup");
  } else {
    int world = 0;
    check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &world), "MPI_Comm_size");
    BICRL_CHECK(ranks > 0 && ranks <= world, "the first ", ranks, " of ", world, " ranks");
    MPI_Group all = MPI_GROUP_NULL, first = MPI_GROUP_NULL;
    int range[1][3] = {{0, ranks - 1, 1}};
    check_mpi(MPI_Comm_group(MPI_COMM_WORLD, &all), "MPI_Comm_group");
    check_mpi(MPI_Group_range_incl(all, 1, range, &first), "MPI_Group_range_incl");
    check_mpi(MPI_Comm_create_group(MPI_COMM_WORLD, first, /*tag=*/0, &made), "MPI_Comm_create_group");
    check_mpi(MPI_Group_free(&first), "MPI_Group_free");
    check_mpi(MPI_Group_free(&all), "MPI_Group_free");
  }
  check_mpi(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return made;
}

}  // namespace bicrl
