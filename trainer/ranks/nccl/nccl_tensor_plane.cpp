#include "trainer/ranks/nccl/nccl_tensor_plane.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/Event.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <thread>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "trainer/ranks/mpi/mpi_communicator.h"
#include "trainer/ranks/mpi/mpi_inquiry.h"
#include "trainer/ranks/nccl/nccl_checksum.h"
#include "trainer/ranks/nccl/nccl_communicator.h"
#include "trainer/ranks/tensor_checksum.h"

namespace bicrl {
namespace {

// How long a wait only yields before it sleeps between looks: most transfers end within it.
constexpr double kEagerSeconds = 2e-3;
// How long an operation may take before ranks ask each other who is in it: half of the limit if that is less.
constexpr double kAskAfter_s = 1;
// Between two looks at what others ask.
constexpr double kInquiryPause_s = 1e-3;

ncclDataType_t type_of(const at::Tensor& tensor) {
  require_summable(tensor);
  return tensor.scalar_type() == at::kFloat    ? ncclFloat32
         : tensor.scalar_type() == at::kDouble ? ncclFloat64
                                               : ncclInt64;
}

// A tensor on the GPU that stands for one on any device.
struct OnGpu {
  OnGpu(at::Tensor tensor, at::Device gpu) : own(std::move(tensor)), staged(own.to(gpu)) {}
  void copy_back() {
    if (!staged.is_same(own)) own.copy_(staged);
  }
  void* data() const { return staged.data_ptr(); }
  at::Tensor own, staged;
};

}  // namespace

struct NcclTensorPlane::State {
  State(const MpiSession& session, ControlPlane& control, at::Device gpu)
      : control(control),
        gpu(gpu),
        communicator(control, gpu),
        between_ranks(make_communicator(session, control.size())),
        inquiry(between_ranks),
        stream(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, gpu.index())) {}

  ControlPlane& control;
  at::Device gpu;
  NcclCommunicator communicator;
  MPI_Comm between_ranks;
  EnteredOperations entered;
  MpiInquiry inquiry;
  Stopwatch since_inquiry;
  c10::cuda::CUDAStream stream;
  std::deque<std::shared_ptr<Operation>> under_way;  // in the order in which they were started
  bool aborted = false;
};

// An operation, and the tensors that must outlive it.
class NcclTensorPlane::Operation : public Transfer::State {
 public:
  // `result` is what it writes; `launch` reads and writes tensors that it holds.
  Operation(NcclTensorPlane& plane, const std::string& operation, const std::string& what,
            const at::Tensor& like, OnGpu result, Launch launch)
      : plane_(plane),
        result_(std::move(result)),
        launch_(std::move(launch)),
        inputs_ready_(c10::DeviceType::CUDA),
        finished_(c10::DeviceType::CUDA) {
    BICRL_CHECK(!plane.state_->aborted, "the tensor plane was aborted");
    BICRL_CHECK(like.is_contiguous(), operation, " of ", what);
    number_ = plane.state_->entered.enter(operation, what, like);
    text_ = plane.state_->entered.text(number_);
    inputs_ready_.record(c10::cuda::getCurrentCUDAStream(plane.state_->gpu.index()).unwrap());
  }

  void wait() override { plane_.wait_for(*this); }
  int64_t number() const { return number_; }
  bool done() const { return stage_ == Stage::kDone; }
  bool on_stream() const { return stage_ >= Stage::kRunning; }

  // Does what can be done without waiting. `may_launch`: all operations before it are on the stream.
  void advance(bool may_launch) {
    if (stage_ == Stage::kQueued && may_launch) launch();
    if (stage_ == Stage::kLaunching) {
      // The first operation of a kind makes connections, in a thread of NCCL's.
      if (!plane_.state_->communicator.settled()) return;
      finished_.record(plane_.state_->stream.unwrap());
      stage_ = Stage::kRunning;
    }
    if (stage_ == Stage::kRunning && finished_.query()) {
      result_.copy_back();
      launch_ = nullptr;  // frees the tensors that it holds
      stage_ = Stage::kDone;
    }
  }

