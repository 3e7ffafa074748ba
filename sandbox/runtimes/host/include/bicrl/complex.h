// cuComplex: pairs of floats or doubles.
#pragma once
#include "bicrl/vectors.h"

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;
constexpr cuFloatComplex make_cuFloatComplex(float x, float y) { return {x, y}; }
constexpr cuDoubleComplex make_cuDoubleComplex(double x, double y) { return {x, y}; }
constexpr cuComplex make_cuComplex(float x, float y) { return {x, y}; }
constexpr float cuCrealf(cuFloatComplex z) { return z.x; }
constexpr float cuCimagf(cuFloatComplex z) { return z.y; }
constexpr double cuCreal(cuDoubleComplex z) { return z.x; }
constexpr double cuCimag(cuDoubleComplex z) { return z.y; }
constexpr cuFloatComplex cuCaddf(cuFloatComplex a, cuFloatComplex b) { return {a.x + b.x, a.y + b.y}; }
constexpr cuFloatComplex cuCmulf(cuFloatComplex a, cuFloatComplex b) {
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}
