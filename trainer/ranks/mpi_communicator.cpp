#include "trainer/ranks/mpi_communicator.h"

#include <ATen/ATen.h>
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <thread>

#include "common/clock.h"
#include "common/error.h"

namespace bicrl {
namespace {

// MPI counts are ints; larger messages go in pieces.
constexpr int64_t kMaxCount = int64_t{1} << 28;

void check_mpi(int code, const char* operation) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(concat(operation, " failed: ", std::string(text, static_cast<size_t>(length))));
}

MPI_Datatype mpi_type(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return MPI_FLOAT;
    case at::kDouble:
      return MPI_DOUBLE;
    case at::kLong:
      return MPI_INT64_T;
    default:
      break;
  }
  throw Error(concat("cannot sum tensors of type ", tensor.dtype().name(), " over ranks"));
}

}  // namespace

MpiSession::MpiSession() {
  int provided = 0;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  BICRL_CHECK(provided >= MPI_THREAD_FUNNELED, "MPI offers thread level ", provided);
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

struct MpiCommunicator::State {
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm giving_up = MPI_COMM_NULL;
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int hosts = 1;
  int ranks_on_host = 1;
};

MpiCommunicator::MpiCommunicator(const MpiSession&) : state_(std::make_unique<State>()) {
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &state_->communicator), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(state_->communicator, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &state_->giving_up), "MPI_Comm_dup");
  check_mpi(MPI_Comm_rank(state_->communicator, &state_->rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(state_->communicator, &state_->size), "MPI_Comm_size");
  MPI_Comm host = MPI_COMM_NULL;
  check_mpi(
      MPI_Comm_split_type(state_->communicator, MPI_COMM_TYPE_SHARED, state_->rank, MPI_INFO_NULL, &host),
      "MPI_Comm_split_type");
  check_mpi(MPI_Comm_rank(host, &state_->local_rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(host, &state_->ranks_on_host), "MPI_Comm_size");
  check_mpi(MPI_Comm_free(&host), "MPI_Comm_free");
  const int first_of_host = state_->local_rank == 0;
  check_mpi(MPI_Allreduce(&first_of_host, &state_->hosts, 1, MPI_INT, MPI_SUM, state_->communicator),
            "MPI_Allreduce");
}

MpiCommunicator::~MpiCommunicator() {
  MPI_Comm_free(&state_->communicator);
  MPI_Comm_free(&state_->giving_up);
}

bool MpiCommunicator::all_give_up(double seconds) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibarrier(state_->giving_up, &request), "MPI_Ibarrier");
  const Stopwatch watch;
  int done = 0;
  while (!done && watch.seconds() < seconds) {
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return done != 0;
}

int MpiCommunicator::rank() const { return state_->rank; }
int MpiCommunicator::size() const { return state_->size; }
int MpiCommunicator::local_rank() const { return state_->local_rank; }
int MpiCommunicator::hosts() const { return state_->hosts; }
int MpiCommunicator::ranks_on_host() const { return state_->ranks_on_host; }

void MpiCommunicator::all_reduce_sum(at::Tensor& tensor) {
  BICRL_CHECK(tensor.is_contiguous());
  const MPI_Datatype type = mpi_type(tensor);
  at::Tensor host = tensor.to(at::kCPU);  // the tensor itself if it is on the host already
  auto* bytes = static_cast<char*>(host.mutable_data_ptr());
  for (int64_t begin = 0; begin < host.numel(); begin += kMaxCount) {
    const auto count = static_cast<int>(std::min(kMaxCount, host.numel() - begin));
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, bytes + begin * static_cast<int64_t>(host.element_size()), count,
                            type, MPI_SUM, state_->communicator),
              "MPI_Allreduce");
  }
  if (!host.is_same(tensor)) tensor.copy_(host);
}

void MpiCommunicator::broadcast(at::Tensor& tensor, int root) {
  BICRL_CHECK(tensor.is_contiguous());
  at::Tensor host = tensor.to(at::kCPU);
  auto* bytes = static_cast<char*>(host.mutable_data_ptr());
  const int64_t total = static_cast<int64_t>(host.nbytes());
  for (int64_t begin = 0; begin < total; begin += kMaxCount) {
    const auto count = static_cast<int>(std::min(kMaxCount, total - begin));
    check_mpi(MPI_Bcast(bytes + begin, count, MPI_BYTE, root, state_->communicator), "MPI_Bcast");
  }
  if (!host.is_same(tensor)) tensor.copy_(host);
}

void MpiCommunicator::all_reduce(std::vector<double>& values, Reduction reduction) {
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE,
                          reduction == Reduction::kSum ? MPI_SUM : MPI_MAX, state_->communicator),
            "MPI_Allreduce");
}

std::vector<std::string> MpiCommunicator::all_gather(const std::string& bytes) {
  auto length = static_cast<int64_t>(bytes.size());
  std::vector<int64_t> lengths(static_cast<size_t>(size()));
  check_mpi(MPI_Allgather(&length, 1, MPI_INT64_T, lengths.data(), 1, MPI_INT64_T, state_->communicator),
            "MPI_Allgather");
  // Everybody's string in turn: no total that could overflow an int of displacements.
  std::vector<std::string> all;
  for (int sender = 0; sender < size(); ++sender) {
    std::string& text = all.emplace_back(sender == rank() ? bytes : std::string());
    text.resize(static_cast<size_t>(lengths[static_cast<size_t>(sender)]));
    for (int64_t begin = 0; begin < static_cast<int64_t>(text.size()); begin += kMaxCount) {
      const auto count = static_cast<int>(std::min(kMaxCount, static_cast<int64_t>(text.size()) - begin));
      check_mpi(MPI_Bcast(text.data() + begin, count, MPI_BYTE, sender, state_->communicator), "MPI_Bcast");
    }
  }
  return all;
}

void MpiCommunicator::barrier() { check_mpi(MPI_Barrier(state_->communicator), "MPI_Barrier"); }

}  // namespace bicrl