  // What this rank knows of an operation that is the oldest one under way.
  std::string what_it_waits_for() const {
    const MpiInquiry& inquiry = plane_.state_->inquiry;
    const bool has_asked = inquiry.has_asked(number_);
    const std::vector<int> absent = has_asked ? inquiry.absent() : std::vector<int>();
    if (!absent.empty()) return concat(text_, " for ", rank_list(absent), ", which did not come");
    if (stage_ == Stage::kRunning)
      return text_ +
             (has_asked ? ", to which all ranks came, but which does not finish" : ", which does not finish");
    return text_ + (has_asked ? ", to which all ranks came, for NCCL" : ", for NCCL") + " to connect them";
  }

 private:
  enum class Stage { kQueued, kLaunching, kRunning, kDone };

  void launch() {
    NcclTensorPlane::State& state = *plane_.state_;
    inputs_ready_.block(state.stream.unwrap());
    state.communicator.check(launch_(state.communicator.get(), state.stream.stream()), text_);
    stage_ = Stage::kLaunching;
  }

  NcclTensorPlane& plane_;
  int64_t number_ = 0;
  std::string text_;
  OnGpu result_;
  Launch launch_;
  c10::Event inputs_ready_, finished_;
  Stage stage_ = Stage::kQueued;
};

NcclTensorPlane::NcclTensorPlane(const MpiSession& session, ControlPlane& control, at::Device gpu)
    : state_(std::make_unique<State>(session, control, gpu)) {
  // Those who hang ask ranks that wait there.
  control.set_while_waiting([this] { poll(); });
}

NcclTensorPlane::~NcclTensorPlane() {
  state_->control.set_while_waiting({});
  // What was never waited for may still be written to by others.
  if (!state_->under_way.empty()) abort();
  if (!state_->aborted) MPI_Comm_free(&state_->between_ranks);
}

int NcclTensorPlane::rank() const { return state_->control.rank(); }
int NcclTensorPlane::size() const { return state_->control.size(); }
const EnteredOperations* NcclTensorPlane::entered() const { return &state_->entered; }
const std::string& NcclTensorPlane::description() const { return state_->communicator.description(); }

Transfer NcclTensorPlane::start(std::shared_ptr<Operation> operation) {
  state_->under_way.push_back(operation);
  poll();
  return Transfer(std::move(operation));
}

Transfer NcclTensorPlane::all_reduce(at::Tensor tensor, const std::string& what) {
  const c10::cuda::CUDAGuard device(state_->gpu);
  const ncclDataType_t type = type_of(tensor);
  const OnGpu result(tensor, state_->gpu);
  const auto count = static_cast<size_t>(tensor.numel());
  return start(std::make_shared<Operation>(
      *this, "all-reduce", what, tensor, result, [result, count, type](ncclComm* comm, CUstream_st* stream) {
        return ncclAllReduce(result.data(), result.data(), count, type, ncclSum, comm, stream);
      }));
}

Transfer NcclTensorPlane::reduce_scatter(at::Tensor whole, at::Tensor mine, const std::string& what) {
  const c10::cuda::CUDAGuard device(state_->gpu);
  const ncclDataType_t type = type_of(whole);
  BICRL_CHECK(mine.is_contiguous() && mine.numel() * size() == whole.numel() &&
                  mine.scalar_type() == whole.scalar_type(),
              what, ": ", mine.numel(), " of ", whole.numel(), " elements for ", size(), " ranks");
  const OnGpu from(whole, state_->gpu), result(mine, state_->gpu);
  const auto count = static_cast<size_t>(mine.numel());
  return start(std::make_shared<Operation>(*this, "reduce-scatter", what, whole, result,
                                           [from, result, count, type](ncclComm* comm, CUstream_st* stream) {
                                             return ncclReduceScatter(from.data(), result.data(), count, type,
                                                                      ncclSum, comm, stream);
                                           }));
}

