// Arithmetic of single and double precision against numbers of 113 bits with roundings of their own.
#include <catch2/catch_test_macros.hpp>

#include "float_oracle.h"

namespace bicrl::ptx {
namespace {

constexpr Word kOne32 = 0x3f800000, kOne64 = 0x3ff0000000000000;

// Terms that nearly cancel, and that differ much in size, are too rare by themselves.
std::vector<Column> related(const Format& f, int count, uint32_t seed) {
  Values values(seed);
  std::vector<Column> sources(count, Column(kTestLanes));
  Type type = f.bits == 64 ? Type::kF64 : Type::kF32;
  for (int lane = 0; lane < kTestLanes; ++lane) {
    Word base = values.value(type);
    for (Column& source : sources) {
      Word near = base + values.bits(static_cast<int>(values.random()() % (f.fraction + 4))) - 8;
      source[lane] = (values.random()() % 3 == 0 ? values.value(type)
                                                 : near ^ (values.random()() & 1 ? f.sign_mask() : 0)) &
                     (f.sign_mask() * 2 - 1);
    }
  }
  return sources;
}
void check_float(const std::string& name, const Format& f, int sources, const Oracle& oracle) {
  check(name, oracle, 4);
  for (uint32_t seed = 1; seed <= 6; ++seed) check_on(name, related(f, sources, seed), oracle);
}

Word saturated(Word a) {
  if (kSingle.is_nan(a) || kSingle.negative(a)) return 0;
  return std::min(a, kOne32);
}

TEST_CASE("sums, products, quotients and roots of single precision in all roundings") {
  const Format& f = kSingle;
  for (bool ftz : {false, true})
    for (bool sat : {false, true})
      for (Direction d : kDirections) {
        auto in = [&](Word a) { return ftz ? f.flush(a) : a; };
        auto out = [&](Word a) { return std::vector<Word>{sat ? saturated(in(a)) : in(a)}; };
        std::string tail = suffix(d) + (ftz ? ".ftz" : "") + (sat ? ".sat" : "") + ".f32";
        check_float("add" + tail, f, 2, [&](const std::vector<Word>& x) {
          return out(oracle_fused(f, in(x[0]), kOne32, in(x[1]), d));
        });
        check_float("sub" + tail, f, 2, [&](const std::vector<Word>& x) {
          return out(oracle_fused(f, in(x[0]), kOne32, in(x[1]) ^ f.sign_mask(), d));
        });
        check_float("mul" + tail, f, 2, [&](const std::vector<Word>& x) {
          return out(oracle_product(f, in(x[0]), in(x[1]), d));
        });
        for (const char* opcode : {"fma", "mad"})
          check_float(opcode + tail, f, 3, [&](const std::vector<Word>& x) {
            return out(oracle_fused(f, in(x[0]), in(x[1]), in(x[2]), d));
          });
        if (sat) continue;
        check_float("div" + tail, f, 2, [&](const std::vector<Word>& x) {
          return out(oracle_quotient(f, in(x[0]), in(x[1]), d));
        });
        check_float("rcp" + tail, f, 1,
                    [&](const std::vector<Word>& x) { return out(oracle_quotient(f, kOne32, in(x[0]), d)); });
        check_float("sqrt" + tail, f, 1, [&](const std::vector<Word>& x) {
          Word a = in(x[0]);
          if (f.is_nan(a) || (f.negative(a) && f.size(a) != 0)) return std::vector<Word>{f.nan};
          if (f.size(a) == 0 || f.size(a) == f.infinity()) return std::vector<Word>{a};
          // The root of a double has 53 bits; the sign of its error gives the rest.
          double value = as<float>(a), root = std::sqrt(value);
          Real error = static_cast<Real>(value) - static_cast<Real>(root) * root;
          return out(round_to(f, root, d, error > 0 ? 1 : error < 0 ? -1 : 0));
        });
      }
}

TEST_CASE("sums, products, quotients and roots of double precision in all roundings") {
  const Format& f = kDouble;
  for (Direction d : kDirections) {
    std::string tail = suffix(d) + ".f64";
    auto out = [](Word a) { return std::vector<Word>{a}; };
    check_float("add" + tail, f, 2,
                [&](const std::vector<Word>& x) { return out(oracle_fused(f, x[0], kOne64, x[1], d)); });
    check_float("sub" + tail, f, 2, [&](const std::vector<Word>& x) {
      return out(oracle_fused(f, x[0], kOne64, x[1] ^ f.sign_mask(), d));
    });
    check_float("mul" + tail, f, 2,
                [&](const std::vector<Word>& x) { return out(oracle_product(f, x[0], x[1], d)); });
    check_float("fma" + tail, f, 3,
                [&](const std::vector<Word>& x) { return out(oracle_fused(f, x[0], x[1], x[2], d)); });
    check_float("div" + tail, f, 2,
                [&](const std::vector<Word>& x) { return out(oracle_quotient(f, x[0], x[1], d)); });
    check_float("rcp" + tail, f, 1,
                [&](const std::vector<Word>& x) { return out(oracle_quotient(f, kOne64, x[0], d)); });
    check_float("sqrt" + tail, f, 1, [&](const std::vector<Word>& x) {
      Word a = x[0];
      if (f.is_nan(a) || (f.negative(a) && f.size(a) != 0)) return out(f.nan);
      if (f.size(a) == 0 || f.size(a) == f.infinity()) return out(a);
      long double value = as<double>(a), root = std::sqrt(value);
      Real error = static_cast<Real>(value) - static_cast<Real>(root) * static_cast<Real>(root);
      return out(round_to(f, root, d, error > 0 ? 1 : error < 0 ? -1 : 0));
    });
  }
}

// NaN loses, or wins; -0 is less than +0.
Word oracle_extreme(const Format& f, Word a, Word b, bool maximum, bool nan_wins) {
  if (f.is_nan(a) || f.is_nan(b)) {
    if (nan_wins || (f.is_nan(a) && f.is_nan(b))) return f.nan;
    return f.is_nan(a) ? b : a;
  }
  auto less = [&](Word x, Word y) {
    if (f.negative(x) != f.negative(y)) return f.negative(x);
    return f.negative(x) ? x > y : x < y;
  };
  return less(a, b) == maximum ? b : a;
}

TEST_CASE("smaller and larger numbers") {
  for (bool maximum : {false, true}) {
    std::string head = maximum ? "max" : "min";
    for (bool ftz : {false, true})
      for (bool nan : {false, true}) {
        auto in = [&](Word a) { return ftz ? kSingle.flush(a) : a; };
        std::string name = head + (ftz ? ".ftz" : "") + (nan ? ".NaN" : "");
        check_float(name + ".f32", kSingle, 2, [&](const std::vector<Word>& x) {
          return std::vector{oracle_extreme(kSingle, in(x[0]), in(x[1]), maximum, nan)};
        });
        check_float(name + ".xorsign.abs.f32", kSingle, 2, [&](const std::vector<Word>& x) {
          Word result = oracle_extreme(kSingle, kSingle.size(in(x[0])), kSingle.size(in(x[1])), maximum, nan);
          if (!kSingle.is_nan(result)) result |= (x[0] ^ x[1]) & kSingle.sign_mask();
          return std::vector{result};
        });
      }
    check_float(head + ".f64", kDouble, 2, [&](const std::vector<Word>& x) {
      return std::vector{oracle_extreme(kDouble, x[0], x[1], maximum, false)};
    });
  }
}

TEST_CASE("signs and kinds of numbers") {
  for (bool ftz : {false, true}) {
    std::string tail = ftz ? ".ftz.f32" : ".f32";
    auto in = [&](Word a) { return ftz ? kSingle.flush(a) : a; };
    auto out = [](Word a) { return std::vector<Word>{kSingle.is_nan(a) ? kSingle.nan : a}; };
    check("neg" + tail, [&](const std::vector<Word>& x) { return out(in(x[0]) ^ kSingle.sign_mask()); });
    check("abs" + tail, [&](const std::vector<Word>& x) { return out(kSingle.size(in(x[0]))); });
  }
  check("neg.f64", [&](const std::vector<Word>& x) { return std::vector{x[0] ^ kDouble.sign_mask()}; });
  check("abs.f64", [&](const std::vector<Word>& x) { return std::vector{kDouble.size(x[0])}; });
  for (const Format& f : {kSingle, kDouble}) {
    std::string type = f.bits == 32 ? ".f32" : ".f64";
    auto test = [&](const std::string& name, auto truth) {
      check("testp." + name + type,
            [&](const std::vector<Word>& x) { return std::vector{predicate(truth(x[0]))}; });
    };
    test("finite", [&](Word a) { return f.size(a) < f.infinity(); });
    test("infinite", [&](Word a) { return f.size(a) == f.infinity(); });
    test("number", [&](Word a) { return !f.is_nan(a); });
    test("notanumber", [&](Word a) { return f.is_nan(a); });
    // Zeros count as normal.
    test("normal", [&](Word a) {
      return f.size(a) == 0 || (f.size(a) < f.infinity() && f.size(a) >> f.fraction != 0);
    });
    test("subnormal", [&](Word a) { return f.is_subnormal(a); });
    check("copysign" + type,
          [&](const std::vector<Word>& x) { return std::vector{(x[0] & f.sign_mask()) | f.size(x[1])}; });
  }
}

}  // namespace
}  // namespace bicrl::ptx
