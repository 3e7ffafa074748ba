// The CUDA front end: what it makes of programs, what hostile text can do to it, and the compile step around
// it.
#include "sandbox/frontend/frontend_process.h"

#include <signal.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>

#include "common/clock.h"
#include "common/files/files.h"
#include "common/json.h"
#include "sandbox/frontend/candidate_compiler.h"
#include "tests/sandbox/oracle/oracle_support.h"
#include "tests/sandbox/service/service_support.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

// Limits of time that only a text without an end meets.
CandidateCompiler& compiler() {
  static CandidateCompiler made = [] {
    CompileOptions options;
    options.cpu_s = 600;
    options.frontend.cpu_s = options.frontend.wall_s = 600;
    return CandidateCompiler(testing::box_host(), testing::python_install(), options);
  }();
  return made;
}

FrontendProcess& impatient_frontend() {
  static FrontendProcess made = [] {
    FrontendOptions options;
    options.cpu_s = 4;
    options.memory_bytes = 512ull << 20;
    return FrontendProcess(testing::box_host(), testing::python_install(),
                           DeviceToolchain::find(testing::python_install()), options);
  }();
  return made;
}

const std::string kHost =
    "#include <torch/extension.h>\n"
    "torch::Tensor run(torch::Tensor x) {\n"
    "  auto y = torch::empty_like(x);\n"
    "  k<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>());\n"
    "  return y;\n"
    "}\n";

CudaProgram program(const std::string& kernel, const std::string& host = kHost) {
  return {{kernel + host}, {"torch::Tensor run(torch::Tensor x);"}, {"run"}};
}

const std::string kDouble =
    "__global__ void k(const float* x, float* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }\n";

CompileResult compile(const CudaProgram& program) {
  const CompileResult result = compiler().compile(program);
  INFO(result.fault.reason);
  REQUIRE_FALSE(result.fault.is_infrastructure());
  return result;
}

FrontendDevice device_part(FrontendProcess& frontend, const std::string& text) {
  auto job = frontend.begin(program(text), true);
  INFO((job ? "" : job.reason()));
  REQUIRE(job.ok());
  const FrontendSplit split = job.value().split();
  if (split.fault) return {split.fault, "", false, false};
  FrontendDevice device = job.value().device();
  INFO(device.fault.reason);
  REQUIRE_FALSE(device.fault.is_infrastructure());
  return device;
}

void check_alive(FrontendProcess& frontend) {
  const FrontendDevice device = device_part(frontend, kDouble);
  CHECK(device.fault.reason == "");
  CHECK(device.ptx.find(".entry _Z1kPKfPf(") != std::string::npos);
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// The CUDA texts of the published programs.
std::vector<std::string> published_texts() {
  std::vector<std::string> texts;
  const auto tasks = parse_json(read_file(testing::published_file("infilling_tasks.json")), "tasks");
  for (const auto& task : tasks) {
    const std::string code = task.at("cuda_code");
    const size_t open = code.find("\"\"\""), close = code.find("\"\"\"", open + 3);
    if (close == std::string::npos) continue;
    const std::string text = code.substr(open + 3, close - open - 3);
    if (text.find("__global__") != std::string::npos) texts.push_back(text);
  }
  return texts;
}

}  // namespace

TEST_CASE("a program becomes a module and PTX") {
  const CompileResult result = compile(program(kDouble));
  INFO(result.fault.reason);
  REQUIRE(result.module);
  REQUIRE(result.ptx);
  CHECK(result.module->starts_with("\x7f\x45LF"));
  CHECK(result.ptx->find(".entry _Z1kPKfPf(") != std::string::npos);
  CHECK_FALSE(result.cut);
}

TEST_CASE("what is known is not compiled again") {
  const CudaProgram one = program("// known\n" + kDouble);
  const CompileResult first = compile(one), again = compile(one);
  REQUIRE(first.ptx);
  CHECK(first.compile_ms > 0);
  CHECK(again.compile_ms == 0);
  CHECK(again.module == first.module);
  CHECK(again.ptx == first.ptx);
  CudaProgram other_host = one;
  other_host.cpp_sources.push_back("// another host text");
  CHECK(compile(other_host).ptx == first.ptx);
  CudaProgram other_flags = one;
  other_flags.cuda_cflags = {"--use_fast_math"};
  const CompileResult fast = compile(other_flags);
  CHECK(fast.ptx != first.ptx);
  CHECK(fast.module == first.module);
}

