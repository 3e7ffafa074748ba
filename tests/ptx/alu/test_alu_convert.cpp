// Conversions among integers and floating-point numbers, and the registers that these lie in.
#include <catch2/catch_test_macros.hpp>

#include "float_oracle.h"

namespace bicrl::ptx {
namespace {

struct ConvertedType {
  int bits;
  bool is_signed;
  std::string name() const { return (is_signed ? "s" : "u") + std::to_string(bits); }
  __int128 lowest() const { return is_signed ? -(__int128{1} << (bits - 1)) : 0; }
  __int128 highest() const { return (__int128{1} << (is_signed ? bits - 1 : bits)) - 1; }
  __int128 of(Word word) const {
    auto value = static_cast<__int128>(word & ((Word{1} << bits) - 1));
    return is_signed && value > highest() ? value - (__int128{1} << bits) : value;
  }
};
const ConvertedType kIntegers[] = {{8, false},  {8, true},  {16, false}, {16, true},
                                   {32, false}, {32, true}, {64, false}, {64, true}};
std::vector<int> registers_of(const ConvertedType& t, int most = 64) {
  std::vector<int> widths;
  for (int width : {16, 32, 64})
    if (width >= t.bits && (width <= most || width == t.bits)) widths.push_back(width);
  return widths;
}
std::string form(const char* word, const ConvertedType& t, int width) {
  return width == std::max(t.bits, 16) ? "" : word + std::to_string(width);
}
Word cut(__int128 value, int width) {
  const auto word = static_cast<Word>(value);
  return width < 128 ? word & ((Word{1} << width) - 1) : word;
}

TEST_CASE("integers become integers, in registers of any width") {
  for (const ConvertedType& to : kIntegers)
    for (const ConvertedType& from : kIntegers) {
      for (int into : registers_of(to))
        for (int out_of : registers_of(from))
          check(
              "cvt." + to.name() + "." + from.name() + form("/to", to, into) + form("/from", from, out_of),
              [&](const std::vector<Word>& x) {
                return std::vector{cut(to.of(cut(from.of(x[0]), 128)), into)};
              },
              2);
      for (int into : registers_of(to, 32))
        for (int out_of : registers_of(from, 32))
          check(
              "cvt.sat." + to.name() + "." + from.name() + form("/to", to, into) +
                  form("/from", from, out_of),
              [&](const std::vector<Word>& x) {
                return std::vector{cut(std::min(std::max(from.of(x[0]), to.lowest()), to.highest()), into)};
              },
              2);
    }
}

// The manual's rule: 0, but the highest bit if one of the two has 64 bits.
__int128 nan_as(const ConvertedType& to, const Format& from) {
  return to.bits == 64 || from.bits == 64 ? __int128{1} << (to.bits - 1) : 0;
}
__int128 rounded(Real a, Direction d) {
  bool negative = a < 0;
  Real size = negative ? -a : a;
  if (size > static_cast<Real>(uint64_t{1} << 63) * 4) size = static_cast<Real>(uint64_t{1} << 63) * 4;
  auto whole = static_cast<__int128>(size);
  Real rest = size - static_cast<Real>(whole);
  bool up = d == Direction::kNearest ? rest > 0.5 || (rest == 0.5 && (whole & 1))
                                     : d == (negative ? Direction::kDown : Direction::kUp) && rest > 0;
  whole += up;
  return negative ? -whole : whole;
}

TEST_CASE("floating-point numbers become integers") {
  struct Source {
    std::string type;
    const Format& format;
    bool ftz;
  };
  for (const Source& from : {Source{".f32", kSingle, false},
                             {".f32", kSingle, true},
                             {".f64", kDouble, false},
                             {".f16", kHalf, false},
                             {".bf16", kBFloat, false}})
    for (const ConvertedType& to : kIntegers)
      for (int into : registers_of(to, 32))
        for (Direction d : kDirections) {
          const Format& f = from.format;
          Oracle oracle = [&](const std::vector<Word>& x) {
            Word a = from.ftz ? f.flush(x[0]) : x[0];
            if (f.is_nan(a)) return std::vector{cut(to.of(cut(nan_as(to, f), 128)), into)};
            __int128 value = f.size(a) == f.infinity() ? (f.negative(a) ? to.lowest() : to.highest())
                                                       : rounded(value_of(f, a), d);
            return std::vector{cut(std::min(std::max(value, to.lowest()), to.highest()), into)};
          };
          std::string name = "cvt" + suffix(d) + "i" + (from.ftz ? ".ftz" : "");
          check(name + "." + to.name() + from.type + form("/to", to, into), oracle, 3);
          check(name + ".sat." + to.name() + from.type + form("/to", to, into), oracle, 1);
          // About the ends of the range, and halves.
          Column ends(kTestLanes);
          Values values(41);
          for (int lane = 0; lane < kTestLanes; ++lane) {
            __int128 end = lane % 4 == 0   ? to.lowest()
                           : lane % 4 == 1 ? to.highest()
                                           : static_cast<__int128>(lane - 128);
            Real value =
                static_cast<Real>(end) + static_cast<Real>(static_cast<int>(values.random()() % 9) - 4) / 4;
            ends[lane] = value == 0 ? 0 : round_to(f, value, kDirections[values.random()() % 4]);
          }
          check_on(name + "." + to.name() + from.type + form("/to", to, into), {ends}, oracle);
        }
}

TEST_CASE("integers become floating-point numbers in all roundings") {
  struct Target {
    std::string type;
    const Format& format;
  };
  Values values(42);
  for (const Target& to : {Target{".f32", kSingle}, {".f64", kDouble}, {".f16", kHalf}, {".bf16", kBFloat}})
    for (const ConvertedType& from : kIntegers)
      for (int out_of : registers_of(from, to.format.bits == 16 ? 0 : 32)) {
        if (to.format.bits == 16 && out_of != std::max(from.bits, 16)) continue;
        for (Direction d : kDirections) {
          const Format& f = to.format;
          Oracle oracle = [&](const std::vector<Word>& x) {
            __int128 value = from.of(x[0]);
            return std::vector{value == 0 ? 0 : round_to(f, static_cast<Real>(value), d)};
          };
          std::string name = "cvt" + suffix(d) + to.type + "." + from.name() + form("/from", from, out_of);
          check(name, oracle, 3);
          // Numbers that lie halfway between two of the format, and beside these.
          Column halfway(kTestLanes);
          for (Word& lane : halfway) {
            int length = 1 + static_cast<int>(values.random()() % from.bits),
                kept = std::min(length, f.fraction + 2);
            lane = (values.bits(kept) | 1) << (length - kept);
            lane = (lane + values.random()() % 3 - 1) & ((Word{1} << std::max(out_of, from.bits)) - 1);
          }
          check_on(name, {halfway}, oracle);
          if (f.bits == 32)
            check(
                "cvt" + suffix(d) + ".sat.f32." + from.name() + form("/from", from, out_of),
                [&](const std::vector<Word>& x) {
                  return std::vector{from.of(x[0]) > 0 ? Word{0x3f800000} : 0};
                },
                1);
        }
      }
}

TEST_CASE("single and double precision become one another, and integers of their own") {
  auto round_single = [](Word a, Direction d) {
    if (kDouble.is_nan(a)) return kSingle.nan;
    Word sign = kDouble.negative(a) ? kSingle.sign_mask() : 0;
    if (kDouble.size(a) == kDouble.infinity()) return kSingle.infinity() | sign;
    return kDouble.size(a) == 0 ? sign : round_to(kSingle, value_of(kDouble, a), d);
  };
  auto saturated = [](Word a) {
    return kSingle.is_nan(a) || kSingle.negative(a) ? 0 : std::min<Word>(a, 0x3f800000);
  };
  for (Direction d : kDirections) {
    check("cvt" + suffix(d) + ".f32.f64",
          [&](const std::vector<Word>& x) { return std::vector{round_single(x[0], d)}; });
    check("cvt" + suffix(d) + ".ftz.f32.f64",
          [&](const std::vector<Word>& x) { return std::vector{kSingle.flush(round_single(x[0], d))}; });
    check("cvt" + suffix(d) + ".sat.f32.f64",
          [&](const std::vector<Word>& x) { return std::vector{saturated(round_single(x[0], d))}; });
    auto whole = [&](const Format& f, Word a) {
      if (f.is_nan(a)) return f.nan;
      if (f.size(a) == f.infinity() || f.size(a) == 0) return a;
      Real value = value_of(f, a), size = value < 0 ? -value : value;
      if (size >= static_cast<Real>(uint64_t{1} << 60)) return a;
      Real result = static_cast<Real>(rounded(value, d));
      Word sign = f.negative(a) ? f.sign_mask() : 0;
      return result == 0 ? sign : round_to(f, result, d);
    };
    check("cvt" + suffix(d) + "i.f32.f32",
          [&](const std::vector<Word>& x) { return std::vector{whole(kSingle, x[0])}; });
    check("cvt" + suffix(d) + "i.ftz.f32.f32",
          [&](const std::vector<Word>& x) { return std::vector{whole(kSingle, kSingle.flush(x[0]))}; });
    check("cvt" + suffix(d) + "i.sat.f32.f32",
          [&](const std::vector<Word>& x) { return std::vector{saturated(whole(kSingle, x[0]))}; });
    check("cvt" + suffix(d) + "i.f64.f64",
          [&](const std::vector<Word>& x) { return std::vector{whole(kDouble, x[0])}; });
    check("cvt" + suffix(d) + "i.f16.f16",
          [&](const std::vector<Word>& x) { return std::vector{whole(kHalf, x[0])}; });
    check("cvt" + suffix(d) + "i.bf16.bf16",
          [&](const std::vector<Word>& x) { return std::vector{whole(kBFloat, x[0])}; });
  }
  check("cvt.f64.f32", [](const std::vector<Word>& x) {
    return std::vector{kSingle.is_nan(x[0]) ? kDouble.nan : word(static_cast<double>(as<float>(x[0])))};
  });
  auto canonical = [](Word a) { return kSingle.is_nan(a) ? kSingle.nan : a; };
  check("cvt.f32.f32", [&](const std::vector<Word>& x) { return std::vector{canonical(x[0])}; });
  check("cvt.ftz.f32.f32",
        [&](const std::vector<Word>& x) { return std::vector{canonical(kSingle.flush(x[0]))}; });
  check("cvt.sat.f32.f32", [&](const std::vector<Word>& x) { return std::vector{saturated(x[0])}; });
}

TEST_CASE("tf32 has 10 bits of fraction") {
  for (std::string rounding : {"rna", "rn", "rz"})
    check("cvt." + rounding + ".tf32.f32", [&](const std::vector<Word>& x) {
      Word a = x[0];
      if (kSingle.is_nan(a)) return std::vector{kSingle.nan};
      if (kSingle.size(a) == kSingle.infinity()) return std::vector{a};
      Word low = a & 0x1fff, cut = a - low;
      bool up = rounding != "rz" && (low > 0x1000 || (low == 0x1000 && (rounding == "rna" || cut & 0x2000)));
      return std::vector<Word>{cut + (up ? 0x2000 : 0)};
    });
}

TEST_CASE("a register that is wider than the type is found by the function's registers") {
  Instruction instruction = make_instruction("cvt.s64.s8");
  instruction.operands[0].index = 1;
  instruction.operands[1].index = 0;
  std::vector<Register> registers = {{"%rd1", Type::kB64}, {"%rd2", Type::kB64}};
  auto wide = find_alu(instruction, registers);
  REQUIRE(wide.has_value());
  CHECK(wide->sources[0] == Type::kB64);
  CHECK(wide->destinations[0] == Type::kB64);
  auto narrow = find_alu(instruction);
  REQUIRE(narrow.has_value());
  CHECK(narrow->sources[0] == Type::kB16);
}

}  // namespace
}  // namespace bicrl::ptx
