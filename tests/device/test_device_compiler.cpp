// Texts through NVRTC: that they compile, what entries come out, and that the machine can lower them.
#include <link.h>

#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <filesystem>
#include <map>

#include "common/files/files.h"
#include "sandbox/frontend/device/device_flags.h"
#include "sandbox/frontend/device/device_headers.h"
#include "sandbox/frontend/device/device_text.h"
#include "sandbox/frontend/device/entry_names.h"
#include "tests/device/device_support.h"
#include "tests/support/cuda_wheel.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

using testing::device_compiler;

const std::vector<std::string> kFlags = read_device_flags({}).options;

DeviceCode compile_whole(const std::string& source, const std::vector<std::string>& flags = kFlags) {
  return device_compiler().compile(whole_device_text(source), flags);
}

}  // namespace

TEST_CASE("Every own program becomes PTX that the machine can lower") {
  // By program: the number of entries.
  const std::map<std::string, size_t> expected = {{"accessors", 2},
                                                  {"anonymous_and_static", 5},
                                                  {"bfloat", 1},
                                                  {"bindings", 1},
                                                  {"constants_and_tables", 1},
                                                  {"cooperative_groups", 1},
                                                  {"cub_block_reduce", 1},
                                                  {"default_arguments", 3},
                                                  {"dispatch_macro", 4},
                                                  {"exceptions", 1},
                                                  {"explicit_instantiation", 2},
                                                  {"extern_c", 2},
                                                  {"framework_operators", 1},
                                                  {"function_attributes", 2},
                                                  {"global_host_state", 1},
                                                  {"half_pairs", 2},
                                                  {"host_containers", 1},
                                                  {"inline_ptx", 1},
                                                  {"joined_sources", 2},
                                                  {"lambda_argument", 2},
                                                  {"launch_functions", 4},
                                                  {"library_calls", 1},
                                                  {"macro_kernels", 4},
                                                  {"namespaces_and_overloads", 3},
                                                  {"pointer_tables", 5},
                                                  {"prints_and_asserts", 1},
                                                  {"random_numbers", 1},
                                                  {"streams_and_events", 1},
                                                  {"template_launcher", 2},
                                                  {"tensor_cores", 1},
                                                  {"small_float_headers", 6},
                                                  {"usual_host_part", 4},
                                                  {"vector_loads", 1}};
  size_t seen = 0;
  for (const auto& program : testing::own_programs()) {
    INFO(program.name);
    REQUIRE(expected.count(program.name) == 1);
    CHECK(unsupported_device_feature(program.text) == "");
    const CompiledText result =
        compile_device_program(device_compiler(), program.text, read_device_flags({}));
    INFO(result.code.log);
    REQUIRE(result.code.ok);
    // Only tensor mathematics in the host part needs the cut.
    CHECK(result.cut == (program.name == "framework_operators"));
    CHECK(testing::entries_of(result.code.ptx).size() == expected.at(program.name));
    // Asynchronous copies are read, and not computed yet.
    if (program.name != "small_float_headers") testing::check_lowers(result.code.ptx);
    ++seen;
  }
  CHECK(seen == expected.size());
}

TEST_CASE("The cut text of own programs compiles as well") {
  for (const auto& program : testing::own_programs()) {
    // Headers of a second and more have their turn above.
    if (program.name == "cub_block_reduce" || program.name == "random_numbers" ||
        program.name == "cooperative_groups")
      continue;
    INFO(program.name);
    const DeviceCode code = device_compiler().compile(cut_device_text(program.text), kFlags);
    INFO(code.log);
    CHECK(code.ok);
  }
}

TEST_CASE("Published programs become PTX that the machine can lower") {
  size_t with_kernels = 0, whole = 0;
  for (const auto& program : testing::published_programs()) {
    if (program.text.empty()) continue;
    ++with_kernels;
    INFO(program.name);
    const CompiledText result =
        compile_device_program(device_compiler(), program.text, read_device_flags({}));
    INFO(result.code.log);
    REQUIRE(result.code.ok);
    whole += !result.cut;
    CHECK(!testing::entries_of(result.code.ptx).empty());
    testing::check_lowers(result.code.ptx);
    // The cut keeps what the whole text has, but for what the text alone does not show.
    const DeviceCode cut = device_compiler().compile(cut_device_text(program.text), kFlags);
    INFO(cut.log);
    CHECK(cut.ok);
    CHECK(testing::entry_keys_of(cut.ptx) == testing::entry_keys_of(result.code.ptx));
  }
  CHECK(with_kernels == 49);
  CHECK(whole >= 48);
}

