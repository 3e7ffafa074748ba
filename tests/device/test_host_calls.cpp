#include <catch2/catch_test_macros.hpp>

#include "sandbox/device/host_calls.h"
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
