// Host parts: what a recording claims, against the device code of the same text. A kernel that a trace names
// is an entry of the PTX and takes as many argument bytes; a symbol is a variable of it.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <map>
#include <sstream>

#include "common/files/files.h"
#include "sandbox/box/process/command.h"
#include "sandbox/recorder/recorder.h"
#include "sandbox/trace_run/device_program.h"
#include "tests/sandbox/fault_name.h"
#include "tests/sandbox/service/service_support.h"
#include "tests/sandbox/verifier/corpus.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

struct Parts {
  PythonInstall python = PythonInstall::find(testing::test_python());
  CandidateCompiler compiler;
  Recorder recorder;
  Oracle oracle;

  Parts()
      : compiler(testing::box_host(), python, patient()),
        recorder(testing::box_host(), python, compiler, {600, 512ull << 20}),
        oracle(testing::box_host(), python, {}) {}
  static CompileOptions patient() {
    CompileOptions options;
    options.cpu_s = options.frontend.cpu_s = options.frontend.wall_s = 600;
    options.memory_bytes = 1ull << 30;
    return options;
  }
};
Parts& parts() {
  testing::box_host();  // skips here if there are no boxes
  static Parts made;
  return made;
}

// Checks the claim; counts the launches.
int check_claim(const RecordResult& result) {
  REQUIRE(result.trace);
  std::vector<std::string> texts;
  for (const DeviceModule& module : result.modules) texts.push_back(*module.ptx);
  auto program = DeviceProgram::parse(texts);
  INFO((program.ok() ? "" : program.reason()));
  REQUIRE(program.ok());
  for (const TraceOp& op : result.trace->ops) {
    if (op.kind != TraceOp::Kind::kLaunch) continue;
    INFO(op.entry);
    CHECK(program.value().kernel(op.module, op.entry).parameter_bytes == op.arguments.size());
  }
  for (const TraceBuffer& buffer : result.trace->buffers) {
    if (buffer.kind != TraceBuffer::Kind::kSymbol) continue;
    INFO(buffer.symbol);
    CHECK(program.value().variable(buffer.source, buffer.symbol));
  }
  return result.trace->launches();
}

// One input of 64 floats, and one parameter-free model.
RecordResult record(const std::string& program) {
  OracleSpec spec;
  spec.inputs = nlohmann::json::parse(R"([{"t":"tensor","shape":[64],"dtype":"float32"}])");
  spec.layout = input_layout(spec.inputs).value();
  spec.arguments = {{"t", "list"}, {"items", nlohmann::json::array()}};
  spec.parameters = nlohmann::json::array();
  RecordResult result = parts().recorder.run(program, spec);
  INFO(result.fault.reason);
  REQUIRE_FALSE(result.fault.is_infrastructure());
  return result;
}

// A program around CUDA text that defines `torch::Tensor f(torch::Tensor x)`. `forward` is Python.
std::string program_of(const std::string& cuda, const std::string& forward = "return ext.f(x)",
                       const std::string& declarations = "torch::Tensor f(torch::Tensor x);",
                       const std::string& constructor = "pass") {
  return "import torch\nimport torch.nn as nn\nfrom torch.utils.cpp_extension import load_inline\n"
         "source = r'''\n#include <torch/extension.h>\n" +
         cuda + "\n'''\next = load_inline(name='ext', cpp_sources=r'''" + declarations +
         "''', cuda_sources=source, functions=['f'])\nclass ModelNew(nn.Module):\n    def __init__(self):\n"
         "        super().__init__()\n        " +
         constructor + "\n    def forward(self, x):\n        " + forward + "\n";
}

const std::string kTwice =
    "__global__ void twice(const float* x, float* y, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = 2 * x[i];\n}\n";
std::string host(const std::string& body) {
  return "torch::Tensor f(torch::Tensor x) {\n  auto y = torch::empty_like(x);\n"
         "  int n = x.numel();\n  float *px = x.data_ptr<float>(), *py = y.data_ptr<float>();\n" +
         body + "\n  return y;\n}\n";
}
const std::string kLaunchTwice = "twice<<<1, 64>>>(px, py, n);";