TEST_CASE("An entry has the name that g++ gives the instance") {
  const std::string text = read_file(testing::source_path("tests/device/names/instances.cu"));
  const std::string host = read_file(testing::source_path("tests/device/names/host_stand_in.h"));
  const DeviceCode code = compile_whole(text);
  INFO(code.log);
  REQUIRE(code.ok);
  std::multiset<std::string> keys;
  for (const std::string& symbol : testing::host_symbols(host + text)) keys.insert(entry_key(symbol));
  const std::set<std::string> entries = testing::entries_of(code.ptx);
  CHECK(entries.size() == 33);
  for (const std::string& entry : entries) {
    INFO(entry);
    CHECK(keys.count(entry_key(entry)) == 1);
  }
}

TEST_CASE("The log names lines of the candidate's text") {
  const DeviceCode code =
      compile_whole("#include <torch/extension.h>\n\n__global__ void k(float* x) {\n  x[0] = y;\n}\n");
  CHECK(!code.ok);
  CHECK(code.log.find("cuda_sources(4): error: identifier \"y\" is undefined") != std::string::npos);
  CHECK(code.log.find("x[0] = y;") != std::string::npos);
}

TEST_CASE("A launch is checked against the kernel") {
  const std::string kernel = "__global__ void k(float* x, int n) { x[n] = 0; }\n";
  CHECK(compile_whole(kernel + "void f(float* x) { k<<<1, 32>>>(x, 3); }").ok);
  CHECK(!compile_whole(kernel + "void f(float* x) { k<<<1, 32>>>(x); }").ok);
  CHECK(!compile_whole(kernel + "void f(double* x) { k<<<1, 32>>>(x, 3); }").ok);
  CHECK(!compile_whole(kernel + "void f(float* x) { k<<<x, 32>>>(x, 3); }").ok);
}

TEST_CASE("Kernels that nothing launches are kept, host functions are not") {
  const DeviceCode code = compile_whole(
      "__global__ void kept(float* x) { x[0] = 1; }\ntemplate <class T> __global__ void gone(T* x) { x[0] = "
      "1; }\n"
      "float host(std::vector<float> v) { return v[0]; }\n");
  REQUIRE(code.ok);
  CHECK(testing::entries_of(code.ptx) == std::set<std::string>{"_Z4keptPf"});
  CHECK(code.ptx.find(".func") == std::string::npos);
}

// ptxas 13.0 stores the low byte of a register that holds an fp16 as that value converted to a whole number,
// so half an atomic operation by way of bytes in memory is right by the manual and wrong on a device.
TEST_CASE("Atomic operations on narrow types do not go by way of memory") {
  for (const char* type : {"c10::Half", "c10::BFloat16", "short", "unsigned char"}) {
    const auto program =
        compile_device_program(device_compiler(),
                               concat("#include <ATen/cuda/Atomic.cuh>\n__global__ void k(", type, "* y, ",
                                      type, " v) { gpuAtomicAdd(y + threadIdx.x, v); gpuAtomicMax(y, v); }"),
                               read_device_flags({}));
    INFO(type << ": " << program.code.log);
    REQUIRE(program.code.ok);
    CHECK(program.code.ptx.find("atom.cas") != std::string::npos);
    CHECK(program.code.ptx.find(".local") == std::string::npos);
  }
}

TEST_CASE("Flags have their effect") {
  const std::string source = "__global__ void k(float* x) { x[0] = sinf(x[1]) / x[2] + SHIFT; }";
  CHECK(!compile_whole(source).ok);
  const DeviceFlags flags = read_device_flags({"-DSHIFT=3", "--use_fast_math", "-O2"});
  REQUIRE(flags.refused == "");
  const DeviceCode code = compile_device_program(device_compiler(), source, flags).code;
  REQUIRE(code.ok);
  CHECK(code.ptx.find("sin.approx.ftz.f32") != std::string::npos);
  CHECK(!compile_whole("template <class T> concept C = true;").ok);
  CHECK(compile_whole("template <class T> concept C = true;", read_device_flags({"-std=c++20"}).options).ok);
}

