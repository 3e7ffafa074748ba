#include <catch2/catch_test_macros.hpp>
#include <initializer_list>
#include <string>

#include "sandbox/frontend/device/host_calls.h"
#include "tests/device/device_support.h"

namespace bicrl {

TEST_CASE("A host function that a kernel calls is found") {
  CHECK(host_call_in_device_code(
            "float gelu(float x) { return x; }\n__global__ void k(float* x) {\n x[0] = gelu(x[1]); }") ==
        "device code calls the host function 'gelu' (line 3)");
  CHECK(host_call_in_device_code("template <class T> static inline T twice(T x) { return x + x; "
                                 "}\n__device__ float f(float x) { return twice(x); }") ==
        "device code calls the host function 'twice' (line 2)");
}

TEST_CASE("Calls that nvcc takes are no host calls") {
  const std::string kernel = "__global__ void k(float* x) { x[0] = f(x[1]); }\n";
  for (const std::string definition :
       {"__device__ float f(float x) { return x; }\n", "__host__ __device__ float f(float x) { return x; }\n",
        "constexpr float f(float x) { return x; }\n", "#define f(x) (x)\nfloat g() { return 0; }\n",
        "__device__ float f(float x);\n float f(float x) { return x; }\n",
        "torch::Tensor f(torch::Tensor x) { return x; }\n",
        "struct f { __device__ f(float); operator float(); };\n",
        "float f(float x) { return x; }\n__device__ double f(double x) { return x; }\n"}) {
    INFO(definition);
    CHECK(host_call_in_device_code(definition + kernel) == "");
  }
  const std::string host = "float f(float x) { return x; }\n";
  for (const std::string device :
       {"template <class F> __global__ void k(F f, float* x) { x[0] = f(x[1]); }",
        "__global__ void k(float* x) { auto f = [](float v) { return v; }; x[0] = f(x[1]); }",
        "__global__ void k(float* x) { S s; x[0] = s.f(x[1]) + S::f(1); }",
        "__global__ void k(float* x) { float f(3); }",
        "void g(float* x) { x[0] = f(x[1]); k<<<f(1), 1>>>(x); }"}) {
    INFO(device);
    CHECK(host_call_in_device_code(host + device) == "");
  }
}

TEST_CASE("Macros say where a function runs") {
  const std::string kernel = "\n__global__ void k(float* x) { x[0] = f(x[1]); }\n";
  const std::string body = "(float x) { return x; }";
  for (const std::string& definition : std::initializer_list<std::string>{
           "#define ON_CARD __device__ __forceinline__\nON_CARD float f" + body,
           "#define ON_CARD __device__\n\nON_CARD\nfloat\nf" + body,
           "#define BOTH static inline __host__ \\\n __device__\nBOTH float f" + body,
           "#define ON_CARD __device__\n#define QUICK ON_CARD __forceinline__\nQUICK float f" + body,
           "#define QUICK ON_CARD __forceinline__\n#define ON_CARD __device__\nQUICK float f" + body,
           "#ifdef __CUDACC__\n#define BOTH __host__ __device__\n#else\n#define BOTH\n#endif\nBOTH inline "
           "float f" +
               body,
           "#define GIVES(T) __device__ T\nGIVES(float) f" + body,
           "#define GIVES(T) template <class A> __device__ T\nGIVES(A) f(A x) { return x; }",
           "#define ON_CARD __device__\ntemplate <class T> ON_CARD T f(T x) { return x; }",
           "#define KNOWN constexpr\nKNOWN float f" + body, "C10_HOST_DEVICE float f" + body,
           "C10_DEVICE C10_ALWAYS_INLINE float f" + body, "static C10_HOST_DEVICE inline float f" + body}) {
    INFO(definition);
    CHECK(host_call_in_device_code(definition + kernel) == "");
  }
  for (const std::string& definition : std::initializer_list<std::string>{
           "#define QUICK inline\nQUICK float f" + body, "#define GIVES(T) static T\nGIVES(float) f" + body,
           "#define ON_HOST __host__\nON_HOST float f" + body, "C10_HOST float f" + body}) {
    INFO(definition);
    CHECK(host_call_in_device_code(definition + kernel).find("the host function 'f'") != std::string::npos);
  }
}

TEST_CASE("Working programs have no host calls") {
  for (const auto& program : testing::own_programs()) {
    INFO(program.name);
    CHECK(host_call_in_device_code(program.text) == "");
  }
  for (const auto& program : testing::published_programs()) {
    INFO(program.name);
    CHECK(host_call_in_device_code(program.text) == "");
  }
}

}  // namespace bicrl