struct Fixture {
  const char* name;
  std::string program;
  int launches = 1;
};

std::vector<Fixture> fixtures() {
  return {
      {"inline PTX, tensor cores and asynchronous copies in bodies",
       program_of(
           "#include <mma.h>\n#include <cuda_fp16.h>\n#include <cuda_pipeline.h>\nusing namespace nvcuda;\n"
           "__device__ unsigned lane() { unsigned l; asm volatile(\"mov.u32 %0, %%laneid;\" : \"=r\"(l)); "
           "return l; }\n"
           "__global__ void k(const float* x, float* y) {\n"
           "  __shared__ __half a[256];\n  __shared__ float c[256];\n"
           "  a[lane()] = __hfma(__float2half(x[lane()]), __float2half(2.f), __float2half(0.f));\n"
           "  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;\n"
           "  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;\n"
           "  wmma::fill_fragment(fc, 0.f);\n  wmma::load_matrix_sync(fa, a, 16);\n"
           "  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);\n  y[lane()] = c[lane()];\n}\n" +
           host("k<<<1, 32>>>(px, py);"))},
      {"overloads, templates without arguments, default arguments, packs",
       program_of("__global__ void k(float* y) { y[0] = 1; }\n__global__ void k(double* y) { y[0] = 1; }\n"
                  "template <class T, int N = 3> __global__ void k(T* y, int n) { y[n] = N; }\n"
                  "__global__ void d(float* y, int n = 3, float v = 1.5f) { y[n] = v; }\n"
                  "template <class... A> __global__ void p(float* y, A... a) { y[0] = (0.f + ... + a); }\n" +
                  host("k<<<1, 1>>>(py);\n  k<<<1, 1>>>((double*)py);\n  k<<<1, 1>>>(py, 4);\n"
                       "  k<float, 7><<<1, 1>>>(py, 4);\n  d<<<1, 1>>>(py);\n  d<<<1, 1>>>(py, 2);\n"
                       "  p<<<1, 1>>>(py, 1, 2.f, 3LL);")),
       7},
      {"lambdas of several signatures, of which some are for the host",
       program_of(
           "template <class F> __global__ void each(int n, F f) { if (threadIdx.x < n) f(threadIdx.x); }\n" +
           host("auto blocks = [](int a) { return a; };\n  auto other = [&](float v) { return v * n; };\n"
                "  (void)other;\n"
                "  each<<<blocks(1), 64>>>(n, [=] __device__(int i) { py[i] = px[i]; });\n"
                "  each<<<1, 64>>>(n, [=] __device__(int i) { py[i] += 1; });")),
       2},
      {"kernels made by macros, marks in macros, a body that is a macro's argument",
       program_of("#define DEVICE __device__ __forceinline__\n#define KERNEL(n) __global__ void "
                  "__launch_bounds__(n)\n"
                  "DEVICE float sq(float v) { return __shfl_sync(~0u, v * v, 0); }\n"
                  "#define UNARY(name, expression) \\\n  __global__ void name##_kernel(const float* x, "
                  "float* y) { \\\n"
                  "    float v = x[threadIdx.x]; \\\n    y[threadIdx.x] = expression; \\\n  }\n"
                  "UNARY(square, sq(v))\n"
                  "#define WHOLE(name, ...) __global__ void name(float* y) __VA_ARGS__\n"
                  "WHOLE(last, { __syncthreads(); atomicAdd(y, 1.f); })\n"
                  "KERNEL(64) bounded(float* y) { y[threadIdx.x] += __ldg(y); }\n"
                  "#define RUN(name, ...) name##_kernel<<<1, 64>>>(__VA_ARGS__)\n" +
                  host("RUN(square, px, py);\n  last<<<1, 64>>>(py);\n  bounded<<<1, 64>>>(py);")),
       3},
      {"launches by function, typed and untyped, by pointer and by table",
       program_of(
           kTwice +
           "using Kernel = void (*)(const float*, float*, int);\nstatic const Kernel table[] = {twice, "
           "twice};\n" +
           host("void* a[] = {&px, &py, &n};\n  cudaLaunchKernel((void*)twice, dim3(1), dim3(64), a, 0, 0);\n"
                "  cudaLaunchKernel(twice, dim3(1), dim3(64), a, 0, 0);\n"
                "  cudaLaunchCooperativeKernel((const void*)twice, dim3(1), dim3(64), a, 0, 0);\n"
                "  cudaLaunchConfig_t c = {};\n  c.gridDim = dim3(1);\n  c.blockDim = dim3(64);\n"
                "  cudaLaunchKernelEx(&c, twice, (const float*)px, py, n);\n"
                "  table[1]<<<1, 64>>>(px, py, n);\n  Kernel chosen = n > 3 ? twice : table[0];\n"
                "  chosen<<<1, 64>>>(px, py, n);")),
       6},
      {"symbols: templates, static, const, pointers in them, their addresses",
       program_of("__constant__ float one[4];\nstatic __device__ float* where;\n"
                  "template <class T> __device__ T per_type;\nnamespace { __constant__ int hidden; }\n"
                  "__global__ void k(float* y) { y[0] = one[1] + per_type<float> + hidden + where[0]; }\n" +
                  host("float h[4] = {1, 2, 3, 4};\n  cudaMemcpyToSymbol(one, h, sizeof h);\n"
                       "  cudaMemcpyToSymbol(where, &px, sizeof px);\n  int v = 3;\n"
                       "  cudaMemcpyToSymbolAsync(hidden, &v, 4, 0, cudaMemcpyHostToDevice, 0);\n"
                       "  void* a;\n  cudaGetSymbolAddress(&a, per_type<float>);\n  cudaMemset(a, 0, 4);\n"
                       "  k<<<1, 1>>>(py);"))},
      {"a table of pointers, pointers in structures, pointers as integers",
       program_of("struct Two { const float* x; float* y; };\n"
                  "__global__ void k(float** table, Two t, unsigned long long z) {\n"
                  "  t.y[0] = table[0][0] + t.x[0] + ((float*)z)[0];\n}\n" +
                  host("float* both[2] = {px, py};\n  float** d;\n  cudaMalloc(&d, sizeof both);\n"
                       "  cudaMemcpy(d, both, sizeof both, cudaMemcpyHostToDevice);\n"
                       "  k<<<1, 1>>>(d, Two{px, py}, (unsigned long long)px);"))},
      {"a graph captured in C++",
       program_of(kTwice +
                  host("cudaStream_t s;\n  cudaStreamCreate(&s);\n  cudaGraph_t g;\n  cudaGraphExec_t e;\n"
                       "  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);\n"
                       "  twice<<<1, 64, 0, s>>>(px, py, n);\n  twice<<<1, 64, 0, s>>>(px, py, n);\n"
                       "  cudaStreamEndCapture(s, &g);\n  cudaGraphInstantiate(&e, g, nullptr, nullptr, 0);\n"
                       "  cudaGraphLaunch(e, s);\n  cudaGraphLaunch(e, s);")),
       4},
      {"a graph captured in Python",
       program_of("#include <ATen/cuda/CUDAContext.h>\n" + kTwice +
                      host("twice<<<1, 64, 0, at::cuda::getCurrentCUDAStream()>>>(px, py, n);"),
                  "g = torch.cuda.CUDAGraph()\n        with torch.cuda.graph(g):\n            y = ext.f(x)\n"
                  "        g.replay()\n        g.replay()\n        return y"),
       2},
      {"a launch beside a graph, which does not take it",
       program_of(kTwice + host(kLaunchTwice),
                  "g = torch.cuda.CUDAGraph()\n        with torch.cuda.graph(g):\n            y = ext.f(x)\n"
                  "        g.replay()\n        g.replay()\n        return y"),
       1},
      {"several modules",
       program_of(kTwice + host(kLaunchTwice), "return ext.f(second.f(ext.f(x)))",
                  "torch::Tensor f(torch::Tensor x);",
                  "global second\n        second = load_inline(name='b', cpp_sources='torch::Tensor "
                  "f(torch::Tensor x);',"
                  " cuda_sources=source.replace('twice', 'thrice').replace('2 *', '3 *'), functions=['f'])"),
       3},
      {"framework calls in branches that are never taken",
       program_of(kTwice + host("if (!x.is_cuda()) return torch::matmul(x, x.t()) + x.softmax(0) * 2;\n" +
                                kLaunchTwice))},
      {"the program's own file, a folder, constants on the device, addresses as numbers, an empty tensor",
       program_of(kTwice +
                      "torch::Tensor f(int64_t address, torch::Tensor y, torch::Tensor none) {\n"
                      "  TORCH_CHECK(none.numel() == 0);\n"
                      "  twice<<<1, 64>>>((const float*)address, y.data_ptr<float>(), 64);\n  return y;\n}\n",
                  "import os, tempfile\n        assert os.path.exists(__file__)\n"
                  "        open(os.path.join(tempfile.mkdtemp(), 'a'), 'w').write('b')\n"
                  "        k = torch.tensor([1.0, 2.0], device='cuda')\n        assert k.is_cuda\n"
                  "        return ext.f(x.data_ptr(), torch.empty_like(x), x[:0])",
                  "torch::Tensor f(int64_t address, torch::Tensor y, torch::Tensor none);")},
      {"half types of both families in signatures, dispatch over them",
       program_of(
           "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n"
           "template <class T> __global__ void k(T* y, __half2* h, const __nv_bfloat16* b) { y[0] = T(1.f); "
           "}\n" +
           host("AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), \"k\", ([&] {\n"
                "    k<scalar_t><<<1, 1>>>(y.data_ptr<scalar_t>(), nullptr, nullptr); }));\n"
                "  k<<<1, 1>>>((at::Half*)py, (__half2*)py, (__nv_bfloat16*)py);")),
       2},
      {"generators' states, cooperative groups, CUB and volatile",
       program_of(
           "#include <cooperative_groups.h>\n#include <cub/cub.cuh>\n#include <curand_kernel.h>\n"
           "namespace cg = cooperative_groups;\n"
           "__device__ float sum(cg::thread_block b, volatile float* s) { b.sync(); return s[0] + s[1]; }\n"
           "__global__ void start(curandState* s) { curand_init(1, threadIdx.x, 0, s + threadIdx.x); }\n"
           "__global__ void k(curandState* s, float* y) {\n  using Reduce = cub::BlockReduce<float, 64>;\n"
           "  __shared__ typename Reduce::TempStorage t;\n  __shared__ float both[2];\n"
           "  float v = Reduce(t).Sum(curand_uniform(s + threadIdx.x));\n  both[threadIdx.x % 2] = v;\n"
           "  y[threadIdx.x] = sum(cg::this_thread_block(), both);\n}\n" +
           host("curandState* s;\n  cudaMalloc(&s, 64 * sizeof(curandState));\n  start<<<1, 64>>>(s);\n"
                "  k<<<1, 64>>>(s, py);\n  cudaFree(s);")),
       2},
  };
}

}  // namespace

