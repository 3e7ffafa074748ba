#include "trainer/ranks/mpi/mpi_session.h"

#include <mpi.h>

#include <cstdlib>

#include "common/error.h"

namespace bicrl {

void check_mpi(int code, const char* operation) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(concat(operation, " failed: ", std::string(text, static_cast<size_t>(length))));
}

MpiSession::MpiSession() {
  int provided = 0;
  // A backward pass on a GPU runs in a thread of its own, and starts transfers there.
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
  BICRL_CHECK(provided >= MPI_THREAD_SERIALIZED, "MPI offers thread level ", provided);
}

MpiSession::~MpiSession() { MPI_Finalize(); }

bool MpiSession::launched_by_mpi() {
  return getenv("OMPI_COMM_WORLD_SIZE") != nullptr || getenv("PMI_SIZE") != nullptr ||
         getenv("PMIX_RANK") != nullptr;
}

std::string MpiSession::library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  if (MPI_Get_library_version(text, &length) != MPI_SUCCESS) return "";
  return std::string(text, static_cast<size_t>(length));
}

void MpiSession::abort(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::abort();
}

}  // namespace bicrl
