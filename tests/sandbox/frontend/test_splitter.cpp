#include "sandbox/frontend/split/splitter.h"

#include <catch2/catch_test_macros.hpp>
#include <ctime>
#include <random>

#include "sandbox/frontend/host_compiler.h"
#include "sandbox/frontend/split/splitter_rewrite.h"

namespace bicrl {
namespace {

std::string rewritten(const std::string& text) { return rewrite_host_text(TokenText(text)); }
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

SplitProgram split(const std::string& cuda, const std::string& cpp = "void f();",
                   const std::vector<std::string>& functions = {"f"}) {
  return split_cuda_source({{cuda}, {cpp}, functions});
}
std::string first_class(const SplitProgram& p) {
  return p.issues.empty() ? "" : to_string(p.issues[0].fault_class);
}

// Of this process, so that a busy machine makes no difference.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace

TEST_CASE("launches become calls") {
  CHECK(rewritten("k<<<1, 2>>>(a, b);") == "::bicrl::launch(::bicrl::LaunchConfig(1, 2), k, a, b);");
  CHECK(rewritten("k<<<g,b,s,st>>>();") == "::bicrl::launch(::bicrl::LaunchConfig(g,b,s,st), k);");
  CHECK(rewritten("ns::k<float, 4><<<dim3(1, 2), f<int>(3)>>>(x);") ==
        "::bicrl::launch(::bicrl::LaunchConfig(dim3(1, 2), f<int>(3)), ns::k<float, 4>, x);");
  CHECK(rewritten("k<std::vector<int>><<<1, 2>>>(x)") ==
        "::bicrl::launch(::bicrl::LaunchConfig(1, 2), k<std::vector<int>>, x)");
  CHECK(rewritten("return k <<< (n + 1) / 2, 64 >>> ( x );") ==
        "return ::bicrl::launch(::bicrl::LaunchConfig( (n + 1) / 2, 64 ), k,  x );");
  CHECK(rewritten("o->t[i + 1]<<<1, 2>>>(x);") ==
        "::bicrl::launch(::bicrl::LaunchConfig(1, 2), o->t[i + 1], x);");
}

TEST_CASE("bodies that only a device runs are cut") {
  CHECK(rewritten("__global__ void k(int n) { use(n); }") == "__global__ void k(int n) {}");
  CHECK(rewritten("__device__ float f(float v) { return asin(v); }") ==
        "__device__ float f(float v) { __builtin_trap(); }");
  CHECK(rewritten("__global__ void k() {\n  a;\n  b;\n}") == "__global__ void k() {\n\n\n}");
  CHECK(rewritten("template <class T>\n__device__ auto f(T v) -> decltype(v) { return v; }") ==
        "template <class T>\n__device__ auto f(T v) -> decltype(v) { __builtin_trap(); }");
  CHECK(rewritten("struct S { __device__ S(int a) : x(a), y{1} { g(); } };") ==
        "struct S { __device__ S(int a) : x(a), y{1} { __builtin_trap(); } };");
  CHECK(rewritten("#define D __device__ inline\nD int f() { return 1; }") ==
        "#define D __device__ inline\nD int f() { __builtin_trap(); }");
  CHECK(rewritten("#define K(n) __global__ void n##_k(int i) { \\\n  a; \\\n }\n") ==
        "#define K(n) __global__ void n##_k(int i) {\\\n\\\n}\n");
}

TEST_CASE("bodies that host code can run or needs stay") {
  for (const std::string text :
       {"__host__ __device__ int f() { return 1; }", "constexpr __device__ int f() { return 1; }",
        "__device__ auto f() { return 1; }", "#define HD __host__ __device__\nHD int f() { return 1; }",
        "auto l = [=] __device__(int i) { return i; };", "__device__ float x[2] = {1, 2};",
        "__device__ float (*p)(float) = f; int g() { return 1; }", "int h() { return 1; }"})
    CHECK(rewritten(text) == text);
}

TEST_CASE("directives in a body stay, with what they define") {
  const std::string out = rewritten(
      "__global__ void k() {\n#define N 4\n#pragma unroll\n  for (;;) a;\n#ifdef X\n  b;\n#endif\n}\nint y = "
      "N;\n");
  CHECK(out == "__global__ void k() {\n#define N 4\n\n\n#ifdef X\n\n#endif\n}\nint y = N;\n");
  // Tied to text outside: left alone.
  const std::string tied =
      "#ifdef X\n__global__ void k() {\n#else\n__global__ void k(int) {\n#endif\n  a;\n}\n";
  CHECK(rewritten(tied) == tied);
}

TEST_CASE("inline assembly in what is left becomes nothing") {
  CHECK(rewritten("void f() { asm volatile(\"x\" : \"=h\"(y)); }") == "void f() { ((void)0); }");
  CHECK(rewritten("asm(\".x\");") == "static_assert(true);");
}

TEST_CASE("launches behind a colon") {
  const std::string one = ": ::bicrl::launch(::bicrl::LaunchConfig(1, 2), ";
  CHECK(rewritten("case 3:k<256><<<1, 2>>>(x);") == "case 3" + one + "k<256>, x);");
  CHECK(rewritten("default:k<<<1, 2>>>();") == "default" + one + "k);");
  CHECK(rewritten("again:ns::k<<<1, 2>>>();") == "again" + one + "ns::k);");
  CHECK(rewritten("c?a<<<1, 2>>>():b<<<1, 2>>>();") ==
        "c?::bicrl::launch(::bicrl::LaunchConfig(1, 2), a)" + one + "b);");
}

TEST_CASE("what is no launch stays") {
  for (const std::string text : {"// k<<<1, 2>>>(a);\n", "/* k<<<1, 2>>>(a) */", "\"k<<<1, 2>>>(a)\"",
                                 "a << b >> c;", "R\"(k<<<1,2>>>(a))\"", "x<<<", "<<<>>>", "k<<<1, 2>>",
                                 "k<<<1, 2>>>;", "vector<vector<vector<int>>> v;", "'\\'' k"})
    CHECK(rewritten(text) == text);
}

TEST_CASE("launches in macros keep their line continuations") {
  const std::string out = rewritten("#define L(K) K<<<1, \\\n 2>>>(a, \\\n b)\n");
  CHECK(out == "#define L(K) ::bicrl::launch(::bicrl::LaunchConfig(1, \\\n 2), K, a, \\\n b)\n");
}

TEST_CASE("template kernels without all arguments get a resolver") {
  const std::string out = rewritten(
      "template <typename T, int N = 4>\n__global__ void k(const T* x, T* y) { y[0] = x[N]; }\n"
      "void h() { k<<<1, 1>>>(a, b); k<float><<<1, 1>>>(a, b); k<float, 2><<<1, 1>>>(a, b); }");
  CHECK(contains(
      out,
      "inline auto bicrl_resolve_k(const T* x, T* y) { return static_cast<void (*)(const T* x, T* y)>(&k<T, "
      "N>); }"));
  CHECK(contains(out, "bicrl_resolve_k(bicrl_a...)"));
  CHECK(contains(out, "bicrl_resolve_k<float>(bicrl_a...)"));
  CHECK(contains(out, "LaunchConfig(1, 1), k<float, 2>, a, b"));
}

TEST_CASE("shared memory outside bodies that are cut") {
  CHECK(rewritten("extern __shared__ float s[];") == "float * const s = nullptr;");
  CHECK(rewritten("extern __shared__ __align__(16) unsigned char raw[];") ==
        "unsigned char * const raw = nullptr;");
}

TEST_CASE("issues") {
  CHECK(first_class(split("void f() { cublasSgemm(h); }")) == "library_call");
  CHECK(first_class(split("void f() { thrust::sort(a, b); }")) == "library_call");
  CHECK(first_class(split("int thrust = 3; // cublas\nconst char* c = \"cudnn\";")) == "");
  CHECK(first_class(split(
            "__global__ void k() { asm(\"nop;\"); curand_init(1, 2, 3, s); cub::BlockReduce<int, 1>(); }")) ==
        "");
  CHECK(first_class(split("void f() { curandCreateGenerator(&g, CURAND_RNG_PSEUDO_DEFAULT); }")) ==
        "library_call");
  CHECK(first_class(split("void f() { cub::DeviceReduce::Sum(a); }")) == "library_call");
  CHECK(first_class(split("cudaTextureObject_t t;")) == "unsupported");
  CHECK(first_class(split("", "", {"f"})) == "compile");
  CHECK(first_class(split("", "void f();", {})) == "compile");
  CHECK(first_class(split("", "void f();", {"f();system(\"x\")"})) == "compile");
  // A library call decides over what else is wrong.
  CHECK(first_class(split("__managed__ int x; cudnnCreate(&h);", "", {"f"})) == "library_call");
}

TEST_CASE("a name of the program's own that begins like a library's is no library call") {
  CHECK(first_class(split("__global__ void cublas_style_gemm_kernel(float* x) {}\n"
                          "void f() { cublas_style_gemm_kernel<<<1, 1>>>(x); }")) == "");
  CHECK(first_class(split("__global__ void cublasStyleGemm(float* x) {}\n"
                          "void f() { cublasStyleGemm<<<1, 1>>>(x); }")) == "");
  CHECK(first_class(split("void cudnnLike(torch::Tensor x) {}", "void cudnnLike(torch::Tensor x);",
                          {"cudnnLike"})) == "");
  CHECK(first_class(split(
            "struct ncclLike { int ranks; };\nvoid f() { ncclLike l; int n = 1, cufftSize = 3; }")) == "");
  CHECK(first_class(split("#define CUBLAS_TILE 32\nvoid f() { int n = CUBLAS_TILE; }")) == "");
  // A prototype defines nothing.
  CHECK(first_class(split("extern \"C\" int cublasSgemm_v2(void*);\nvoid f() { cublasSgemm_v2(h); }")) ==
        "library_call");
  CHECK(first_class(split("void f() { if (cublasCreate(&h)) { g(); } }")) == "library_call");
  CHECK(first_class(split("void f(struct cublasContext* c) {}")) == "library_call");
}

TEST_CASE("functions in cpp_sources get a unit of their own") {
  CHECK(split("").units.size() == 1);
  CHECK(split("", "int f() { return 1; }").units.size() == 2);
  CHECK(split("", "struct S { int x; }; int f(S);").units.size() == 2);
  CHECK(split("", "int f(); PYBIND11_MODULE(a, m) { m.def(\"f\", []() { return 1; }); }", {}).units.size() ==
        1);
}

TEST_CASE("a declaration's defaults go if its definition may have them") {
  const std::string text =
      split("int f(int a, int b = 2) { return b; }", "int f(int a, int b = 2);").units[0].text;
  CHECK(contains(text, "int f(int a, int b );"));
  CHECK(contains(text, "int f(int a, int b = 2) {"));
}

TEST_CASE("standard headers come only when they are named") {
  const auto text = [](const std::string& cuda) { return split(cuda).units[0].text; };
  CHECK_FALSE(contains(text("#include <vector>\nint x;"), "vector"));
  CHECK(contains(text("int x;"), "bicrl/prelude.h"));
  CHECK(contains(text("std::vector<int> v;"), "bicrl/prelude_std.h"));
  CHECK(contains(text("#include <regex>\nstd::regex r;"), "#include <regex>"));
  CHECK(contains(text("#include <complex>\nstd::complex<float> c;"), "BICRL_REAL_MATH"));
}

TEST_CASE("the standard of device code is the host part's") {
  const auto text = [](const std::vector<std::string>& flags) {
    return split_cuda_source({{"int x;"}, {"void f();"}, {"f"}, flags}).units[0].text;
  };
  CHECK(text({"-O3", "-std=c++20"}).starts_with("#include \"bicrl/prelude_20.h\""));
  CHECK(text({"--std", "gnu++20"}).starts_with("#include \"bicrl/prelude_20.h\""));
  CHECK(text({"-std=c++20", "-std=c++17"}).starts_with("#include \"bicrl/prelude.h\""));
  CHECK(text({}).starts_with("#include \"bicrl/prelude.h\""));
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
  // Brackets at the very begin have nothing before them.
  for (const std::string text : {"(", "(a)", "[", "{", ")", "<", "__device__", "__device__ (", "asm"})
    split(text, text);
  for (const std::string part : {"__device__ int f() {",
                                 "__global__ void k() {\n#if X\n",
                                 "#define D __device__\n",
                                 "asm(",
                                 "__device__ ",
                                 "<<<",
                                 ">>>",
                                 "a<",
                                 "a>",
                                 "(",
                                 "k<<<1,2>>>(",
                                 "template <class T> __global__ void k(",
                                 "{",
                                 "/*",
                                 "extern __shared__ int ",
                                 "R\"(",
                                 "k<k<k<<<",
                                 "__global__ ",
                                 "::k<<<1>>>",
                                 "cublasX("}) {
    std::string text;
    while (text.size() < 200000) text += part;
    const double before_s = cpu_seconds();
    split(text);
    INFO(part);
    CHECK(cpu_seconds() - before_s < 20);  // quadratic would take minutes
  }
}

}  // namespace bicrl