TEST_CASE("what host parts of many forms record names the device code's kernels and variables") {
  for (const Fixture& fixture : fixtures()) {
    DYNAMIC_SECTION(fixture.name) {
      const RecordResult result = record(fixture.program);
      INFO(testing::fault_name(result.fault) << ": " << result.fault.reason);
      REQUIRE_FALSE(result.fault);
      CHECK(check_claim(result) == fixture.launches);
    }
  }
}

TEST_CASE("pointers among uploaded bytes become relocations") {
  const RecordResult result = record(program_of(
      "__global__ void k(float** t) { t[0][0] = t[1][0]; }\n" +
      host("struct { long n; float* p[2]; } h = {7, {py, px + 3}};\n  char* d;\n  cudaMalloc(&d, sizeof h);\n"
           "  cudaMemcpy(d, &h, sizeof h, cudaMemcpyHostToDevice);\n  k<<<1, 1>>>((float**)(d + 8));")));
  REQUIRE(result.trace);
  const TraceOp& upload = result.trace->ops.at(0);
  REQUIRE(upload.kind == TraceOp::Kind::kUpload);
  REQUIRE(upload.relocations.size() == 2);
  CHECK(upload.relocations[0].offset == 8);
  CHECK(upload.relocations[1].offset == 16);
  CHECK(upload.relocations[1].addend == 12);
  const std::string expected = std::string("\7\0\0\0\0\0\0\0", 8) + std::string(16, '\0');
  CHECK(result.trace->blobs.at(upload.blob) == expected);
}

