// Half precision: conversions of all 65536 numbers, and arithmetic rounded once.
#include <catch2/catch_test_macros.hpp>

#include "float_oracle.h"

namespace bicrl::ptx {
namespace {

struct Kind {
  std::string type;
  const Format& format;
  Word one;
};
const Kind kKinds[] = {{"f16", kHalf, 0x3c00}, {"bf16", kBFloat, 0x3f80}};

// All numbers of 16 bits, in columns.
std::vector<Column> all_halves() {
  std::vector<Column> columns;
  for (int begin = 0; begin < 65536; begin += kTestLanes) {
    columns.emplace_back();
    for (int i = 0; i < kTestLanes; ++i) columns.back().push_back(begin + i);
  }
  return columns;
}
void check_all(const std::string& name, const Oracle& oracle) {
  for (const Column& column : all_halves()) check_on(name, {column}, oracle);
}
// A number in another format, rounded once.
Word convert(const Format& from, const Format& to, Word a, Direction d = Direction::kNearest) {
  if (from.is_nan(a)) return to.nan;
  Word sign = from.negative(a) ? to.sign_mask() : 0;
  if (from.size(a) == from.infinity()) return to.infinity() | sign;
  if (from.size(a) == 0) return sign;
  return round_to(to, value_of(from, a), d);
}

TEST_CASE("half precision widens exactly") {
  for (const Kind& kind : kKinds) {
    check_all("cvt.f32." + kind.type,
              [&](const std::vector<Word>& x) { return std::vector{convert(kind.format, kSingle, x[0])}; });
    check_all("cvt.ftz.f32." + kind.type, [&](const std::vector<Word>& x) {
      return std::vector{kSingle.flush(convert(kind.format, kSingle, x[0]))};
    });
    check_all("cvt.f64." + kind.type,
              [&](const std::vector<Word>& x) { return std::vector{convert(kind.format, kDouble, x[0])}; });
  }
}

TEST_CASE("to half precision in all roundings") {
  Values values(31);
  for (const Kind& kind : kKinds) {
    const Format& f = kind.format;
    for (Direction d : kDirections) {
      for (bool from_double : {false, true}) {
        const Format& source = from_double ? kDouble : kSingle;
        std::string from = from_double ? ".f64" : ".f32";
        auto limited = [&](Word a) {  // .relu
          return source.negative(a) && !source.is_nan(a) ? 0 : a;
        };
        // Numbers of the format and halfway between two, and just beside these.
        Column beside(kTestLanes);
        for (int round = 0; round < 40; ++round) {
          for (Word& lane : beside) {
            Word exact = convert(f, source, values.bits(16));
            Word half = Word{1} << (source.fraction - f.fraction - 1);
            lane = (exact + (values.random()() & 1 ? half : 0) + values.random()() % 3 - 1) &
                   (source.sign_mask() * 2 - 1);
          }
          check_on("cvt" + suffix(d) + "." + kind.type + from, {beside},
                   [&](const std::vector<Word>& x) { return std::vector{convert(source, f, x[0], d)}; });
        }
        check("cvt" + suffix(d) + "." + kind.type + from,
              [&](const std::vector<Word>& x) { return std::vector{convert(source, f, x[0], d)}; });
        check("cvt" + suffix(d) + ".relu." + kind.type + from,
              [&](const std::vector<Word>& x) { return std::vector{convert(source, f, limited(x[0]), d)}; });
      }
      check("cvt" + suffix(d) + "." + kind.type + "x2.f32", [&](const std::vector<Word>& x) {
        return std::vector{convert(kSingle, f, x[0], d) << 16 | convert(kSingle, f, x[1], d)};
      });
    }
    const Kind& other = kind.type == "f16" ? kKinds[1] : kKinds[0];
    check_all("cvt.rn." + other.type + "." + kind.type,
              [&](const std::vector<Word>& x) { return std::vector{convert(f, other.format, x[0])}; });
  }
}

std::vector<Column> related(const Kind& kind, int count, Values& values) {
  std::vector<Column> sources(count, Column(kTestLanes));
  for (int lane = 0; lane < kTestLanes; ++lane) {
    Word base = values.bits(16);
    for (Column& source : sources) {
      Word near = base + values.bits(static_cast<int>(values.random()() % (kind.format.fraction + 4))) - 8;
      source[lane] =
          (values.random()() % 3 == 0 ? values.bits(16) : near ^ (values.random()() & 1 ? 0x8000 : 0)) &
          0xffff;
    }
  }
  return sources;
}

// Single and packed alike.
void check_both(const std::string& head, const Kind& kind, int count,
                const std::function<Word(const std::vector<Word>&)>& oracle) {
  Values values(static_cast<uint32_t>(std::hash<std::string>{}(head + kind.type)));
  Oracle single = [&](const std::vector<Word>& x) { return std::vector{oracle(x)}; };
  Oracle packed = [&](const std::vector<Word>& x) {
    std::vector<Word> low, high;
    for (Word word : x) {
      low.push_back(word & 0xffff);
      high.push_back(word >> 16);
    }
    return std::vector{oracle(high) << 16 | oracle(low)};
  };
  check(head + "." + kind.type, single, 4);
  check(head + "." + kind.type + "x2", packed, 4);
  for (int round = 0; round < 20; ++round)
    check_on(head + "." + kind.type, related(kind, count, values), single);
  if (count == 1) check_all(head + "." + kind.type, single);
}

TEST_CASE("half precision arithmetic rounds once") {
  for (const Kind& kind : kKinds)
    for (bool ftz : {false, true})
      for (std::string limit : {"", ".sat", ".relu"}) {
        const Format& f = kind.format;
        if (kind.type == "bf16" && (ftz || limit == ".sat")) continue;
        auto in = [&](Word a) { return ftz ? f.flush(a) : a; };
        auto out = [&](Word a) {
          a = in(a);
          if (limit == ".sat") return f.is_nan(a) || f.negative(a) ? 0 : std::min(a, kind.one);
          if (limit == ".relu" && f.negative(a)) return Word{0};
          return a;
        };
        Direction d = Direction::kNearest;
        std::string modifiers = (ftz ? ".ftz" : "") + limit;
        check_both("fma.rn" + modifiers, kind, 3, [&](const std::vector<Word>& x) {
          return out(oracle_fused(f, in(x[0]), in(x[1]), in(x[2]), d));
        });
        if (limit == ".relu") continue;
        check_both("add" + modifiers, kind, 2, [&](const std::vector<Word>& x) {
          return out(oracle_fused(f, in(x[0]), kind.one, in(x[1]), d));
        });
        check_both("sub.rn" + modifiers, kind, 2, [&](const std::vector<Word>& x) {
          return out(oracle_fused(f, in(x[0]), kind.one, in(x[1]) ^ 0x8000, d));
        });
        check_both("mul" + modifiers, kind, 2,
                   [&](const std::vector<Word>& x) { return out(oracle_product(f, in(x[0]), in(x[1]), d)); });
      }
}

TEST_CASE("signs and extremes of half precision") {
  for (const Kind& kind : kKinds)
    for (bool ftz : {false, true}) {
      const Format& f = kind.format;
      if (kind.type == "bf16" && ftz) continue;
      std::string flushing = ftz ? ".ftz" : "";
      auto in = [&](Word a) { return ftz ? f.flush(a) : a; };
      check_both("neg" + flushing, kind, 1,
                 [&](const std::vector<Word>& x) { return f.is_nan(x[0]) ? f.nan : in(x[0]) ^ 0x8000; });
      check_both("abs" + flushing, kind, 1,
                 [&](const std::vector<Word>& x) { return f.is_nan(x[0]) ? f.nan : in(x[0]) & 0x7fff; });
      for (bool maximum : {false, true})
        for (bool nan : {false, true})
          for (bool xor_sign : {false, true})
            check_both(
                (maximum ? "max" : "min") + flushing + (nan ? ".NaN" : "") + (xor_sign ? ".xorsign.abs" : ""),
                kind, 2, [&](const std::vector<Word>& x) {
                  Word a = in(x[0]), b = in(x[1]), sign = (a ^ b) & 0x8000;
                  if (xor_sign) a = f.size(a), b = f.size(b);
                  bool none = nan ? f.is_nan(a) || f.is_nan(b) : f.is_nan(a) && f.is_nan(b);
                  if (none) return f.nan;
                  Word chosen;
                  if (f.is_nan(a) || f.is_nan(b)) {
                    chosen = f.is_nan(a) ? b : a;
                  } else {
                    auto rank = [&](Word v) {
                      return f.negative(v) ? -1 - static_cast<int>(f.size(v)) : static_cast<int>(f.size(v));
                    };
                    chosen = (rank(a) < rank(b)) == maximum ? b : a;
                  }
                  return chosen | (xor_sign ? sign : 0);
                });
    }
}

}  // namespace
}  // namespace bicrl::ptx