TEST_CASE("macros among the flags reach both parts") {
  CudaProgram flagged = program(
      "__global__ void k(const float* x, float* y) { y[threadIdx.x] = SCALE * x[threadIdx.x]; }\n"
      "#if SCALE != 3 || defined(GONE)\n#error the macros of the CUDA flags\n#endif\n");
  flagged.cuda_cflags = {"-DSCALE=3", "-D", "GONE", "-UGONE", "-O3"};
  CHECK(compile(flagged).fault.reason == "");
  CudaProgram host_only = program(kDouble);
  host_only.cpp_sources.push_back("#ifndef OF_THE_HOST\n#error the macros of the host's flags\n#endif\n");
  CHECK(compile(host_only).fault.is(FaultClass::kCompile));
  host_only.cflags = {"-O3", "-DOF_THE_HOST"};
  CHECK(compile(host_only).fault.reason == "");
}

TEST_CASE("why a program cannot be compiled") {
  SECTION("an error in a kernel") {
    const CompileResult result = compile(program("__global__ void k(float* x, float* y) {\n  *y = *z;\n}\n"));
    CHECK(result.fault.is(FaultClass::kCompile));
    CHECK_FALSE(result.module);
    CHECK_FALSE(result.ptx);
  }
  SECTION("the device part's words") {
    const FrontendDevice device =
        device_part(impatient_frontend(), "__global__ void k(const float* x, float* y) {\n  *y = *z;\n}\n");
    CHECK(device.fault.is(FaultClass::kCompile));
    CHECK(device.fault.reason.find("cuda_sources(2): error: identifier \"z\" is undefined") == 0);
    CHECK(device.fault.reason.find("/shim") == std::string::npos);
  }
  SECTION("flags that nobody can honour") {
    CudaProgram flagged = program(kDouble);
    flagged.cuda_cflags = {"-I/usr/include"};
    const CompileResult result = compile(flagged);
    CHECK(result.fault.is(FaultClass::kUnsupported));
    CHECK(result.fault.reason.find("-I/usr/include") != std::string::npos);
  }
  SECTION("device features") {
    const CompileResult result =
        compile(program("__global__ void k(const float* x, float* y, cudaTextureObject_t t) {}\n"));
    CHECK(result.fault.is(FaultClass::kUnsupported));
    CHECK(result.fault.reason.find("textures") != std::string::npos);
  }
  SECTION("host functions in kernels") {
    const FrontendDevice device =
        device_part(impatient_frontend(),
                    "float f(float x) { return x; }\n"
                    "__global__ void k(const float* x, float* y) { *y = f(*x); }\n");
    CHECK(device.fault.is(FaultClass::kCompile));
    CHECK(device.fault.reason.find("host function 'f'") != std::string::npos);
  }
  SECTION("text without measure") {
    CudaProgram large = program(kDouble);
    large.cpp_sources.push_back("//" + std::string(300 << 10, 'x'));
    const CompileResult result = compile(large);
    CHECK(result.fault.is(FaultClass::kExtract));
    CudaProgram small = program(kDouble);
    CHECK(compiler().compile(small, {}, (256 << 10) - source_bytes(small)).module);
    CHECK(
        compiler().compile(small, {}, (256 << 10) - source_bytes(small) + 1).fault.is(FaultClass::kExtract));
  }
}

