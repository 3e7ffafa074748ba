// Calls: recursion, function pointers, virtual functions, switch tables, printf, assert, malloc, structures
// by value.
#ifndef __CUDACC_RTC__
#include <cassert>
#include <cstdio>
#endif

struct Pair {
  double a;
  int b;
  char c[5];
};
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ Pair change(Pair p, short s, bool t) {
  p.a *= s;
  p.b += t ? 1 : -1;
  p.c[p.b & 3] = 7;
  return p;
}
__device__ __noinline__ float twice(float x) { return 2 * x; }
__device__ __noinline__ float half_of(float x) { return x / 2; }
__device__ float (*table[2])(float) = {twice, half_of};
using Unary = float (*)(float);
__device__ __noinline__ bool odd(int n);
__device__ __noinline__ bool even(int n) { return n == 0 || odd(n - 1); }
__device__ __noinline__ bool odd(int n) { return n != 0 && even(n - 1); }

__global__ void calls(int* x, float* y, Pair* p, Unary* which) {
  int i = threadIdx.x;
  x[i] = fibonacci(x[i]) + even(i);
  p[i] = change(p[i], (short)i, i > 3);
  y[i] = table[i & 1](y[i]) + (*which)(y[i]);
}

struct Shape {
  virtual __device__ float area() const = 0;
  virtual __device__ ~Shape() {}
};
struct Square : Shape {
  float side;
  __device__ Square(float s) : side(s) {}
  __device__ float area() const override { return side * side; }
};
struct Disc : Shape {
  float radius;
  __device__ Disc(float r) : radius(r) {}
  __device__ float area() const override { return 3.14159f * radius * radius; }
};
__global__ void virtuals(float* y, int n) {
  Shape* shape = n & 1 ? (Shape*)new Square(y[0]) : (Shape*)new Disc(y[1]);
  y[threadIdx.x] = shape->area();
  delete shape;
}

__global__ void tables(int* x, int n) {
  int i = threadIdx.x, v = x[i];
  switch (x[i + n]) {
    case 0:
      v += 3;
      break;
    case 1:
      v *= v + x[3];
      break;
    case 2:
      v ^= x[v & 3];
      break;
    case 3:
      v = x[v & 7] / (v + 1);
      break;
    case 4:
      v <<= 3;
      x[i + 4] = 9;
      break;
    case 5:
      v = -v;
      x[i + 5] = v;
      break;
    case 6:
      v = ~v;
      x[i + 6] = v * 3;
      break;
    case 7:
      v %= 5;
      x[i + 7] = 2;
      break;
    case 9:
      return;
    default:
      v = 0;
  }
  x[i] = v;
}

__global__ void messages(int n, double d, const char* text) {
  printf("thread %d of %d: %f %s\n", threadIdx.x, n, d, text);
  assert(n > 3 && "n is large");
  if (n == 77) __trap();
  if (n == 78) asm volatile("exit;");
  int* p = (int*)malloc(n * 4);
  if (p) p[0] = 3;
  free(p);
}

extern "C" __global__ void alloca_like(int* x, int n) {
  int local[64];
  for (int i = 0; i < 64; ++i) local[i] = x[(i * n) & 63];
  x[threadIdx.x] = local[n & 63] + local[threadIdx.x & 63];
}
