#include "trainer/ranks/nccl/nccl_communicator.h"

#include <c10/cuda/CUDAFunctions.h>
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "common/clock.h"

namespace bicrl {
namespace {

constexpr double kEndLimit_s = 10;  // for each of NCCL's steps

// Description of a rank's GPU, which ranks exchange.
struct Gpu {
  char host[64] = {};
  char name[64] = {};
  char id[16] = {};  // the same whatever the device's number in a process is
  int32_t index = 0;
  int32_t visible = 0;
};

Gpu take_gpu(at::Device device) {
  Gpu gpu;
  c10::cuda::set_device(device.index());
  cudaDeviceProp properties;
  const cudaError_t result = cudaGetDeviceProperties(&properties, device.index());
  if (result != cudaSuccess)
    throw Error(concat("cudaGetDeviceProperties failed: ", cudaGetErrorString(result)));
  gethostname(gpu.host, sizeof gpu.host - 1);
  snprintf(gpu.name, sizeof gpu.name, "%.*s", int{sizeof gpu.name} - 1, properties.name);
  memcpy(gpu.id, properties.uuid.bytes, sizeof gpu.id);
  gpu.index = device.index();
  gpu.visible = c10::cuda::device_count();
  return gpu;
}

void require_gpu_each(const std::vector<Gpu>& gpus) {
  std::map<std::string, int> owner;  // first rank of each host's GPU
  for (size_t rank = 0; rank < gpus.size(); ++rank) {
    const Gpu& gpu = gpus[rank];
    const auto [other, is_first] =
        owner.emplace(gpu.host + std::string(1, '\0') + std::string(gpu.id, sizeof gpu.id), rank);
    if (is_first) continue;
    int on_host = 0;
    for (const Gpu& g : gpus) on_host += strcmp(g.host, gpu.host) == 0;
    // Every rank knows all GPUs, and throws the same.
    throw SharedError(concat("ranks ", other->second, " and ", rank, " would share GPU ", gpu.index, " (",
                             gpu.name, ") of host ", gpu.host, ", which has ", on_host, " ranks and ",
                             gpu.visible, " visible GPU", gpu.visible == 1 ? "" : "s",
                             ": NCCL needs one for each rank; start fewer ranks, or use policy.device=cpu"),
                      ExitCode::kUsage);
  }
}

std::string version_text() {
  int version = 0;
  ncclGetVersion(&version);
  return concat(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

std::string describe(const std::vector<Gpu>& gpus) {
  std::string text = "NCCL " + version_text();
  for (size_t rank = 0; rank < gpus.size(); ++rank) {
    const Gpu& gpu = gpus[rank];
    const bool new_host = rank == 0 || strcmp(gpu.host, gpus[rank - 1].host) != 0;
    text += new_host ? concat("; host ", gpu.host, " (", gpu.name, "): ") : ", ";
    text += concat("rank ", rank, " has GPU ", gpu.index);
  }
  return text;
}

// So that a loop over microseconds and seconds alike burns no core.
void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

// Calls what may never return: NCCL waits in it for peers that live but have left the operation
// (NVIDIA/nccl#1013, #1777). It is then left to a thread of its own.
void call_within_limit(ncclResult_t (*call)(ncclComm_t), ncclComm_t communicator) {
  const auto is_over = std::make_shared<std::atomic<bool>>(false);
  std::thread([call, communicator, is_over] {
    call(communicator);
    *is_over = true;
  }).detach();
  for (const Stopwatch watch; !*is_over && watch.seconds() < kEndLimit_s;) pause();
}

}  // namespace

NcclCommunicator::NcclCommunicator(ControlPlane& control, at::Device gpu, double limit_s) {
  Gpu mine;
  on_all_ranks(control, [&] { mine = take_gpu(gpu); });
  const std::vector<Gpu> gpus = all_gather_values(control, mine);
  require_gpu_each(gpus);
  description_ = describe(gpus);
  start(control, limit_s);
}

void NcclCommunicator::start(ControlPlane& control, double limit_s) {
  ncclUniqueId id = {};
  on_rank_zero(control, [&] { check(ncclGetUniqueId(&id), "ncclGetUniqueId"); });
  id = all_gather_values(control, id).front();
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const Stopwatch watch;
  try {
    check(ncclCommInitRankConfig(&communicator_, control.size(), id, control.rank(), &config),
          "ncclCommInitRankConfig");
    while (!settled()) {
      if (watch.seconds() > limit_s)
        throw Error(concat("rank ", control.rank(), " waited ", limit_s, " s for NCCL to start among ",
                           control.size(), " ranks (NCCL_DEBUG=INFO tells more)"));
      pause();
    }
  } catch (const Error&) {
    abort();
    throw;
  }
}

NcclCommunicator::~NcclCommunicator() {
  if (!communicator_) return;
  // Others may still read what this rank has sent; who does not end in time is left alone.
  try {
    check(ncclCommFinalize(communicator_), "ncclCommFinalize");
    const Stopwatch watch;
    while (!settled()) {
      if (watch.seconds() > kEndLimit_s) throw Error("NCCL does not end");
      pause();
    }
    call_within_limit(ncclCommDestroy, communicator_);
  } catch (const Error&) {
    abort();
  }
}

bool NcclCommunicator::settled() const {
  ncclResult_t state = ncclSuccess;
  check(ncclCommGetAsyncError(communicator_, &state), "ncclCommGetAsyncError");
  check(state, "NCCL");
  return state != ncclInProgress;
}

void NcclCommunicator::check(int result, const std::string& operation) const {
  if (result == ncclSuccess || result == ncclInProgress) return;
  const char* details = communicator_ ? ncclGetLastError(communicator_) : nullptr;
  throw Error(concat(operation, " failed: ", ncclGetErrorString(static_cast<ncclResult_t>(result)),
                     details && *details ? concat(" (", details, ")") : ""));
}

void NcclCommunicator::abort() noexcept {
  if (communicator_) call_within_limit(ncclCommAbort, communicator_);
  communicator_ = nullptr;
}

}  // namespace bicrl