TEST_CASE("a host part that needs device data ends as host_read") {
  const std::string twice = kTwice + host(kLaunchTwice);
  for (const std::string forward :
       {"return ext.f(x) if x[0].item() > 0 else x", "return ext.f(x if x.sum() > 0 else -x)",
        "return ext.f(torch.tensor(x.tolist()).cuda())", "return ext.f(x.cpu().cuda())",
        "y = torch.empty(64)\n        y.copy_(x)\n        return ext.f(y.cuda())"}) {
    const RecordResult result = record(program_of(twice, forward));
    INFO(forward << " -> " << result.fault.reason);
    CHECK((result.fault.is(FaultClass::kHostRead) || result.fault.is(FaultClass::kFrameworkFallback)));
    if (forward.find("sum") == std::string::npos) CHECK(result.fault.is(FaultClass::kHostRead));
  }
  for (const std::string body :
       {"float v = x[0].item<float>();\n  twice<<<1, 64>>>(px, py, v > 0 ? n : 0);",
        "twice<<<1, 64>>>(px, py, px[0] > 0 ? n : 0);",
        "float v;\n  cudaMemcpy(&v, px, 4, cudaMemcpyDeviceToHost);\n  twice<<<1, 64>>>(px, py, v > 0 ? n : "
        "0);",
        "auto h = x.cpu();\n  twice<<<1, 64>>>(px, py, h.data_ptr<float>()[0] > 0 ? n : 0);",
        "float v = x.accessor<float, 1>()[3];\n  twice<<<1, 64>>>(px, py, v > 0 ? n : 0);"}) {
    const RecordResult result = record(program_of(kTwice + host(body)));
    INFO(body << " -> " << result.fault.reason);
    CHECK(result.fault.is(FaultClass::kHostRead));
  }
}

