// Wrong and hostile programs on the host backend: each ends in its class.
#include <catch2/catch_test_macros.hpp>

#include "tests/sandbox/host_support.h"

namespace bicrl::testing {
namespace {

// A program with one kernel over x of 256 elements that writes an output of the same size.
std::string kernel_program(const std::string& body, const std::string& launch = "k<<<1, 256>>>",
                           const std::string& before = "", const std::string& forward = "ext.f(x)") {
  return program_of(before + "\n__global__ void k(const float* x, float* y, int n) {\n" + body +
                        "\n}\ntorch::Tensor f(torch::Tensor x) {\n  auto y = torch::empty_like(x);\n  " +
                        launch +
                        "(x.data_ptr<float>(), y.data_ptr<float>(), (int)x.numel());\n  return y;\n}",
                    "torch::Tensor f(torch::Tensor x);", "'f'", forward);
}

std::string python_program(const std::string& body) {
  return kernel_program("int i = threadIdx.x; y[i] = x[i] + 1;") +
         "class ModelNew(nn.Module):\n    def forward(self, x):\n        " + body + "\n";
}

}  // namespace

TEST_CASE("what goes wrong on the host backend has its class") {
  const HostTask task = host_driver().ask_oracle(task_of("x + 1", "torch.randn(256)"), 2);
  const auto run = [&](const std::string& program) { return host_driver().run(task, program, 1e-4); };
  const auto expect = [&](const std::string& program, const std::string& fault_class,
                          const std::string& words = "") {
    const HostRun r = run(program);
    INFO(program << "\n=> " << r.fault_class << " at " << r.reached << ": " << r.message << " passed "
                 << r.passed);
    CHECK(r.fault_class == fault_class);
    CHECK(r.message.find(words) != std::string::npos);
  };

  SECTION("the right program passes, in any order and with any poison") {
    const HostRun r = run(kernel_program("int i = threadIdx.x; if (i < n) y[i] = x[i] + 1;"));
    INFO(r.message);
    REQUIRE(r.fault_class == "");
    CHECK(r.passed == 2);
    ReplayOptions skip;
    skip.skip_launches = true;
    CHECK(host_driver().replay(task, r, 1e-4, skip).passed == 0);
  }
  SECTION("an emptied kernel") {
    const HostRun r = run(kernel_program(""));
    CHECK(r.fault_class == "");
    CHECK(r.passed == 0);
  }
  SECTION("a missing barrier shows in one of the two orders") {
    const char* body = R"(
      __shared__ float s[256];
      int t = threadIdx.x;
      s[t] = x[t];
      float v = s[255 - t];
      y[t] = v - x[255 - t] + x[t] + 1;)";
    const HostRun forward = run(kernel_program(body));
    INFO(forward.message);
    REQUIRE(forward.fault_class == "");  // else there is nothing to replay
    ReplayOptions reversed;
    reversed.reverse = true;
    const HostRun backward = host_driver().replay(task, forward, 1e-4, reversed);
    CHECK((forward.passed < 2 || backward.passed < 2));
    // A tree whose barriers are missing is right in descending order only.
    const char* tree = R"(
      __shared__ float s[256];
      int t = threadIdx.x;
      s[t] = x[t];
      __syncthreads();
      for (int d = 128; d > 0; d /= 2) if (t < d) s[t] += s[t + d];
      if (t == 0) y[0] = s[0];
      if (t > 0) y[t] = 0;)";
    const HostTask sum = host_driver().ask_oracle(
        task_of("torch.cat([x.sum().view(1), torch.zeros(255)])", "torch.randn(256)"), 2);
    const HostRun first = host_driver().run(sum, kernel_program(tree), 1e-3);
    const HostRun second = host_driver().replay(sum, first, 1e-3, reversed);
    CHECK(first.passed + second.passed < 4);
  }
  SECTION("out of bounds by one element, at either end") {
    expect(kernel_program("int i = threadIdx.x; y[i + 1] = x[i] + 1;"), "illegal_access", "k");
    expect(kernel_program("int i = threadIdx.x; y[i] = x[i - 1] + 1;"), "illegal_access", "k");
  }
  SECTION("past the end of dynamic shared memory") {
    expect(kernel_program("extern __shared__ float s[]; s[threadIdx.x] = x[threadIdx.x]; y[threadIdx.x] = "
                          "s[threadIdx.x] + 1;",
                          "k<<<1, 256, 255 * sizeof(float)>>>"),
           "illegal_access", "shared");
  }
  SECTION("divergent barriers are named, not waited for") {
    expect(kernel_program("int i = threadIdx.x;\nif (i % 2) {\n__syncthreads();\ny[i] = 0;\n} else "
                          "{\n__syncthreads();\ny[i] = 1;\n}"),
           "illegal_access", "divergent");
    expect(kernel_program("int i = threadIdx.x;\nfloat v = x[i];\nif (i % 32 < 16) v += "
                          "__shfl_xor_sync(0xffffffff, v, 1);\n"
                          "__syncthreads();\ny[i] = v;"),
           "illegal_access", "divergent");
  }
  SECTION("launches that no GPU accepts") {
    expect(kernel_program("y[threadIdx.x] = x[threadIdx.x] + 1;", "k<<<1, 2048>>>"), "launch", "1024");
    expect(kernel_program("y[threadIdx.x] = x[threadIdx.x] + 1;", "k<<<1, 256, 50000>>>"), "launch",
           "shared");
    expect(kernel_program("y[threadIdx.x] = x[threadIdx.x] + 1;", "k<<<0, 256>>>"), "launch", "empty");
    expect(
        program_of("__global__ void k(float* y) { y[threadIdx.x] = 1; }\ntorch::Tensor f(torch::Tensor x) {\n"
                   "auto y = torch::empty_like(x);\nk<<<1, 4096>>>(y.data_ptr<float>());\n"
                   "TORCH_CHECK(cudaGetLastError() == cudaSuccess, \"launch failed\");\nreturn y; }",
                   "torch::Tensor f(torch::Tensor x);", "'f'", "ext.f(x)"),
        "launch", "1024");
  }
  SECTION("features that this backend cannot express") {
    expect(kernel_program("asm volatile(\"nop;\"); y[threadIdx.x] = x[threadIdx.x] + 1;"), "unsupported",
           "PTX");
    expect(
        kernel_program(
            "volatile __shared__ float s[256]; s[threadIdx.x] = x[threadIdx.x]; "
            "if (threadIdx.x < 32) s[threadIdx.x] += s[threadIdx.x + 32]; y[threadIdx.x] = s[threadIdx.x];"),
        "unsupported", "lockstep");
    expect(kernel_program("if (threadIdx.x == 0) k<<<1, 1>>>(x, y, n);"), "unsupported", "launches a kernel");
  }
  SECTION("vendor libraries, but not the word in a comment or an unused header") {
    expect(kernel_program("y[threadIdx.x] = x[threadIdx.x] + 1;", "cublasHandle_t h; k<<<1, 256>>>"),
           "library_call", "cuBLAS");
    const HostRun r =
        run(kernel_program("/* cublasSgemm */ y[threadIdx.x] = x[threadIdx.x] + 1;", "k<<<1, 256>>>",
                           "#include <cublas_v2.h>\n#include <curand_kernel.h>"));
    CHECK(r.fault_class == "");
    CHECK(r.passed == 2);
  }
  SECTION("the framework in C++") {
    for (const char* call :
         {"return torch::relu(x);", "return x + 1;", "return x.sum();", "return at::mm(x, x);",
          "namespace F = torch::nn::functional; return F::relu(x);"})
      expect(program_of("__global__ void k(float* y) {}\ntorch::Tensor f(torch::Tensor x) { " +
                            std::string(call) + " }",
                        "torch::Tensor f(torch::Tensor x);", "'f'", "ext.f(x)"),
             "framework_fallback");
  }
  SECTION("the framework in Python") {
    expect(python_program("return x + 1"), "framework_fallback", "aten.add");
    expect(python_program("return ext.f(torch.relu(x))"), "framework_fallback", "aten.relu");
    expect(python_program("return ext.f(x).add_(0)"), "framework_fallback", "aten.add_");
    expect(python_program("return torch.nn.functional.softmax(ext.f(x), 0)"), "framework_fallback",
           "softmax");
    expect(python_program("return getattr(torch, 'matmul')(x, x)"), "framework_fallback");
    expect(python_program("y = x + 1 if x.sum() > 0 else x; return y"), "framework_fallback");
  }
  SECTION("kernels that did not make the answer") {
    expect(python_program("ext.f(x); return x"), "dead_kernel", "input");
    expect(python_program("ext.f(x); return x.clone()"), "dead_kernel", "input");
    expect(python_program("return torch.zeros_like(x)"), "dead_kernel", "no kernel");
    expect(python_program("ext.f(x); return torch.ones_like(x)"), "dead_kernel", "filled");
    expect(python_program("ext.f(x); return torch.empty_like(x)"), "dead_kernel", "never written");
  }
  SECTION("plumbing in Python is allowed") {
    for (const char* body :
         {"return ext.f(x.view(16, 16).t().contiguous()).view(16, 16).t().reshape(-1)",
          "y = torch.empty(256, device=x.device); y.copy_(ext.f(x)); torch.cuda.synchronize(); return y",
          "return ext.f(x.double().float()).to(x.device).detach()",
          "with torch.cuda.device(x.device): return ext.f(x.cuda()) if x.is_cuda else None"}) {
      const HostRun r = run(python_program(body));
      INFO(body << "\n" << r.fault_class << " " << r.message);
      CHECK(r.passed == 2);
    }
  }
  SECTION("errors of the Python part") {
    expect(python_program("raise ValueError('no')"), "record", "ValueError: no");
    expect(python_program("return ext.g(x)"), "record", "AttributeError");
    expect(python_program("return ext.f(x, 1)"), "record", "incompatible");
    expect(python_program("return ext.f(1.5)"), "record", "incompatible");
    expect(python_program("exit(0)"), "record", "exit");
    expect("def f(:\n", "record", "SyntaxError");
    expect("import torch\n", "extract", "ModelNew");
    expect("import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x): return x + 1\n",
           "extract", "load_inline");
  }
  SECTION("errors of the C++ part") {
    expect(kernel_program("y[threadIdx.x] = undeclared;"), "compile", "undeclared");
    expect(program_of("__global__ void k(float* y) {}\ntorch::Tensor f(torch::Tensor x) { return x; }", "",
                      "'f'", "ext.f(x)"),
           "compile", "cpp_sources");
    expect(program_of("torch::Tensor f(torch::Tensor x) { TORCH_CHECK(x.dim() == 7, \"bad dim \", x.dim()); "
                      "return x; }",
                      "torch::Tensor f(torch::Tensor x);", "'f'", "ext.f(x)"),
           "record", "bad dim 1");
    expect(program_of("torch::Tensor f(torch::Tensor x) { x.data_ptr<double>(); return x; }",
                      "torch::Tensor f(torch::Tensor x);", "'f'", "ext.f(x)"),
           "record", "expected scalar type Double but found Float");
    expect(program_of("torch::Tensor f(torch::Tensor x) { x.data_ptr<float>()[0] = 1; return x; }",
                      "torch::Tensor f(torch::Tensor x);", "'f'", "ext.f(x)"),
           "illegal_access", "device pointer");
    expect(program_of("torch::Tensor f(torch::Tensor x) { *(volatile int*)0 = 1; __syncwarp(); return x; }",
                      "torch::Tensor f(torch::Tensor x);", "'f'", "ext.f(x)"),
           "record", "crashed");
  }
  SECTION("a failed assertion, a trap and an endless loop in a kernel") {
    expect(kernel_program("assert(x[threadIdx.x] > 1000);", "k<<<1, 256>>>", "#include <cassert>"),
           "illegal_access", "assert");
    expect(kernel_program("if (n > 3) __trap();"), "illegal_access", "trap");
    const HostRun r = run(kernel_program("y[threadIdx.x] = x[threadIdx.x] + 1;"));
    REQUIRE(r.passed == 2);
    const std::string endless =
        kernel_program("volatile int i = 0; while (true) ++i; __syncwarp(); y[0] = x[0];");
    ReplayOptions limited;
    limited.run_limit_ms = 200;
    CHECK(host_driver().run(task, endless, 1e-4, limited).fault_class == "timeout");
  }
}

}  // namespace bicrl::testing