Transfer NcclTensorPlane::all_gather(at::Tensor mine, at::Tensor whole, const std::string& what) {
  const c10::cuda::CUDAGuard device(state_->gpu);
  BICRL_CHECK(whole.is_contiguous() && mine.numel() * size() == whole.numel() &&
                  mine.scalar_type() == whole.scalar_type(),
              what, ": ", mine.numel(), " of ", whole.numel(), " elements for ", size(), " ranks");
  const OnGpu from(mine, state_->gpu), result(whole, state_->gpu);
  const size_t bytes = mine.nbytes();
  return start(std::make_shared<Operation>(
      *this, "all-gather", what, mine, result, [from, result, bytes](ncclComm* comm, CUstream_st* stream) {
        return ncclAllGather(from.data(), result.data(), bytes, ncclUint8, comm, stream);
      }));
}

Transfer NcclTensorPlane::broadcast(at::Tensor tensor, int root, const std::string& what) {
  const c10::cuda::CUDAGuard device(state_->gpu);
  const OnGpu result(tensor, state_->gpu);
  const size_t bytes = tensor.nbytes();
  return start(std::make_shared<Operation>(*this, concat("broadcast from rank ", root), what, tensor, result,
                                           [result, bytes, root](ncclComm* comm, CUstream_st* stream) {
                                             return ncclBroadcast(result.data(), result.data(), bytes,
                                                                  ncclUint8, root, comm, stream);
                                           }));
}

at::Tensor NcclTensorPlane::checksum(const at::Tensor& values, int64_t bucket) {
  if (!values.is_cuda()) return TensorPlane::checksum(values, bucket);
  const c10::cuda::CUDAGuard device(values.device());
  const auto [words, first_key] = checksum_words(values, bucket);
  const at::Tensor sum = at::zeros({}, words.options().dtype(at::kLong));
  const int code =
      launch_checksum(words.const_data_ptr(), words.numel(), first_key, sum.mutable_data_ptr<int64_t>(),
                      c10::cuda::getCurrentCUDAStream(values.device().index()).stream());
  if (code != cudaSuccess)
    throw Error(concat("checksum: ", cudaGetErrorString(static_cast<cudaError_t>(code))));
  return sum;
}

void NcclTensorPlane::poll() {
  answer_others();
  if (state_->under_way.empty()) return;
  const at::NoGradGuard guard;
  const c10::cuda::CUDAGuard device(state_->gpu);
  bool may_launch = true;
  for (const std::shared_ptr<Operation>& operation : state_->under_way) {
    operation->advance(may_launch);
    may_launch = may_launch && operation->on_stream();
  }
  // They end in the order of their stream.
  while (!state_->under_way.empty() && state_->under_way.front()->done()) state_->under_way.pop_front();
}

void NcclTensorPlane::answer_others() {
  if (state_->since_inquiry.seconds() < kInquiryPause_s) return;
  state_->since_inquiry.restart();
  const std::string found = state_->inquiry.advance(state_->entered);
  // After an abort other ranks are still answered.
  if (found.empty() || state_->aborted) return;
  abort();
  throw Error(found);
}

void NcclTensorPlane::wait_for(Operation& operation) {
  const Stopwatch watch;
  const double ask_after_s = std::min(kAskAfter_s, wait_limit_s() / 2);
  std::shared_ptr<Operation> oldest;  // it is what this one waits for
  Stopwatch since_oldest;
  while (!operation.done()) {
    BICRL_CHECK(!state_->aborted, "the tensor plane was aborted");
    poll();
    if (operation.done()) return;
    state_->communicator.settled();  // throws if another rank has met a fault
    if (oldest != state_->under_way.front()) {
      oldest = state_->under_way.front();
      since_oldest.restart();
    }
    if (since_oldest.seconds() > ask_after_s && !state_->inquiry.has_asked(oldest->number()))
      state_->inquiry.ask(oldest->number(), state_->entered);
    const double waited_s = watch.seconds();
    if (waited_s > wait_limit_s()) {
      const std::string waits = oldest->what_it_waits_for();
      abort();
      throw Error(concat("rank ", rank(), " waited ", wait_limit_s(), " s in ", waits));
    }
    if (waited_s < kEagerSeconds)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void NcclTensorPlane::abort() noexcept {
  if (std::exchange(state_->aborted, true)) return;
  state_->communicator.abort();
  // A GPU that hangs may write into tensors until this process ends.
  for (auto& operation : state_->under_way) new std::shared_ptr<Operation>(std::move(operation));
  state_->under_way.clear();
}

}  // namespace bicrl