TEST_CASE("small parameters may be read, and changed ones not") {
  const std::string read =
      kTwice +
      "torch::Tensor f(torch::Tensor x, torch::Tensor w) {\n  auto y = torch::empty_like(x);\n"
      "  int n = w[1].item<float>();\n  float h;\n"
      "  cudaMemcpy(&h, w.data_ptr<float>() + 1, 4, cudaMemcpyDeviceToHost);\n"
      "  TORCH_CHECK(h == n);\n"
      "  twice<<<n, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), 64);\n  return y;\n}\n";
  const std::string declaration = "torch::Tensor f(torch::Tensor x, torch::Tensor w);";
  const std::string parameter = "self.w = nn.Parameter(torch.tensor([3.0, 5.0]))";
  const RecordResult result = record(program_of(
      read, "assert self.w.tolist() == [3.0, 5.0]\n        return ext.f(x, self.w)", declaration, parameter));
  INFO(result.fault.reason);
  REQUIRE(result.trace);
  CHECK(result.trace->ops.at(0).grid[0] == 5);
  CHECK(record(program_of(read, "self.w.zero_()\n        return ext.f(x, self.w)", declaration, parameter))
            .fault.is(FaultClass::kHostRead));
}

TEST_CASE("memory that was freed is nobody's") {
  const RecordResult result = record(program_of(
      kTwice + host("float* s;\n  cudaMalloc(&s, 256);\n  cudaFree(s);\n  twice<<<1, 64>>>(px, s, n);")));
  REQUIRE(result.trace);
  // The pointer is no relocation: the kernel faults at an address that is no buffer's.
  CHECK(result.trace->ops.at(0).relocations.size() == 1);
  const std::string freed =
      "float* s;\n  cudaMalloc(&s, 256);\n  cudaFree(s);\n  TORCH_CHECK(cudaMemset(s, 0, 4) != "
      "cudaSuccess);\n";
  CHECK_FALSE(record(program_of(kTwice + host(freed + "cudaGetLastError();\n" + kLaunchTwice))).fault);
  // PyTorch's next operation would raise what nobody has fetched.
  CHECK(record(program_of(kTwice + host(freed + kLaunchTwice))).fault.is(FaultClass::kLaunch));
}