TEST_CASE("The compiler takes the tables that lie beside it, whether the linker knows of others or of none") {
  REQUIRE(compile_whole("__global__ void k(float* x) { x[0] = 1; }").ok);
  std::vector<std::filesystem::path> loaded;
  dl_iterate_phdr(
      [](dl_phdr_info* library, size_t, void* found) {
        if (strstr(library->dlpi_name, "libnvrtc-builtins"))
          static_cast<decltype(loaded)*>(found)->push_back(library->dlpi_name);
        return 0;
      },
      &loaded);
  REQUIRE(loaded.size() == 1);
  CHECK(loaded[0].parent_path() == testing::cuda_wheel().compiler.parent_path());
}

TEST_CASE("Too much PTX is refused") {
  DeviceCompilerOptions options;
  options.library = "/nowhere/libnvrtc.so";
  CHECK(!DeviceCompiler::load(options).ok());
  const std::string source = "__global__ void k(float* x) { x[0] = 1; }";
  const DeviceCode limited = testing::limited_compiler(100).compile(whole_device_text(source), kFlags);
  CHECK(!limited.ok);
  CHECK(limited.ptx.empty());
  CHECK(limited.log.find("too large") != std::string::npos);
}

TEST_CASE("Headers that were precompiled change nothing") {
  const testing::TemporaryFolder folder;
  DeviceCompiler compiler = testing::limited_compiler(size_t{1} << 20);
  const std::string prelude = "#include \"bicrl/device_prelude.h\"\n";
  for (const std::string& includes : {prelude, prelude + "#include <cuda_fp16.h>\n"})
    CHECK(compiler.precompile(includes, kFlags, folder.path().string()) == "");
  CHECK(compiler.precompile("#include \"nothing.h\"\n", kFlags, folder.path().string()) != "");
  for (const auto& program : testing::own_programs()) {
    if (program.name != "half_pairs" && program.name != "dispatch_macro" && program.name != "host_containers")
      continue;
    INFO(program.name);
    const std::string text = whole_device_text(program.text);
    const DeviceCode plain = device_compiler().compile(text, kFlags), ready = compiler.compile(text, kFlags);
    INFO(ready.log);
    CHECK(ready.ok);
    CHECK(ready.log == "");
    CHECK(testing::entries_of(ready.ptx) == testing::entries_of(plain.ptx));
  }
  const DeviceCode refused = compiler.compile(whole_device_text("\n__global__ void k() { y; }"), kFlags);
  CHECK(refused.log.substr(0, 15) == "cuda_sources(2)");
}

TEST_CASE("Textures are named as what is missing") {
  const std::string folder = testing::source_path("tests/device/unsupported/").string();
  CHECK(unsupported_device_feature(read_file(folder + "texture.cu")).find("textures") == 0);
}

TEST_CASE("Small floats of torch have its arithmetic") {
  const DeviceCode code = compile_whole(
      "__global__ void k(at::Half* h, at::BFloat16* b, float* f) {\n"
      "  h[0] = h[1] * h[2] + 1; h[0] += h[3]; f[0] = h[1] + 1.5f; f[1] += h[4]; b[0] = -b[1] / b[2];\n"
      "  b[3] = static_cast<at::BFloat16>(std::numeric_limits<at::BFloat16>::lowest()); f[2] = h[0] < h[1] ? "
      "1.f : 2.f;\n"
      "}\n");
  INFO(code.log);
  REQUIRE(code.ok);
  testing::check_lowers(code.ptx);
}

TEST_CASE("Overloaded kernels keep their entries apart") {
  for (const auto& program : testing::own_programs()) {
    if (program.name != "namespaces_and_overloads") continue;
    const DeviceCode code = compile_whole(program.text);
    REQUIRE(code.ok);
    const std::set<std::string> entries = testing::entries_of(code.ptx);
    CHECK(entries ==
          std::set<std::string>{"_ZN3ops5applyEPfi", "_ZN3ops5applyEPdi", "_ZN3ops5applyIfEEvPPT_i"});
  }
}

TEST_CASE("A text that cannot ask for the architecture has the same PTX for each") {
  std::vector<testing::NamedText> programs = testing::own_programs();
  for (testing::NamedText& program : testing::published_programs()) programs.push_back(std::move(program));
  size_t same = 0, other = 0;
  for (const auto& program : programs) {
    if (program.text.empty()) continue;
    const std::string text = whole_device_text(program.text);
    if (may_ask_for_architecture(text)) {
      ++other;
      continue;
    }
    INFO(program.name);
    const DeviceCode usual = device_compiler().compile(text, kFlags);
    if (!usual.ok) continue;
    for (const char* architecture : {"sm_80", "sm_89"}) {
      INFO(architecture);
      const DeviceCode there = device_compiler().compile(text, kFlags, architecture);
      REQUIRE(there.log == "");
      CHECK_FALSE(there.machine_code.empty());
      CHECK(there.ptx != usual.ptx);
      CHECK(device_compiler().retargeted(there.ptx) == usual.ptx);
    }
    ++same;
  }
  CHECK(same >= 30);
  CHECK(other >= 3);
}

