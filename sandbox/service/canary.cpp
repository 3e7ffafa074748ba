#include "sandbox/service/canary.h"

#include "common/error.h"

namespace bicrl {
namespace {

// Both import a module that the warm interpreter has not loaded: what it is installed in must be visible in
// its children, too.
constexpr const char* kTask = R"(import torch
import torch.nn as nn
import torch.nn.utils.prune


class Model(nn.Module):
    def forward(self, x):
        return torch.sum(x * x, dim=1)


def get_inputs():
    return [torch.randn(8, 96)]


def get_init_inputs():
    return []
)";

// A block per row and a reduction in shared memory, so that launches, barriers and views all take
// part. The incorrect program differs at the @: it leaves out half of each row, far beyond any tolerance.
constexpr const char* kProgram = R"(import torch
import torch.nn as nn
import torch.nn.utils.prune
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void row_squares_kernel(const float* x, float* y, int n) {
  __shared__ float part[32];
  float sum = 0.0f;
  for (int i = threadIdx.x; i < n@; i += blockDim.x) {
    float v = x[blockIdx.x * n + i];
    sum += v * v;
  }
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}

torch::Tensor row_squares(torch::Tensor x) {
  auto y = torch::empty({x.size(0)}, x.options());
  row_squares_kernel<<<x.size(0), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
  return y;
}
"""
module = load_inline(name="row_squares", cpp_sources="torch::Tensor row_squares(torch::Tensor x);",
                     cuda_sources=source, functions=["row_squares"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.row_squares(x)
)";

VerificationRequest canary(const std::string& id, const std::string& bound) {
  VerificationRequest request;
  request.request_id = request.task_id = id;
  request.pytorch_code = kTask;
  request.program = kProgram;
  request.program.replace(request.program.find('@'), 1, bound);
  request.protocol = kDefaultProtocol;
  request.fresh = true;
  return request;
}

// What most likely helps, by how far a correct program came.
std::string remedy(const Verdict& verdict) {
  if (verdict.fault_class == "timeout" || verdict.fault_class == "memory")
    return "The limits are too tight for this machine, or it is overloaded: raise the verifier's `limits`";
  if (verdict.reached == "compile")
    return "Check that the system's g++ works, and build this program anew after an upgrade of the compiler";
  const bool python_lacks = verdict.diagnostics.find("interpreter") != std::string::npos ||
                            verdict.diagnostics.find("No module named") != std::string::npos;
  if (python_lacks)
    return "Check that the verifier's Python can import torch and that every user may read the folders it is "
           "installed in, or name another with the key `python` or BICRL_PYTHON";
  if (verdict.reached == "run")
    return "Check that the `scratch` folder has room and is readable, and build this program anew";
  return "Check the verifier's Python and torch, and build this program anew if torch was replaced";
}

[[noreturn]] void fail(const char* what, const Verdict& verdict) {
  std::string outcome = to_string(verdict.outcome);
  if (!verdict.fault_class.empty()) outcome += ", " + verdict.fault_class;
  throw Error(
      concat("the verifier's self-check failed: ", what, " (", outcome, "; it reached '", verdict.reached,
             "')\n  ", verdict.diagnostics.empty() ? "no diagnostics" : verdict.diagnostics, "\n  ",
             remedy(verdict), ". `bicrl doctor` checks this machine part by part"),
      ExitCode::kUnavailable);
}

}  // namespace

CanaryTimes check_canaries(const std::function<Verdict(const VerificationRequest&)>& verify,
                           std::stop_token stop) {
  const auto verdict_of = [&](const VerificationRequest& request) {
    Verdict verdict = verify(request);
    if (stop.stop_requested())
      throw Error("stopped during the verifier's self-check", ExitCode::kInterrupted);
    return verdict;
  };
  const Verdict correct = verdict_of(canary("canary-right", ""));
  if (correct.outcome != Outcome::kGraded || !correct.correct)
    fail("a correct program is not graded as correct", correct);
  const Verdict incorrect = verdict_of(canary("canary-wrong", " / 2"));
  if (incorrect.outcome != Outcome::kGraded || incorrect.correct || incorrect.fault_class != "wrong_value")
    fail("an incorrect program is not graded as incorrect", incorrect);
  return {correct.total_ms, incorrect.total_ms};
}

CanaryTimes run_canaries(Pipeline& pipeline, std::stop_token stop) {
  return check_canaries([&](const VerificationRequest& request) { return pipeline.verify(request, stop); },
                        stop);
}

}  // namespace bicrl
