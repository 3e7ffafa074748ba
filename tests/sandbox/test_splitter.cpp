#include "sandbox/candidate/splitter.h"

#include <catch2/catch_test_macros.hpp>
#include <ctime>
#include <random>

#include "sandbox/candidate/host_compiler.h"
#include "sandbox/candidate/splitter_rewrite.h"

namespace bicrl {
namespace {

std::string rewritten(const std::string& text) { return rewrite_device_text(TokenText(text)).text; }
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

SplitProgram split(const std::string& cuda, const std::string& cpp = "void f();",
                   const std::vector<std::string>& functions = {"f"}) {
  return split_cuda_source({{cuda}, {cpp}, functions});
}
std::string first_class(const SplitProgram& p) { return p.issues.empty() ? "" : p.issues[0].fault_class; }

// Of this process, so that a busy machine makes no difference.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace

TEST_CASE("launches become calls") {
  CHECK(rewritten("k<<<1, 2>>>(a, b);") == "::bicrl::launch(::bicrl::LaunchConfig(1, 2), \"k\", k, a, b);");
  CHECK(rewritten("k<<<g,b,s,st>>>();") == "::bicrl::launch(::bicrl::LaunchConfig(g,b,s,st), \"k\", k);");
  CHECK(rewritten("ns::k<float, 4><<<dim3(1, 2), f<int>(3)>>>(x);") ==
        "::bicrl::launch(::bicrl::LaunchConfig(dim3(1, 2), f<int>(3)), \"ns::k<float, 4>\", ns::k<float, 4>, "
        "x);");
  CHECK(rewritten("k<std::vector<int>><<<1, 2>>>(x)") ==
        "::bicrl::launch(::bicrl::LaunchConfig(1, 2), \"k<std::vector<int>>\", k<std::vector<int>>, x)");
  CHECK(rewritten("return k <<< (n + 1) / 2, 64 >>> ( x );") ==
        "return ::bicrl::launch(::bicrl::LaunchConfig( (n + 1) / 2, 64 ), \"k\", k,  x );");
}

TEST_CASE("what is no launch stays") {
  for (const std::string text : {"// k<<<1, 2>>>(a);\n", "/* k<<<1, 2>>>(a) */", "\"k<<<1, 2>>>(a)\"",
                                 "a << b >> c;", "R\"(k<<<1,2>>>(a))\"", "x<<<", "<<<>>>", "k<<<1, 2>>",
                                 "k<<<1, 2>>>;", "vector<vector<vector<int>>> v;", "'\\'' k"})
    CHECK(rewritten(text) == text);
}

TEST_CASE("launches in macros keep their line continuations") {
  const std::string out = rewritten("#define L(K) K<<<1, \\\n 2>>>(a, \\\n b)\n");
  CHECK(out == "#define L(K) ::bicrl::launch(::bicrl::LaunchConfig(1, \\\n 2), \"K\", K, a, \\\n b)\n");
}

TEST_CASE("template kernels without all arguments get a resolver") {
  const std::string out = rewritten(
      "template <typename T, int N = 4>\n__global__ void k(const T* x, T* y) { y[0] = x[N]; }\n"
      "void h() { k<<<1, 1>>>(a, b); k<float><<<1, 1>>>(a, b); k<float, 2><<<1, 1>>>(a, b); }");
  CHECK(contains(out, "inline auto bicrl_resolve_k(const T* x, T* y) { return &k<T, N>; }"));
  CHECK(contains(out, "bicrl_resolve_k(bicrl_a...)"));
  CHECK(contains(out, "bicrl_resolve_k<float>(bicrl_a...)"));
  CHECK(contains(out, "\"k<float, 2>\", k<float, 2>, a, b"));
}

TEST_CASE("shared memory") {
  CHECK(rewritten("static __shared__ float s[4];") == " __shared__ float s[4];");
  CHECK(rewritten("extern __shared__ float s[];") == "float * const s = (float *)bicrl_dynamic_shared();");
  CHECK(rewritten("extern __shared__ __align__(16) unsigned char raw[];") ==
        "unsigned char * const raw = (unsigned char *)bicrl_dynamic_shared();");
  CHECK(rewritten("__shared__ alignas(16) float s[4];") ==
        "__shared__ __attribute__((aligned(16))) float s[4];");
}

TEST_CASE("kernels are found") {
  const auto p = split(
      "__global__ void a(int x) {}\ntemplate <class T> __global__ void __launch_bounds__(256) b(T* p) {}\n"
      "extern \"C\" __global__ void c();\n// __global__ void d() {}\n");
  CHECK(p.kernels == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("issues") {
  CHECK(first_class(split("void f() { cublasSgemm(h); }")) == "library_call");
  CHECK(first_class(split("void f() { thrust::sort(a, b); }")) == "library_call");
  CHECK(first_class(split("int thrust = 3; // cublas\nconst char* c = \"cudnn\";")) == "");
  CHECK(first_class(split("__global__ void k() { asm(\"nop;\"); }")) == "unsupported");
  CHECK(first_class(split("__device__ void r(volatile float* s) {}")) == "unsupported");
  CHECK(first_class(split("__device__ void r(volatile float* s) { __syncwarp(); }")) == "");
  CHECK(first_class(split("", "", {"f"})) == "compile");
  CHECK(first_class(split("", "void f();", {})) == "compile");
  CHECK(first_class(split("", "void f();", {"f();system(\"x\")"})) == "compile");
  // A library call decides over what else is wrong.
  CHECK(first_class(split("asm(\"\"); cudnnCreate(&h);", "", {"f"})) == "library_call");
}

TEST_CASE("functions in cpp_sources get a unit of their own") {
  CHECK(split("").units.size() == 1);
  CHECK(split("", "int f() { return 1; }").units.size() == 2);
  CHECK(split("", "int f(); PYBIND11_MODULE(a, m) { m.def(\"f\", []() { return 1; }); }", {}).units.size() ==
        1);
}

TEST_CASE("standard headers come only when they are named") {
  const auto text = [](const std::string& cuda) { return split(cuda).units[0].text; };
  CHECK_FALSE(contains(text("#include <vector>\nint x;"), "vector"));
  CHECK(contains(text("int x;"), "bicrl/prelude.h"));
  CHECK(contains(text("std::vector<int> v;"), "bicrl/prelude_std.h"));
  CHECK(contains(text("#include <regex>\nstd::regex r;"), "#include <regex>"));
  CHECK(contains(text("#include <complex>\nstd::complex<float> c;"), "BICRL_REAL_MATH"));
}

TEST_CASE("any input is survived, in linear time") {
  std::mt19937 rng(7);
  const std::vector<std::string> parts = {"<<<",         ">>>",
                                          "<",           ">",
                                          "(",           ")",
                                          "{",           "}",
                                          "[",           "]",
                                          "template",    "__global__",
                                          "__shared__",  "extern",
                                          "k",           " ",
                                          "\n",          "\"",
                                          "'",           "/*",
                                          "*/",          "//",
                                          "\\\n",        ",",
                                          ";",           "R\"(",
                                          "#include",    "#",
                                          "::",          "=",
                                          "...",         "static",
                                          "alignas",     std::string(1, '\0'),
                                          "\xff",        "0x1p",
                                          "std::vector", "volatile"};
  for (int round = 0; round < 400; ++round) {
    std::string text;
    for (int i = 0; i < 300; ++i) text += parts[rng() % parts.size()];
    const auto p = split(text, text);
    CHECK(!p.units.empty());
  }
  for (const std::string part :
       {"<<<", ">>>", "a<", "a>", "(", "k<<<1,2>>>(", "template <class T> __global__ void k(", "{", "/*",
        "extern __shared__ int ", "R\"(", "k<k<k<<<", "__global__ ", "::k<<<1>>>"}) {
    std::string text;
    while (text.size() < 200000) text += part;
    const double before_s = cpu_seconds();
    split(text);
    INFO(part);
    CHECK(cpu_seconds() - before_s < 20);  // quadratic would take minutes
  }
}

TEST_CASE("compiler messages name the framework") {
  CHECK(
      classify_compile_failure("cuda_sources:3:10: error: 'relu' is not a member of 'torch'\n").fault_class ==
      "framework_fallback");
  CHECK(classify_compile_failure(
            "a:3:10: error: \u2018class at::Tensor\u2019 has no member named \u2018softmax\u2019\n")
            .fault_class == "framework_fallback");
  CHECK(classify_compile_failure(
            "a:3:1: error: no match for 'operator+' (operand types are 'at::Tensor' and 'int')\n")
            .fault_class == "framework_fallback");
  CHECK(classify_compile_failure("a:3:10: error: 'rellu' is not a member of 'torch'\n").fault_class ==
        "compile");
  CHECK(classify_compile_failure("a:3:10: error: 'x' was not declared in this scope\n").fault_class ==
        "compile");
  CHECK_FALSE(contains(classify_compile_failure("/box/secret/a.cpp:3:10: error: 'x'\n").reason, "/box"));
  CHECK(classify_compile_failure("").fault_class == "compile");
}

}  // namespace bicrl
