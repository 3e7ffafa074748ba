// Floating-point formats computed the slow way: numbers as fractions with 113 bits (__float128), rounded by
// search. Independent of the roundings of the processor and of the arithmetic under test.
#pragma once
#include <cmath>
#include <cstdint>

#include "alu_support.h"

namespace bicrl::ptx {

using Real = __float128;

struct Format {
  int bits, fraction, bias;
  Word nan;  // what operations give

  Word sign_mask() const { return Word{1} << (bits - 1); }
  Word infinity() const { return (sign_mask() >> fraction << fraction) - (Word{1} << fraction); }
  Word size(Word a) const { return a & (sign_mask() - 1); }
  bool is_nan(Word a) const { return size(a) > infinity(); }
  bool is_subnormal(Word a) const { return size(a) != 0 && size(a) < Word{1} << fraction; }
  bool negative(Word a) const { return (a & sign_mask()) != 0; }
  Word flush(Word a) const { return is_subnormal(a) ? a & sign_mask() : a; }
};
constexpr Format kHalf{16, 10, 15, 0x7fff};
constexpr Format kBFloat{16, 7, 127, 0x7fff};
constexpr Format kSingle{32, 23, 127, 0x7fffffff};
constexpr Format kDouble{64, 52, 1023, 0xfff8000000000000};

inline Real scaled(Real a, int exponent) {
  for (; exponent > 0; exponent -= std::min(exponent, 60))
    a *= static_cast<Real>(uint64_t{1} << std::min(exponent, 60));
  for (; exponent < 0; exponent += std::min(-exponent, 60))
    a /= static_cast<Real>(uint64_t{1} << std::min(-exponent, 60));
  return a;
}
// Of what is no NaN; infinity as the number that would follow the largest one.
inline Real value_of(const Format& f, Word a) {
  int exponent = static_cast<int>(f.size(a) >> f.fraction);
  Word fraction = f.size(a) & ((Word{1} << f.fraction) - 1);
  Real size = exponent == 0
                  ? scaled(static_cast<Real>(static_cast<uint64_t>(fraction)), 1 - f.bias - f.fraction)
                  : scaled(static_cast<Real>(static_cast<uint64_t>(fraction | Word{1} << f.fraction)),
                           exponent - f.bias - f.fraction);
  return f.negative(a) ? -size : size;
}

enum class Direction { kNearest, kZero, kDown, kUp };
constexpr Direction kDirections[] = {Direction::kNearest, Direction::kZero, Direction::kDown, Direction::kUp};
inline std::string suffix(Direction d) {
  return d == Direction::kNearest ? ".rn"
         : d == Direction::kZero  ? ".rz"
         : d == Direction::kDown  ? ".rm"
                                  : ".rp";
}

// A real number that is not zero, rounded once; `more`: the sign of what the number lacks to the exact one,
// which is less than any difference that matters.
inline Word round_to(const Format& f, Real a, Direction d, int more = 0) {
  bool negative = a < 0;
  if (negative) {
    a = -a;
    more = -more;
  }
  Word low = 0, high = f.infinity();  // the largest number that is not above, by bisection
  while (high - low > 1) {
    Word middle = low + (high - low) / 2;
    Real m = value_of(f, middle);
    (m < a || (m == a && more >= 0) ? low : high) = middle;
  }
  Real below = value_of(f, low), above = value_of(f, low + 1);
  bool exact = below == a && more == 0;
  bool up = false;
  if (!exact) {
    if (d == Direction::kNearest) {
      // An infinity stands for the number that would follow the largest one.
      Real twice = (a - below) - (above - a);
      up = twice > 0 || (twice == 0 && (more > 0 || (more == 0 && (low & 1))));
      if (a >= above) up = true;
    } else {
      up = d == (negative ? Direction::kDown : Direction::kUp);
    }
  }
  return (up ? low + 1 : low) | (negative ? f.sign_mask() : 0);
}
// The sign of a sum that is zero although its terms are not both.
inline Word zero_of(const Format& f, Direction d) { return d == Direction::kDown ? f.sign_mask() : 0; }

// ---- Operations with one rounding.
inline Word oracle_product(const Format& f, Word a, Word b, Direction d) {
  Word sign = (a ^ b) & f.sign_mask();
  if (f.is_nan(a) || f.is_nan(b)) return f.nan;
  bool infinite = f.size(a) == f.infinity() || f.size(b) == f.infinity();
  bool zero = f.size(a) == 0 || f.size(b) == 0;
  if (infinite) return zero ? f.nan : f.infinity() | sign;
  if (zero) return sign;
  return round_to(f, value_of(f, a) * value_of(f, b), d);
}
inline Word oracle_quotient(const Format& f, Word a, Word b, Direction d) {
  Word sign = (a ^ b) & f.sign_mask();
  if (f.is_nan(a) || f.is_nan(b)) return f.nan;
  if (f.size(a) == f.infinity()) return f.size(b) == f.infinity() ? f.nan : f.infinity() | sign;
  if (f.size(b) == f.infinity()) return sign;
  if (f.size(b) == 0) return f.size(a) == 0 ? f.nan : f.infinity() | sign;
  if (f.size(a) == 0) return sign;
  return round_to(f, value_of(f, a) / value_of(f, b), d);
}
// a * b + c, or a + c if b is 1.
inline Word oracle_fused(const Format& f, Word a, Word b, Word c, Direction d) {
  if (f.is_nan(a) || f.is_nan(b) || f.is_nan(c)) return f.nan;
  bool negative = f.negative(a) != f.negative(b);
  bool infinite = f.size(a) == f.infinity() || f.size(b) == f.infinity();
  bool zero = f.size(a) == 0 || f.size(b) == 0;
  if (infinite && zero) return f.nan;
  Word infinity = f.infinity() | (negative ? f.sign_mask() : 0);
  if (f.size(c) == f.infinity()) return infinite && infinity != c ? f.nan : c;
  if (infinite) return infinity;
  if (zero && f.size(c) == 0) return negative == f.negative(c) ? c : zero_of(f, d);
  if (zero) return c;
  Real product = value_of(f, a) * value_of(f, b), addend = value_of(f, c);
  Real sum = product + addend;
  if (sum == 0) return zero_of(f, d);
  // What the sum of 113 bits lacks.
  Real part = sum - product;
  Real lacking = (product - (sum - part)) + (addend - part);
  return round_to(f, sum, d, lacking > 0 ? 1 : lacking < 0 ? -1 : 0);
}

}  // namespace bicrl::ptx
