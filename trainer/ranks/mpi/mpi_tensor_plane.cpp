#include "trainer/ranks/mpi/mpi_tensor_plane.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <chrono>
#include <list>
#include <thread>

#include "common/clock.h"
#include "trainer/ranks/control_plane.h"
#include "trainer/ranks/mpi/mpi_communicator.h"
#include "trainer/ranks/mpi/mpi_operation.h"

namespace bicrl {

// What a transfer holds: the steps, and the tensors that they must outlive.
class MpiTensorPlane::Operation : public Transfer::State {
 public:
  Operation(MpiTensorPlane& plane, std::unique_ptr<MpiOperation> made)
      : steps(std::move(made)), plane_(plane) {}
  void wait() override { plane_.wait_for(*this); }

  std::unique_ptr<MpiOperation> steps;

 private:
  MpiTensorPlane& plane_;
};

struct MpiTensorPlane::State {
  MPI_Comm communicator = MPI_COMM_NULL;
  int rank = 0;
  int size = 1;
  int64_t started = 0;  // operations, on every rank the same number
  std::list<std::shared_ptr<Operation>> under_way;
  bool aborted = false;

  void advance_all() {
    for (auto next = under_way.begin(); next != under_way.end();)
      next = (*next)->steps->advance() ? under_way.erase(next) : std::next(next);
  }
};

MpiTensorPlane::MpiTensorPlane(const MpiSession& session, int ranks) : state_(std::make_shared<State>()) {
  state_->communicator = make_communicator(session, ranks);
  check_mpi(MPI_Comm_rank(state_->communicator, &state_->rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(state_->communicator, &state_->size), "MPI_Comm_size");
}

MpiTensorPlane::~MpiTensorPlane() {
  // What was never waited for may still be written to by others.
  if (!state_->under_way.empty()) abort();
  if (!state_->aborted) MPI_Comm_free(&state_->communicator);
}

int MpiTensorPlane::rank() const { return state_->rank; }
int MpiTensorPlane::size() const { return state_->size; }

Transfer MpiTensorPlane::start(std::unique_ptr<MpiOperation> steps) {
  auto operation = std::make_shared<Operation>(*this, std::move(steps));
  state_->under_way.push_back(operation);
  poll();
  return Transfer(std::move(operation));
}

MpiLink MpiTensorPlane::next_link() {
  BICRL_CHECK(!state_->aborted, "the tensor plane was aborted");
  return {state_->communicator, rank(), size(), state_->started++};
}

Transfer MpiTensorPlane::all_reduce(at::Tensor tensor, const std::string& what) {
  return start(make_all_reduce(next_link(), std::move(tensor), what));
}

Transfer MpiTensorPlane::reduce_scatter(at::Tensor whole, at::Tensor mine, const std::string& what) {
  return start(make_reduce_scatter(next_link(), std::move(whole), std::move(mine), what));
}

Transfer MpiTensorPlane::all_gather(at::Tensor mine, at::Tensor whole, const std::string& what) {
  return start(make_all_gather(next_link(), std::move(mine), std::move(whole), what));
}

Transfer MpiTensorPlane::broadcast(at::Tensor tensor, int root, const std::string& what) {
  return start(make_broadcast(next_link(), std::move(tensor), root, what));
}

void MpiTensorPlane::poll() {
  const at::NoGradGuard guard;
  state_->advance_all();
}

void MpiTensorPlane::wait_for(Operation& operation) {
  const Stopwatch watch;
  for (int64_t round = 0; !operation.steps->done(); ++round) {
    BICRL_CHECK(!state_->aborted, "the tensor plane was aborted");
    poll();
    if (operation.steps->done()) return;
    if (watch.seconds() > wait_limit_s()) {
      const std::string waits = operation.steps->what_it_waits_for();
      abort();
      throw Error(concat("rank ", rank(), " waited ", wait_limit_s(), " s in ", waits));
    }
    if (round < 200)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void MpiTensorPlane::abort() noexcept {
  state_->aborted = true;
  // Others may write into its buffers until this process ends.
  for (auto& operation : state_->under_way) new std::shared_ptr<Operation>(std::move(operation));
  state_->under_way.clear();
}

}  // namespace bicrl