TEST_CASE("no file of the machine gets into what is said") {
  REQUIRE(read_file("/etc/passwd").find("root:") != std::string::npos);
  const std::string tail = "\n" + kDouble;
  for (const std::string text :
       {"#include \"/etc/passwd\"", "#include </etc/passwd>", "#include_next </etc/passwd>",
        "#include \"../../../../../etc/passwd\"", "#include \"/proc/self/environ\"",
        "#include \"/proc/self/root/etc/passwd\"", "#include \"/dev/fd/0\"", "#include \"/box/zygote.py\"",
        "#embed \"/etc/passwd\"", "#embed </etc/passwd>", "#define F \"/etc/passwd\"\n#include F",
        "#line 1 \"/etc/passwd\"\nthis is wrong", "# 1 \"/etc/passwd\"\nthis is wrong",
        "__device__ const char c[] = {\n#embed \"/etc/passwd\"\n};",
        "#pragma include_alias(\"a\", \"/etc/passwd\")\n#include \"a\""}) {
    INFO(text);
    const FrontendDevice device = device_part(impatient_frontend(), text + tail);
    INFO(device.fault.reason);
    CHECK(device.fault.is(FaultClass::kCompile));
    CHECK(device.fault.reason.find("root:") == std::string::npos);
    CHECK(device.fault.reason.find("import") == std::string::npos);
  }
  // What is there at all?
  for (const std::string name :
       {"/etc/passwd", "/proc/self/environ", "/proc/1/environ", "/usr/include/stdio.h", "/box/zygote.py",
        "/nvrtc/libnvrtc.so.13", "../etc/passwd"}) {
    INFO(name);
    const FrontendDevice device = device_part(
        impatient_frontend(), "#if __has_include(\"" + name + "\")\n#error there\n#endif\n" + kDouble);
    CHECK(device.fault.reason == "");
  }
  const FrontendDevice assembly =
      device_part(impatient_frontend(),
                  "__global__ void k(const float* x, float* y) { asm(\".incbin \\\"/etc/passwd\\\";\"); }\n");
  CHECK(assembly.ptx.find("root:") == std::string::npos);
}

TEST_CASE("expensive headers are precompiled for the second text") {
  const std::string groups =
      "#include <cooperative_groups.h>\n"
      "__global__ void k(const float* x, float* y) {\n"
      "  auto block = cooperative_groups::this_thread_block();\n"
      "  block.sync();\n  y[block.thread_rank()] = *x;\n}\n";
  const FrontendDevice first = device_part(impatient_frontend(), groups),
                       second = device_part(impatient_frontend(), groups);
  CHECK(first.fault.reason == "");
  CHECK((second.ptx == first.ptx && !first.ptx.empty()));
}

TEST_CASE("a header's lines are not shown") {
  const FrontendDevice device =
      device_part(impatient_frontend(),
                  "#include <cuda_fp16.h>\n"
                  "__global__ void k(const float* x, float* y) { *y = __hadd(1, \"a\"); }\n");
  CHECK(device.fault.is(FaultClass::kCompile));
  INFO(device.fault.reason);
  CHECK(device.fault.reason.find("__CUDA_FP16_DECL__") == std::string::npos);
  CHECK(device.fault.reason.find("/cuda") == std::string::npos);
}

TEST_CASE("text that kills or stalls the compiler is at fault, and the front end lives on") {
  check_alive(impatient_frontend());
  const int starts = impatient_frontend().zygote().starts();
  std::string laughs = "#define A0 1+1\n";
  for (int i = 1; i < 40; ++i)
    laughs += concat("#define A", i, " A", i - 1, "+A", i - 1, "+A", i - 1, "+A", i - 1, "\n");
  const std::vector<std::string> texts = {
      "__device__ int deep = " + std::string(60000, '(') + "1" + std::string(60000, ')') + ";\n",
      "__device__ int deep() " + std::string(60000, '{') + std::string(60000, '}') + "\n",
      repeated("namespace a {", 8000),
      "__device__ int* " + std::string(100000, '*') + " p;\n",
      laughs + "__device__ int laughs = A39;\n",
      "template <int N> struct T { using L = typename T<2 * N>::L; using R = typename T<2 * N + 1>::R; };\n"
      "T<1> t;\n",
      "template <int N> constexpr long f() { return f<N - 1>() + f<N - 2>(); }\n"
      "template <class... A> struct P {};\n"
      "template <int N, class... A> struct Q : Q<N - 1, A..., A..., P<A...>> {};\n"
      "__device__ Q<90, int, char> q;\n",
      "constexpr int forever() { int i = 0; for (;;) { i ^= 1; } return i; }\n"
      "__device__ int f[forever()];\n",
      "__device__ int large[1 << 28] = {1};\n__device__ int more[1 << 28] = {2};\n"
      "__global__ void k(float* x, float* y) { y[0] = large[0] + more[1]; }\n",
      "#include \"/dev/null\"\n#include __FILE__\n",
      "#include \"/shim/bicrl/device_prelude.h\"\n#pragma unroll 100000000\n"
      "__global__ void k(const float* x, float* y) {\n#pragma unroll\n"
      "  for (int i = 0; i < 1000000; ++i)\n#pragma unroll\n    for (int j = 0; j < 1000000; ++j) y[i] += "
      "x[j];\n"
      "}\n"};
  for (const std::string& text : texts) {
    INFO(text.substr(0, 60));
    const FrontendDevice device = device_part(impatient_frontend(), text);
    INFO(to_string(device.fault.fault_class) << ": " << device.fault.reason);
    const bool bounded = device.fault.is(FaultClass::kCompile) || device.fault.is(FaultClass::kTimeout) ||
                         device.fault.is(FaultClass::kMemory) || device.ptx.size() <= (32u << 20);
    CHECK(bounded);
    CHECK(device.fault.reason.size() <= 2000);
  }
  check_alive(impatient_frontend());
  CHECK(impatient_frontend().zygote().starts() == starts);
}

