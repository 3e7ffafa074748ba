// What becomes of a text, without a compiler.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "sandbox/frontend/device/code_structure.h"
#include "sandbox/frontend/device/device_headers.h"
#include "sandbox/frontend/device/device_text.h"

namespace bicrl {
namespace {

// Behind the line directive.
std::string body(const std::string& text) {
  const std::string line = "#line 1 \"cuda_sources\"\n";
  const size_t at = text.find(line);
  REQUIRE(at != std::string::npos);
  return text.substr(at + line.size());
}
std::string whole(const std::string& source) { return body(whole_device_text(source)); }
std::string cut(const std::string& source) { return body(cut_device_text(source)); }

long lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::vector<CodeItem::Kind> kinds(const std::string& source) {
  const TokenText text(source);
  std::vector<CodeItem::Kind> list;
  const CodeStructure structure(text);
  for (const CodeItem& item : structure.items()) list.push_back(item.kind);
  return list;
}

using Kind = CodeItem::Kind;

}  // namespace

TEST_CASE("Items at namespace scope are told apart") {
  CHECK(kinds("#define A { \\\n (\nint a = 3;\nnamespace n { void f() { if (a) { } } }\n") ==
        std::vector<Kind>{Kind::kDirective, Kind::kDeclaration, Kind::kScopeOpen, Kind::kFunction,
                          Kind::kScopeClose});
  CHECK(kinds("struct S { int f() { return 1; } } s; enum E { a, b };") ==
        std::vector<Kind>{Kind::kType, Kind::kType});
  CHECK(kinds("template <class T, int n = (3 > 2)> __global__ void k(T* x) { }") ==
        std::vector<Kind>{Kind::kFunction});
  CHECK(kinds("MAKE(a, b)\nMAKE(c, d);\nint z;") ==
        std::vector<Kind>{Kind::kMacroCall, Kind::kDeclaration, Kind::kDeclaration});
  CHECK(kinds("int t[] = {1, 2}; auto f = [](int a) { return a; };") ==
        std::vector<Kind>{Kind::kDeclaration, Kind::kDeclaration});
  CHECK(kinds("extern \"C\" { int f(); } extern \"C\" int g();") ==
        std::vector<Kind>{Kind::kScopeOpen, Kind::kDeclaration, Kind::kScopeClose, Kind::kDeclaration});
  CHECK(kinds("void f() try { } catch (int) { } catch (...) { } int a;") ==
        std::vector<Kind>{Kind::kFunction, Kind::kDeclaration});
  CHECK(kinds("__global__ void __launch_bounds__(256) k(int a) {}") == std::vector<Kind>{Kind::kFunction});
}

TEST_CASE("Alternatives of the preprocessor may each open the same bracket") {
  CHECK(kinds("void f() {\n#if A\n if (a) {\n#else\n if (b) {\n#endif\n }\n}\nint z;\n") ==
        std::vector<Kind>{Kind::kFunction, Kind::kDeclaration});
  CHECK(kinds("#ifdef A\nvoid f(int a) {\n#else\nvoid f() {\n#endif\n}\nint z;\n").back() ==
        Kind::kDeclaration);
}

TEST_CASE("Broken text has a structure as well") {
  for (const std::string source :
       {"}}}{{{", "((((", "template <", "namespace", "extern \"C\" {", "#", "a(", "struct S {", "try",
        "catch (", "throw", "k<<<", "<<<>>>(", "#define", "\\", "\"abc", "/*"}) {
    INFO(source);
    CHECK(lines(whole(source)) == lines(source) + 1);
    CHECK(lines(cut(source)) == lines(source) + 1);
  }
}

TEST_CASE("Lines keep their numbers") {
  const std::string source =
      "#include <torch/extension.h>\nint a() {\n try {\n f();\n } catch (...) {\n g();\n "
      "}\n}\nPYBIND11_MODULE(m, n) {\n "
      "x();\n}\n";
  CHECK(lines(whole(source)) == lines(source) + 1);
  CHECK(lines(cut(source)) == lines(source) + 1);
}

TEST_CASE("Launches stay as they are") {
  const std::string source =
      "void f(float* x) { k<float><<<1, dim3(2), 0, s>>>(x); }\n#define L(K) K<<<1, 1>>>(0)\n";
  CHECK(whole(source) == source + "\n");
}

TEST_CASE("Exceptions go") {
  CHECK(whole("void f() { try { a(); } catch (const E& e) { b(); } catch (...) { c(); } }") ==
        "void f() {  { a(); }   }\n");
  CHECK(whole("int f(int a) { return a ? a : throw E(\"throw\"); }") ==
        "int f(int a) { return a ? a : ::bicrl::Thrown() = E(\"throw\"); }\n");
  CHECK(whole("void f() { throw; }") == "void f() { ::bicrl::Thrown(); }\n");
  CHECK(whole("void f() throw();") == "void f() noexcept;\n");
  CHECK(whole("#define C(x) try { x; } catch (...) { y(); }\n") == "#define C(x)  { x; }     \n\n");
  // Not a word of the language there.
  CHECK(whole("// try { throw\nint retry, catcher; const char* s = \"try { }\";") ==
        "// try { throw\nint retry, catcher; const char* s = \"try { }\";\n");
}

TEST_CASE("Registrations go, and variables of host functions are not static") {
  CHECK(whole("PYBIND11_MODULE(m, n) { n.def(\"f\", &f); }\nint a;") == "\nint a;\n");
  CHECK(whole("TORCH_LIBRARY_FRAGMENT(m, n) { }\nint a;") == "\nint a;\n");
  CHECK(whole("int f() { static int n = g(); static constexpr int m = 1; return n; }") ==
        "int f() {  int n = g(); static constexpr int m = 1; return n; }\n");
  CHECK(whole("__device__ int f() { static const int t[] = {1}; return t[0]; }") ==
        "__device__ int f() { static const int t[] = {1}; return t[0]; }\n");
  CHECK(whole("static int a; thread_local int b;") == "static int a;  int b;\n");
}

TEST_CASE("Lambdas lose their annotations") {
  CHECK(whole("auto f = [=] __host__ __device__(int a) { return a; };") ==
        "auto f = [=]  (int a) { return a; };\n");
  CHECK(whole("__device__ int f(); __host__ int g();") == "__device__ int f(); __host__ int g();\n");
}

TEST_CASE("Headers that the shim stands for are not read") {
  CHECK(
      whole(
          "#include <torch/extension.h>\n  # include <ATen/cuda/CUDAContext.h> // x\n#include <vector>\n") ==
      "\n  \n\n\n");
  CHECK(whole("#include <cuda_fp8.h>\n#include \"mine.h\"\n") ==
        "#include <cuda_fp8.h>\n#include \"mine.h\"\n\n");
  CHECK(contains(whole_device_text("#include <mma.h>"), "#include <mma.h>\n"));
  CHECK(contains(whole_device_text("#include <cuda_fp16.h>\n__half h;"), "#include <cuda_fp16.h>\n"));
  CHECK(!contains(whole_device_text("#include <cuda_fp16.h>\nfloat h;"), "cuda_fp16"));
  const std::string cub =
      whole_device_text("#include <cub/cub.cuh>\ncub::BlockReduce<float, 32> r; cub::WarpScan<int> s;");
  CHECK(contains(cub, "#include <cub/block/block_reduce.cuh>\n"));
  CHECK(contains(cub, "#include <cub/warp/warp_scan.cuh>\n"));
  CHECK(!contains(cub, "cub.cuh"));
}

TEST_CASE("Macros that tell the compilers apart are nvcc's") {
  const std::string text = whole_device_text(
      "#if defined(__GLIBC__) && !defined(__CUDACC_RTC__)\nint EOF_count, a = EOF;\n#endif\n");
  CHECK(text.find("defined(bicrl___GLIBC__) && !defined(bicrl___CUDACC_RTC__)") != std::string::npos);
  CHECK(text.find("int EOF_count, a = bicrl_EOF;") != std::string::npos);
  CHECK(text.find("#define bicrl___GLIBC__ 2\n") != std::string::npos);
  CHECK(text.find("#define bicrl___CUDACC_RTC__") == std::string::npos);
}

TEST_CASE("Questions for headers are answered as by an installation") {
  const auto answered = [](const std::string& question) {
    const TokenText text("#if " + question + "\n");
    TextEdits edits;
    answer_include_questions(text, edits);
    return edits.apply(text.text());
  };
  CHECK(answered("__has_include(<ATen/native/cuda/Loops.cuh>)") == "#if 1\n");
  CHECK(answered("__has_include( \"torch/extension.h\" ) && A") == "#if 1 && A\n");
  CHECK(answered("__has_include(<vector>)") == "#if 1\n");
  for (const std::string question : {"__has_include(<cutlass/gemm.h>)", "__has_include(<nothing.h>)",
                                     "__has_include(NAME)", "__has_include(<torch/extension.h>"}) {
    INFO(question);
    CHECK(answered(question) == "#if " + question + "\n");
  }
}

TEST_CASE("A colon stays apart from a name that begins with two") {
  CHECK(contains(whole("void f(int a) { switch (a) { default:throw 1; } }"), "default: ::bicrl::Thrown()"));
  CHECK(contains(whole("int f(int a) { return a ? 1:throw 1; }"), "1: ::bicrl::Thrown()"));
}

TEST_CASE("Parts of the shim come if they are named") {
  CHECK(needed_includes(TokenText("float x;")) == "#include \"bicrl/device_prelude.h\"\n");
  CHECK(contains(needed_includes(TokenText("std::vector<int> x;")), "bicrl/vectors.h"));
  CHECK(!contains(needed_includes(TokenText("// std::vector")), "bicrl/vectors.h"));
}

TEST_CASE("Names of libraries are declared") {
  const std::string text = library_declarations(TokenText(
      "cublasHandle_t h; cublasCreate(&h); CUBLAS_OP_N; struct cudnnMine_t {}; void cublas_mine();"));
  CHECK(contains(text, "using cublasHandle_t = "));
  CHECK(contains(text, " cublasCreate(A&&...);"));
  CHECK(contains(text, "Opaque CUBLAS_OP_N{};"));
  CHECK(!contains(text, "cudnnMine_t"));
  CHECK(!contains(text, "cublas_mine"));
}

TEST_CASE("The cut text has no host functions") {
  CHECK(cut("int helper(int a) { return a; }\n__device__ int twice(int a) { return 2 * a; }\n") ==
        "\n__device__ int twice(int a) { return 2 * a; }\n\n");
  CHECK(cut("constexpr int up(int a) { return a + 1; }") == "constexpr int up(int a) { return a + 1; }\n");
  CHECK(cut("torch::Tensor f(torch::Tensor x);\nstatic int state = 3;\nconst int n = 4;") ==
        "\n\nconst int n = 4;\n");
  CHECK(cut("namespace cg = cooperative_groups; using T = float; typedef int I; struct S;") ==
        "namespace cg = cooperative_groups; using T = float; typedef int I; struct S;\n");
  CHECK(cut("template <class T> void host(T x) { k<<<1, 1>>>(x); }") == "\n");
  CHECK(cut("template <class T> struct Op { T v; };") == "template <class T> struct Op { T v; };\n");
  CHECK(cut("extern __shared__ float tile[];") == "extern __shared__ float tile[];\n");
  CHECK(cut("namespace a { void f() {} __constant__ int c; }") == "namespace a {  __constant__ int c; }\n");
  const std::string macro = "#define K(n) __global__ void n() {}\n#define H(n) void n() {}\n";
  CHECK(cut(macro + "K(a)\nH(b)\nK(c);\nH(d);\n") == macro + "K(a)\n\nK(c);\n\n\n");
  CHECK(cut("template __global__ void k<float>(float*);") == "template __global__ void k<float>(float*);\n");
}

TEST_CASE("The cut text names again what host functions launch") {
  const std::string kernel = "template <class T, int N = 4> __global__ void k(T* x) {}\n";
  CHECK(contains(cut(kernel + "void f() { k<float, 8><<<1, 1>>>(0); }"), "(void)&k<float, 8>;"));
  CHECK(contains(cut(kernel + "void f() { k<float><<<1, 1>>>(0); }"), "(void)&k<float>;"));
  // Deduced, dependent or local.
  CHECK(!contains(cut(kernel + "void f() { k<<<1, 1>>>(p); }"), "(void)&"));
  CHECK(!contains(cut(kernel + "template <class T> void f() { k<T><<<1, 1>>>(0); }"), "(void)&"));
  CHECK(!contains(cut(kernel + "void f() { using U = decltype(g()); k<U><<<1, 1>>>(0); }"), "(void)&"));
  CHECK(contains(cut(kernel + "void f() { const int tile = 32; k<int, tile><<<1, 1>>>(0); }"),
                 "(void)&k<int, 32>;"));
  CHECK(contains(cut("constexpr int W = 3;\n" + kernel + "void f() { k<int, W><<<1, 1>>>(0); }"),
                 "(void)&k<int, W>;"));
  const std::string dispatch =
      cut(kernel + "void f() { AT_DISPATCH_FLOATING_TYPES(t, \"k\", [&] { k<scalar_t><<<1, 1>>>(0); }); }");
  CHECK(contains(dispatch, "(void)&k<float>;"));
  CHECK(contains(dispatch, "(void)&k<double>;"));
}

TEST_CASE("What device code cannot express is named") {
  CHECK(unsupported_device_feature("__global__ void k(cudaTextureObject_t t) {}") ==
        "textures (cudaTextureObject_t, line 1)");
  CHECK(unsupported_device_feature("\n__managed__ int a;") == "managed memory (__managed__, line 2)");
  CHECK(unsupported_device_feature("int texture = 3; // tex2D") == "");
}

TEST_CASE("Sources are joined into one text") {
  CHECK(join_cuda_sources({"a", std::string("b\0c", 3)}) == "a\nb c\n");
}

TEST_CASE("Text work takes time in proportion to the text") {
  // A second each would be far more than a hundred passes over a megabyte.
  for (const std::string unit :
       {"k<a><<<", "try { } catch (", "template <", "f(){", "#if A\n{\n#else\n{\n#endif\n", "throw ",
        "x = 3; ", "#define A try { } catch (int) {\n", "struct a{ "}) {
    std::string source = "template <class T> __global__ void k(T) {}\nvoid f() {";
    while (source.size() < 300000) source += unit;
    INFO(unit);
    CHECK(whole_device_text(source).size() > 0);
    CHECK(cut_device_text(source).size() > 0);
  }
}

}  // namespace bicrl
