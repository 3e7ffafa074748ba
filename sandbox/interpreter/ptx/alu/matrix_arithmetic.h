// Products of small matrices and conversions of their elements. Pure functions on arrays that are aligned to
// 64 bytes; thread-safe. Like the ALU, compiled for plain x86-64 and for AVX2 with the same results.
#pragma once
#include <cstdint>

#include "sandbox/interpreter/ptx/alu/alu_table.h"

namespace bicrl::ptx {

struct MatrixArithmetic {
  // Exact, of any count.
  void (*widen_f16)(const uint16_t* from, float* to, int count) = nullptr;
  void (*widen_bf16)(const uint16_t* from, float* to, int count) = nullptr;
  // The upper 19 bits of the number are what tf32 keeps.
  void (*cut_tf32)(const float* from, float* to, int count) = nullptr;
  // To the nearest, ties to even.
  void (*narrow_f16)(const float* from, uint16_t* to, int count) = nullptr;
  // d = a b + c of a [m, k], b [k, n], c and d [m, n]; m a multiple of 4, n of 8. Every element is the sum of
  // its products, which are added to zero by ascending k in the precision of the type, and then of c. (The
  // order and the roundings of a device are not specified; products of fp16, bf16 and tf32 are exact in
  // fp32.)
  void (*multiply)(const float* a, const float* b, const float* c, float* d, int m, int n, int k) = nullptr;
  void (*multiply_f64)(const double* a, const double* b, const double* c, double* d, int m, int n,
                       int k) = nullptr;
};

const MatrixArithmetic& matrix_arithmetic(IsaVariant variant);

}  // namespace bicrl::ptx
