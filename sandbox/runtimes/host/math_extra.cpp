// Device mathematics and conversions whose bodies are too long for a header.
#include <cmath>

#include "bicrl/half.h"

unsigned __brev(unsigned x) {
  x = ((x >> 1) & 0x55555555u) | ((x & 0x55555555u) << 1);
  x = ((x >> 2) & 0x33333333u) | ((x & 0x33333333u) << 2);
  x = ((x >> 4) & 0x0f0f0f0fu) | ((x & 0x0f0f0f0fu) << 4);
  return __builtin_bswap32(x);
}

unsigned long long __brevll(unsigned long long x) {
  return (static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32) |
         __brev(static_cast<unsigned>(x >> 32));
}

unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const unsigned long long bytes = (static_cast<unsigned long long>(b) << 32) | a;
  unsigned out = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned pick = selector >> (4 * i);
    unsigned byte = static_cast<unsigned>(bytes >> (8 * (pick & 7))) & 0xff;
    if (pick & 8) byte = byte & 0x80 ? 0xff : 0;
    out |= byte << (8 * i);
  }
  return out;
}

int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; ++i) c += static_cast<signed char>(a >> (8 * i)) * static_cast<signed char>(b >> (8 * i));
  return c;
}

// Giles' starting value, then Newton steps on erf.
double erfinv(double y) noexcept {
  if (!(y > -1 && y < 1)) return y == 1 ? INFINITY : y == -1 ? -INFINITY : NAN;
  const double w = -std::log((1 - y) * (1 + y));
  double x = y * 0.8862269254527580;
  if (w > 0.3) {
    const double a = 0.147, t = 2 / (3.14159265358979323846 * a) - w / 2;
    x = std::copysign(std::sqrt(std::sqrt(t * t + w / a) - t), y);
  }
  for (int i = 0; i < 4; ++i) {
    const double error = y >= 0 ? (1 - y) - std::erfc(x) : -((1 + y) - std::erfc(-x));
    x -= -error / (-1.1283791670955126 * std::exp(-x * x)) * (y >= 0 ? 1 : -1) * (y >= 0 ? 1 : -1);
  }
  return x;
}
float erfinvf(float y) noexcept { return static_cast<float>(erfinv(y)); }

namespace {
// Power series: converges for all x, fast enough for the sizes that kernels use.
double bessel_i(int order, double x) {
  const double q = x * x / 4;
  double term = order ? x / 2 : 1, sum = term;
  for (int k = 1; k < 500 && std::fabs(term) > 1e-17 * std::fabs(sum); ++k) {
    term *= q / (static_cast<double>(k) * (k + order));
    sum += term;
  }
  return sum;
}
}  // namespace
double cyl_bessel_i0(double x) noexcept { return bessel_i(0, x); }
double cyl_bessel_i1(double x) noexcept { return bessel_i(1, x); }

float bicrl_half_to_float(unsigned short bits) noexcept {
  const unsigned sign = (bits & 0x8000u) << 16;
  unsigned exponent = (bits >> 10) & 31, fraction = bits & 0x3ffu;
  if (exponent == 31) return __builtin_bit_cast(float, sign | 0x7f800000u | (fraction << 13));
  if (exponent == 0) {
    const float value = static_cast<float>(fraction) * 5.9604644775390625e-8f;
    return sign ? -value : value;
  }
  return __builtin_bit_cast(float, sign | ((exponent + 112) << 23) | (fraction << 13));
}

unsigned short bicrl_float_to_half(float value) noexcept {
  const unsigned bits = __builtin_bit_cast(unsigned, value);
  const auto sign = static_cast<unsigned short>((bits >> 16) & 0x8000u);
  const unsigned magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<unsigned short>(sign | 0x7fff);
  if (magnitude >= 0x477ff000u) return static_cast<unsigned short>(sign | 0x7c00);  // rounds past 65504
  if (magnitude < 0x38800000u) {
    // Adding 0.5 lines the fraction up with subnormal halves; the addition rounds to nearest even.
    const float aligned = __builtin_bit_cast(float, magnitude) + 0.5f;
    return static_cast<unsigned short>(sign | (__builtin_bit_cast(unsigned, aligned) - 0x3f000000u));
  }
  const unsigned rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1);
  return static_cast<unsigned short>(sign | ((rounded - 0x38000000u) >> 13));
}