TEST_CASE("each error of a host part has its fault class") {
  const auto class_of = [](const std::string& body) {
    const RecordResult result = record(program_of(kTwice + host(body)));
    INFO(result.fault.reason);
    return testing::fault_name(result.fault);
  };
  CHECK(class_of("twice<<<0, 64>>>(px, py, n);") == "launch");
  CHECK(class_of("twice<<<1, 2048>>>(px, py, n);") == "launch");
  CHECK(class_of("twice<<<1, 64, 1 << 20>>>(px, py, n);") == "launch");
  CHECK(class_of(
            "void* a[] = {&px, &py, &n};\n  cudaLaunchKernel((void*)malloc, dim3(1), dim3(1), a, 0, 0);") ==
        "launch");
  CHECK(class_of("twice<<<1, 64>>>(px, py, n);\n  return torch::relu(y);") == "framework_fallback");
  CHECK(class_of("*(volatile int*)8 = 1;") == "record");
  CHECK(class_of("abort();") == "record");
  CHECK(class_of("cublasSgemm(px);") == "library_call");
  CHECK(class_of("undeclared(px);") == "compile");
}

TEST_CASE("the published programs' recordings name the device code's kernels") {
  std::map<std::string, int> ends;
  for (const auto& file : testing::task_files("infilling_tasks.json")) {
    const auto tasks = nlohmann::json::parse(read_file(file));
    for (size_t i = 0; i < tasks.size(); ++i) {
      INFO(file << " " << i);
      // What a library program ends in does not depend on its inputs, and its reference takes long.
      const bool library = tasks[i]["cuda_code"].get<std::string>().find("cublas") != std::string::npos ||
                           tasks[i]["cuda_code"].get<std::string>().find("cudnn") != std::string::npos;
      if (library) {
        ++ends["library"];
        continue;
      }
      const auto task = parts().oracle.open(tasks[i]["pytorch_code"], 4);
      const auto spec = task->spec();
      REQUIRE(spec);
      const RecordResult result = parts().recorder.run(tasks[i]["cuda_code"], *spec);
      INFO(testing::fault_name(result.fault) << ": " << result.fault.reason);
      ++ends[testing::fault_name(result.fault)];
      if (result.fault.is(FaultClass::kHostRead)) continue;
      CHECK_FALSE(result.fault);
      if (result.trace) CHECK(check_claim(result) >= 1);
    }
  }
  CHECK(ends["host_read"] <= 1);
  CHECK(ends[""] >= 6);
}

TEST_CASE("macros of a build name the versions of torch that is installed") {
  const CommandResult said = run_command(
      {testing::test_python(), "-c",
       "import importlib.metadata as m, importlib.util as u, os, re\n"
       "print('TORCH_VERSION \"%s\"' % m.version('torch').split('+')[0])\n"
       "torch = os.path.dirname(u.find_spec('torch').origin)\n"
       "text = open(torch + '/include/pybind11/detail/common.h').read()\n"
       "for part in ('MAJOR', 'MINOR', 'MICRO', 'PATCH'):\n"
       "    print('PYBIND11_VERSION_' + part, re.search('VERSION_' + part + r' (\\w+)', text)[1])"},
      {}, 120);
  INFO(said.output);
  const std::string header = read_file(testing::source_path("sandbox/runtimes/both/include/bicrl/build.h"));
  std::istringstream lines(said.output);
  int found = 0;
  for (std::string line; std::getline(lines, line); ++found) {
    INFO(line);
    CHECK(header.find("#define " + line + "\n") != std::string::npos);
  }
  CHECK(found == 5);
}

}  // namespace bicrl
