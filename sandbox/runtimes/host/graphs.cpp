// CUDA graphs around plain launches: what is recorded between the begin and the end of a capture is kept, and
// is recorded into the trace at each launch of the graph.
#include <memory>

#include "runtime.h"

namespace bicrl {
namespace {

// Bounds a trace; each costs some hundred bytes.
constexpr uint64_t kMaxOperations = 200000;

using Graph = std::vector<std::string>;  // operations
std::vector<std::unique_ptr<Graph>>& graphs() {
  static std::vector<std::unique_ptr<Graph>> all;
  return all;
}
Graph* capturing = nullptr;

// Handles are numbers: a candidate may pass anything.
Graph* graph_of(const void* handle) {
  const auto number = reinterpret_cast<uintptr_t>(handle);
  return number >= 1 && number <= graphs().size() ? graphs()[number - 1].get() : nullptr;
}

cudaError_t fail_with(cudaError_t error) { return runtime().last_error = error; }

}  // namespace

void record_operation(std::string json) {
  std::vector<std::string>& ops = capturing ? *capturing : runtime().ops;
  if (ops.size() >= kMaxOperations) raise_fault("timeout", "the program launches too many kernels");
  ops.push_back(std::move(json));
}

std::string hex_of(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    hex += kDigits[static_cast<unsigned char>(c) >> 4];
    hex += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return hex;
}

}  // namespace bicrl

using namespace bicrl;

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  if (capturing) return fail_with(cudaErrorInvalidValue);
  graphs().push_back(std::make_unique<Graph>());
  capturing = graphs().back().get();
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  if (!capturing) return fail_with(cudaErrorInvalidValue);
  capturing = nullptr;
  *graph = reinterpret_cast<cudaGraph_t>(graphs().size());
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long) {
  if (!graph_of(graph)) return fail_with(cudaErrorInvalidValue);
  *executable = reinterpret_cast<cudaGraphExec_t>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t) {
  const Graph* graph = graph_of(executable);
  if (!graph || graph == capturing) return fail_with(cudaErrorInvalidValue);
  for (const std::string& op : *graph) record_operation(op);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t) { return cudaSuccess; }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) { return cudaSuccess; }
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