TEST_CASE("text that stalls the splitter is at fault") {
  for (const std::string& text : {repeated("k<<<", 50000), repeated("<", 200000), repeated("std::", 40000),
                                  repeated("__global__ void k(", 10000)}) {
    auto job = impatient_frontend().begin(program(text), false);
    REQUIRE(job.ok());
    CHECK_FALSE(job.value().split().fault.is_infrastructure());
  }
  check_alive(impatient_frontend());
}

TEST_CASE("a dead front end is replaced") {
  FrontendProcess& frontend = impatient_frontend();
  check_alive(frontend);
  const int starts = frontend.zygote().starts();
  auto job = frontend.begin(program(kDouble), true);
  REQUIRE(job.ok());
  kill(frontend.zygote().box_pid(), SIGSTOP);
  kill(frontend.zygote().box_pid(), SIGKILL);
  // The answer may have been on its way already.
  const FrontendSplit split = job.value().split();
  CHECK((!split.fault || split.fault.is_infrastructure()));
  for (int attempt = 0; attempt < 100 && frontend.zygote().starts() == starts; ++attempt)
    frontend.begin(program(kDouble), false);
  check_alive(frontend);
  CHECK(frontend.zygote().starts() == starts + 1);
}

TEST_CASE("what is missing is named with its remedy") {
  const testing::TemporaryFolder folder;
  PythonInstall bare;
  bare.interpreter = "/somewhere/python3";
  bare.packages = {folder.path()};
  const auto complaint = [&] {
    try {
      DeviceToolchain::find(bare);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kUnavailable);
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(complaint().find("nvidia-cuda-nvrtc") != std::string::npos);
  const auto wheel = folder.path() / "nvidia" / "cu13";
  for (const char* file : {"lib/libnvrtc.so.13", "lib/libnvrtc-builtins.so.13.0", "include/cuda_fp16.h",
                           "include/cooperative_groups.h", "include/curand_kernel.h", "include/crt/mma.h"}) {
    std::filesystem::create_directories((wheel / file).parent_path());
    write_file_atomically(wheel / file, "");
  }
  CHECK(complaint().find("`/somewhere/python3 -m pip install nvidia-cuda-cccl==13.0.85`") !=
        std::string::npos);
}

TEST_CASE("published programs have PTX") {
  const std::vector<std::string> texts = published_texts();
  size_t good = 0, refused = 0;
  std::string reasons;
  for (const std::string& text : texts) {
    auto job = impatient_frontend().begin({{text}, {"torch::Tensor run();"}, {"run"}}, true);
    REQUIRE(job.ok());
    const FrontendSplit split = job.value().split();
    INFO(split.fault.reason);
    REQUIRE_FALSE(split.fault);
    if (!split.program.issues.empty()) {
      ++refused;
      continue;
    }
    const FrontendDevice device = job.value().device();
    INFO(text << device.fault.reason);
    CHECK_FALSE(device.fault.is_infrastructure());
    good += !device.fault;
    if (device.fault) reasons += device.fault.reason + "\n";
  }
  INFO(reasons);
  CHECK(good + refused == texts.size());
  CHECK(good > refused);
}

}  // namespace bicrl