TEST_CASE("What may tell architectures apart is seen") {
  const auto asks = [](const std::string& text) {
    return may_ask_for_architecture(
        whole_device_text(text + "\n__global__ void k(float* x) { x[0] = 1; }\n"));
  };
  CHECK_FALSE(asks("#include <torch/extension.h>\n#include <cuda_runtime.h>\n#include <algorithm>"));
  CHECK_FALSE(asks("// __CUDA_ARCH__\nconst char* text = \"__CUDA_ARCH__ ##\";"));
  CHECK(asks("#if __CUDA_ARCH__ >= 900\n#endif"));
  CHECK(asks("#if __CUDA_AR\\\nCH__ >= 900\n#endif"));
  CHECK(asks("#define NAME(x) __CUDA_##x"));
  CHECK(asks("%:define NAME(x) x"));
  CHECK(asks("#include <cuda_fp16.h>\n__half h;"));
  CHECK(asks("# /**/ include <nv/target>"));
  CHECK(asks("__device__ void f() { asm(\"\"); }"));
  CHECK(asks("extern \"C\" __device__ int __nvvm_reflect(const char*);"));
}

TEST_CASE("Every common beginning of include lines can be precompiled, and is one") {
  DeviceCompiler compiler = testing::limited_compiler(DeviceCompilerOptions().max_ptx_bytes);
  const testing::TemporaryFolder folder;
  const std::vector<CommonIncludes> common = common_includes();
  const std::vector<std::string> headers = {"",
                                            "#include <cuda_fp16.h>\n__half h;",
                                            "#include <mma.h>",
                                            "#include <cooperative_groups/reduce.h>",
                                            "#include <cub/cub.cuh>\nnamespace c = cub;",
                                            "#include <curand_kernel.h>"};
  REQUIRE(common.size() == headers.size());
  for (size_t i = 0; i < common.size(); ++i) {
    INFO(common[i].lines);
    CHECK(compiler.precompile(common[i].lines, kFlags, folder.path().string()) == "");
    CHECK(headers[i].find(common[i].word) != std::string::npos);
    CHECK(needed_includes(TokenText(headers[i] + "\n__global__ void k() {}\n")) == common[i].lines);
  }
}

TEST_CASE("Headers of the host alone hinder nobody") {
  const CompiledText program = compile_device_program(
      device_compiler(),
      "#include <dlfcn.h>\n#include <signal.h>\n#include <sys/mman.h>\n#include <regex>\n"
      "__global__ void k(float* x) { x[0] = 1; }\n"
      "void* f() { return dlopen(\"x\", RTLD_NOW); }\n",
      read_device_flags({}));
  INFO(program.code.log);
  CHECK(program.code.ok);
  CHECK(program.cut);
}

TEST_CASE("Asynchronous copies of groups can be included") {
  const DeviceCode code = compile_whole(
      "#include <cooperative_groups.h>\n#include <cooperative_groups/memcpy_async.h>\n#include <cstdint>\n"
      "__global__ void k(uint64_t* x) {\n"
      "  __shared__ uint64_t y[32];\n"
      "  auto block = cooperative_groups::this_thread_block();\n"
      "  cooperative_groups::memcpy_async(block, y, x, sizeof y);\n"
      "  cooperative_groups::wait(block);\n"
      "  x[threadIdx.x] = y[31 - threadIdx.x];\n"
      "}\n");
  INFO(code.log);
  CHECK(code.ok);
}

TEST_CASE("Macros of the flags stand behind the headers") {
  const DeviceFlags flags = read_device_flags({"-DN=3", "-D", "WIDE", "-DGONE=1", "-UGONE"});
  const CompiledText program = compile_device_program(
      device_compiler(),
      "#if N != 3 || WIDE != 1 || defined(GONE) || __LINE__ != 1\n#error macros\n#endif\n"
      "__global__ void k(float* x) { x[0] = N; }\n",
      flags);
  INFO(program.code.log);
  CHECK(program.code.ok);
  CHECK_FALSE(program.cut);
}

}  // namespace bicrl
