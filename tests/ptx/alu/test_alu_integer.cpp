// Integer arithmetic against 128-bit integers.
#include <catch2/catch_test_macros.hpp>

#include "alu_support.h"

namespace bicrl::ptx {
namespace {

using Wide = __int128;

struct IntegerType {
  std::string name;
  int bits;
  bool is_signed;
  Wide lowest() const { return is_signed ? -(Wide{1} << (bits - 1)) : 0; }
  Wide highest() const { return (Wide{1} << (is_signed ? bits - 1 : bits)) - 1; }
  Wide of(Word word) const {
    Wide value = static_cast<Wide>(word & ((Word{1} << bits) - 1));
    return is_signed && value > highest() ? value - (Wide{1} << bits) : value;
  }
  Word cut(Wide value, int width = 0) const {
    return static_cast<Word>(value) & ((Word{1} << (width ? width : bits)) - 1);
  }
};
const IntegerType kTypes[] = {{"u16", 16, false}, {"s16", 16, true},  {"u32", 32, false},
                              {"s32", 32, true},  {"u64", 64, false}, {"s64", 64, true}};

Wide magnitude(Wide a) { return a < 0 ? -a : a; }
Wide clamp(Wide a, Wide low, Wide high) { return a < low ? low : a > high ? high : a; }

// A product shifted right by the width, of factors up to 64 bits.
Wide high_product(const IntegerType& t, Wide a, Wide b) {
  // In two halves: a 64-bit unsigned product does not fit a signed 128-bit integer.
  Word mask = (Word{1} << 32) - 1;
  if (t.bits < 64) return (a * b) >> t.bits;
  Word ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  Word low = (ua & mask) * (ub & mask), m1 = (ua >> 32) * (ub & mask), m2 = (ua & mask) * (ub >> 32);
  Word high =
      (ua >> 32) * (ub >> 32) + (m1 >> 32) + (m2 >> 32) + (((m1 & mask) + (m2 & mask) + (low >> 32)) >> 32);
  if (a < 0) high -= ub;
  if (b < 0) high -= ua;
  return t.of(high);
}

using Binary = std::function<Wide(Wide, Wide)>;
using Ternary = std::function<Wide(Wide, Wide, Wide)>;
void check_binary(const std::string& opcode, const IntegerType& t, const Binary& f) {
  check(opcode + "." + t.name,
        [&](const std::vector<Word>& x) { return std::vector<Word>{t.cut(f(t.of(x[0]), t.of(x[1])))}; });
}
void check_ternary(const std::string& opcode, const IntegerType& t, const Ternary& f) {
  check(opcode + "." + t.name, [&](const std::vector<Word>& x) {
    return std::vector<Word>{t.cut(f(t.of(x[0]), t.of(x[1]), t.of(x[2])))};
  });
}

TEST_CASE("integer arithmetic of all widths") {
  for (const IntegerType& t : kTypes) {
    check_binary("add", t, [](Wide a, Wide b) { return a + b; });
    check_binary("sub", t, [](Wide a, Wide b) { return a - b; });
    check_binary("mul.lo", t, [](Wide a, Wide b) {
      return static_cast<Wide>(static_cast<Word>(a) * static_cast<Word>(b));
    });
    check_binary("mul.hi", t, [&](Wide a, Wide b) { return high_product(t, a, b); });
    check_binary("min", t, [](Wide a, Wide b) { return a < b ? a : b; });
    check_binary("max", t, [](Wide a, Wide b) { return a < b ? b : a; });
    // What PTX leaves open: by zero the quotient and the remainder are all ones.
    check_binary("div", t, [](Wide a, Wide b) { return b == 0 ? -1 : a / b; });
    check_binary("rem", t, [](Wide a, Wide b) { return b == 0 ? Wide{-1} : a % b; });
    check_ternary("mad.lo", t, [](Wide a, Wide b, Wide c) {
      return static_cast<Wide>(static_cast<Word>(a) * static_cast<Word>(b) + static_cast<Word>(c));
    });
    check_ternary("mad.hi", t, [&](Wide a, Wide b, Wide c) { return high_product(t, a, b) + c; });
    check_ternary("sad", t, [](Wide a, Wide b, Wide c) { return c + magnitude(a - b); });
    if (t.is_signed) {
      check("abs." + t.name,
            [&](const std::vector<Word>& x) { return std::vector{t.cut(magnitude(t.of(x[0])))}; });
      check("neg." + t.name, [&](const std::vector<Word>& x) { return std::vector{t.cut(-t.of(x[0]))}; });
    }
    if (t.bits < 64) {
      check("mul.wide." + t.name, [&](const std::vector<Word>& x) {
        return std::vector{t.cut(t.of(x[0]) * t.of(x[1]), 2 * t.bits)};
      });
      check("mad.wide." + t.name, [&](const std::vector<Word>& x) {
        return std::vector{t.cut(t.of(x[0]) * t.of(x[1]) + static_cast<Wide>(x[2]), 2 * t.bits)};
      });
    }
  }
}

TEST_CASE("division of 32-bit integers is exact about whole quotients") {
  Values values(11);
  for (const char* type : {"u32", "s32"}) {
    const IntegerType& t =
        *std::find_if(std::begin(kTypes), std::end(kTypes), [&](auto& k) { return k.name == type; });
    for (int round = 0; round < 200; ++round) {
      Column a(kTestLanes), b(kTestLanes);
      for (int i = 0; i < kTestLanes; ++i) {
        b[i] = values.bits(1 + values.random()() % 32);
        Word quotient = values.bits(32);
        if (b[i] != 0) quotient %= 0xffffffff / b[i] + 1;
        a[i] = (quotient * b[i] + values.random()() % 3 - 1) & 0xffffffff;
      }
      check_on(std::string("div.") + type, {a, b}, [&](const std::vector<Word>& x) {
        Wide d = t.of(x[1]);
        return std::vector{t.cut(d == 0 ? -1 : t.of(x[0]) / d)};
      });
    }
  }
}

TEST_CASE("carries and borrows") {
  for (const IntegerType& t : {kTypes[2], kTypes[3], kTypes[4], kTypes[5]}) {
    auto unsigned_of = [&](Word x) { return x & ((Word{1} << t.bits) - 1); };
    auto results = [&](Word sum, bool writes) {
      std::vector<Word> r{unsigned_of(sum)};
      if (writes) r.push_back(predicate(sum >> t.bits != 0));
      return r;
    };
    for (bool writes : {false, true}) {
      std::string cc = writes ? ".cc." : ".";
      check("addc" + cc + t.name,
            [&](const std::vector<Word>& x) { return results(x[0] + x[1] + (x[2] & 1), writes); });
      check("subc" + cc + t.name,
            [&](const std::vector<Word>& x) { return results(x[0] - x[1] - (x[2] & 1), writes); });
      auto low = [&](const std::vector<Word>& x) { return unsigned_of(x[0] * x[1]); };
      auto high = [&](const std::vector<Word>& x) { return t.cut(high_product(t, t.of(x[0]), t.of(x[1]))); };
      check("madc.lo" + cc + t.name,
            [&](const std::vector<Word>& x) { return results(low(x) + x[2] + (x[3] & 1), writes); });
      check("madc.hi" + cc + t.name,
            [&](const std::vector<Word>& x) { return results(high(x) + x[2] + (x[3] & 1), writes); });
      if (!writes) continue;
      check("add.cc." + t.name, [&](const std::vector<Word>& x) { return results(x[0] + x[1], true); });
      check("sub.cc." + t.name, [&](const std::vector<Word>& x) { return results(x[0] - x[1], true); });
      check("mad.lo.cc." + t.name, [&](const std::vector<Word>& x) { return results(low(x) + x[2], true); });
      check("mad.hi.cc." + t.name, [&](const std::vector<Word>& x) { return results(high(x) + x[2], true); });
    }
  }
  CHECK(entry_of("addc.cc.u32").reads_carry);
  CHECK(entry_of("addc.cc.u32").writes_carry);
  CHECK(!entry_of("addc.u32").writes_carry);
  CHECK(!entry_of("add.cc.u32").reads_carry);
  CHECK(!entry_of("add.u32").writes_carry);
}

TEST_CASE("saturating and 24-bit integer arithmetic") {
  const IntegerType& s = kTypes[3];
  auto saturated = [&](Wide a) { return clamp(a, s.lowest(), s.highest()); };
  check_binary("add.sat", s, [&](Wide a, Wide b) { return saturated(a + b); });
  check_binary("sub.sat", s, [&](Wide a, Wide b) { return saturated(a - b); });
  check_ternary("mad.hi.sat", s, [&](Wide a, Wide b, Wide c) { return saturated(((a * b) >> 32) + c); });
  for (const char* order : {"min.relu", "max.relu"})
    check_binary(order, s, [&](Wide a, Wide b) {
      return std::max<Wide>(0, order[1] == 'i' ? std::min(a, b) : std::max(a, b));
    });
  for (const IntegerType& t : {kTypes[2], kTypes[3]}) {
    IntegerType narrow{"", 24, t.is_signed};
    auto product = [&](Wide a, Wide b) {
      return narrow.of(static_cast<Word>(a)) * narrow.of(static_cast<Word>(b));
    };
    check_binary("mul24.lo", t, [&](Wide a, Wide b) { return product(a, b); });
    check_binary("mul24.hi", t, [&](Wide a, Wide b) { return product(a, b) >> 16; });
    check_ternary("mad24.lo", t, [&](Wide a, Wide b, Wide c) { return product(a, b) + c; });
    check_ternary("mad24.hi", t, [&](Wide a, Wide b, Wide c) { return (product(a, b) >> 16) + c; });
    if (t.is_signed)
      check_ternary("mad24.hi.sat", t,
                    [&](Wide a, Wide b, Wide c) { return saturated((product(a, b) >> 16) + c); });
  }
}

TEST_CASE("packed 16-bit integers") {
  for (const IntegerType& t : {kTypes[0], kTypes[1]}) {
    auto check_halves = [&](const std::string& opcode, const Binary& f) {
      check(opcode + "." + t.name + "x2", [&](const std::vector<Word>& x) {
        Word low = t.cut(f(t.of(x[0]), t.of(x[1]))), high = t.cut(f(t.of(x[0] >> 16), t.of(x[1] >> 16)));
        return std::vector{high << 16 | low};
      });
    };
    check_halves("add", [](Wide a, Wide b) { return a + b; });
    check_halves("min", [](Wide a, Wide b) { return std::min(a, b); });
    check_halves("max", [](Wide a, Wide b) { return std::max(a, b); });
    if (!t.is_signed) continue;
    check_halves("min.relu", [](Wide a, Wide b) { return std::max<Wide>(0, std::min(a, b)); });
    check_halves("max.relu", [](Wide a, Wide b) { return std::max<Wide>(0, std::max(a, b)); });
  }
}

TEST_CASE("dot products of bytes") {
  for (bool a_signed : {false, true})
    for (bool b_signed : {false, true}) {
      IntegerType byte_a{"", 8, a_signed}, byte_b{"", 8, b_signed}, half{"", 16, a_signed};
      std::string types = std::string(a_signed ? ".s32" : ".u32") + (b_signed ? ".s32" : ".u32");
      check("dp4a" + types, [&](const std::vector<Word>& x) {
        Wide sum = static_cast<Wide>(x[2]);
        for (int i = 0; i < 4; ++i) sum += byte_a.of(x[0] >> 8 * i) * byte_b.of(x[1] >> 8 * i);
        return std::vector{kTypes[2].cut(sum)};
      });
      for (int high : {0, 1})
        check(std::string(high ? "dp2a.hi" : "dp2a.lo") + types, [&](const std::vector<Word>& x) {
          Wide sum = static_cast<Wide>(x[2]);
          for (int i = 0; i < 2; ++i) sum += half.of(x[0] >> 16 * i) * byte_b.of(x[1] >> (8 * i + 16 * high));
          return std::vector{kTypes[2].cut(sum)};
        });
    }
}

}  // namespace
}  // namespace bicrl::ptx
