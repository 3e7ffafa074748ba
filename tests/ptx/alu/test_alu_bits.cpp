// Logic, shifts, bit fields, moves, permutations and selections, bit by bit as the manual says them.
#include <catch2/catch_test_macros.hpp>

#include "alu_support.h"

namespace bicrl::ptx {
namespace {

bool bit(Word a, int i) { return a >> i & 1; }
Word ones(int count) { return (Word{1} << count) - 1; }
std::vector<Word> one(Word a) { return {a}; }

TEST_CASE("logic") {
  for (int width : {16, 32, 64}) {
    std::string type = ".b" + std::to_string(width);
    check("and" + type, [&](const std::vector<Word>& x) { return one(x[0] & x[1]); });
    check("or" + type, [&](const std::vector<Word>& x) { return one(x[0] | x[1]); });
    check("xor" + type, [&](const std::vector<Word>& x) { return one(x[0] ^ x[1]); });
    check("not" + type, [&](const std::vector<Word>& x) { return one(~x[0] & ones(width)); });
    check("cnot" + type, [&](const std::vector<Word>& x) { return one(x[0] == 0); });
  }
  check("and.pred", [](const std::vector<Word>& x) { return one(predicate(x[0] && x[1])); });
  check("or.pred", [](const std::vector<Word>& x) { return one(predicate(x[0] || x[1])); });
  check("xor.pred", [](const std::vector<Word>& x) { return one(predicate(!x[0] != !x[1])); });
  check("not.pred", [](const std::vector<Word>& x) { return one(predicate(!x[0])); });
  Values values(21);
  for (int table = 0; table < 256; ++table) {
    std::vector<Column> sources(3);
    for (Column& source : sources) source = values.column(Type::kB32);
    sources.push_back(Column(kTestLanes, table));
    check_on("lop3.b32", sources, [](const std::vector<Word>& x) {
      Word result = 0;
      for (int i = 0; i < 32; ++i)
        result |= (x[3] >> (4 * bit(x[0], i) + 2 * bit(x[1], i) + bit(x[2], i)) & 1) << i;
      return one(result);
    });
  }
}

TEST_CASE("shifts stop at the width") {
  for (int width : {16, 32, 64}) {
    std::string bits = std::to_string(width);
    check("shl.b" + bits, [&](const std::vector<Word>& x) {
      return one(x[1] >= Word(width) ? 0 : x[0] << static_cast<int>(x[1]) & ones(width));
    });
    check("shr.u" + bits, [&](const std::vector<Word>& x) {
      return one(x[1] >= Word(width) ? 0 : x[0] >> static_cast<int>(x[1]));
    });
    check("shr.s" + bits, [&](const std::vector<Word>& x) {
      Word result = 0;
      for (int i = 0; i < width; ++i)
        result |= Word{bit(x[0], static_cast<int>(std::min<Word>(Word(i) + x[1], width - 1)))} << i;
      return one(result);
    });
  }
  for (bool left : {false, true})
    for (bool wrap : {false, true})
      check(std::string("shf.") + (left ? "l." : "r.") + (wrap ? "wrap" : "clamp") + ".b32",
            [&](const std::vector<Word>& x) {
              int by = static_cast<int>(wrap ? x[2] & 31 : std::min<Word>(x[2], 32));
              Word pair = x[1] << 32 | x[0];
              return one((left ? pair << by >> 32 : pair >> by) & ones(32));
            });
}

TEST_CASE("counting and finding bits") {
  for (int width : {32, 64}) {
    std::string bits = std::to_string(width);
    auto highest = [&](Word a) {
      for (int i = width - 1; i >= 0; --i)
        if (bit(a, i)) return Word(i);
      return ones(32);
    };
    auto without_sign = [&](Word a) { return bit(a, width - 1) ? ~a & ones(width) : a; };
    auto distance = [&](Word found) { return found == ones(32) ? found : width - 1 - found; };
    check("popc.b" + bits, [&](const std::vector<Word>& x) {
      int count = 0;
      for (int i = 0; i < width; ++i) count += bit(x[0], i);
      return one(count);
    });
    check("clz.b" + bits, [&](const std::vector<Word>& x) {
      return one(x[0] == 0 ? Word(width) : width - 1 - highest(x[0]));
    });
    check("bfind.u" + bits, [&](const std::vector<Word>& x) { return one(highest(x[0])); });
    check("bfind.s" + bits, [&](const std::vector<Word>& x) { return one(highest(without_sign(x[0]))); });
    check("bfind.shiftamt.u" + bits,
          [&](const std::vector<Word>& x) { return one(distance(highest(x[0]))); });
    check("bfind.shiftamt.s" + bits,
          [&](const std::vector<Word>& x) { return one(distance(highest(without_sign(x[0])))); });
    check("brev.b" + bits, [&](const std::vector<Word>& x) {
      Word result = 0;
      for (int i = 0; i < width; ++i) result |= Word{bit(x[0], i)} << (width - 1 - i);
      return one(result);
    });
    for (bool is_signed : {false, true})
      check((is_signed ? "bfe.s" : "bfe.u") + bits, [&](const std::vector<Word>& x) {
        int position = x[1] & 255, length = x[2] & 255;
        bool sign = is_signed && length != 0 && bit(x[0], std::min(position + length - 1, width - 1));
        Word result = 0;
        for (int i = 0; i < width; ++i)
          result |= Word{i < length && position + i < width ? bit(x[0], position + i) : sign} << i;
        return one(result);
      });
    check("bfi.b" + bits, [&](const std::vector<Word>& x) {
      int position = x[2] & 255, length = x[3] & 255;
      Word result = x[1];
      for (int i = 0; i < length && position + i < width; ++i)
        result = (result & ~(Word{1} << (position + i))) | Word{bit(x[0], i)} << (position + i);
      return one(result);
    });
  }
  check("fns.b32", [](const std::vector<Word>& x) {
    int base = static_cast<int>(std::min<Word>(x[1], 32));
    int64_t n = static_cast<int32_t>(x[2]);
    if (base > 31) return one(ones(32));
    if (n == 0) return one(bit(x[0], base) ? base : ones(32));
    int64_t seen = 0;
    for (int i = base; i >= 0 && i<32; i += n> 0 ? 1 : -1)
      if (bit(x[0], i) && ++seen == std::abs(n)) return one(i);
    return one(ones(32));
  });
}

TEST_CASE("masks and extensions of a number of bits") {
  for (bool wrap : {false, true}) {
    std::string mode = wrap ? "wrap" : "clamp";
    auto count = [&](Word n) { return static_cast<int>(wrap ? n & 31 : std::min<Word>(n, 32)); };
    check("bmsk." + mode + ".b32",
          [&](const std::vector<Word>& x) { return one(ones(count(x[1])) << count(x[0]) & ones(32)); });
    check("szext." + mode + ".u32",
          [&](const std::vector<Word>& x) { return one(x[0] & ones(count(x[1]))); });
    check("szext." + mode + ".s32", [&](const std::vector<Word>& x) {
      int n = count(x[1]);
      Word low = x[0] & ones(n);
      return one(n > 0 && bit(low, n - 1) ? (low | ~ones(n)) & ones(32) : low);
    });
  }
}

TEST_CASE("permutations of bytes") {
  auto byte = [](const std::vector<Word>& x, int i) { return (x[1] << 32 | x[0]) >> (8 * i) & 0xff; };
  check("prmt.b32", [&](const std::vector<Word>& x) {
    Word result = 0;
    for (int i = 0; i < 4; ++i) {
      int selector = static_cast<int>(x[2] >> (4 * i)) & 15;
      Word b = byte(x, selector & 7);
      if (selector & 8) b = bit(b, 7) ? 0xff : 0;
      result |= b << (8 * i);
    }
    return one(result);
  });
  // The manual's tables: for selectors 0 to 3 the sources of bytes 3, 2, 1 and 0.
  struct Mode {
    const char* name;
    int table[4][4];
  };
  const Mode modes[] = {{"f4e", {{3, 2, 1, 0}, {4, 3, 2, 1}, {5, 4, 3, 2}, {6, 5, 4, 3}}},
                        {"b4e", {{5, 6, 7, 0}, {6, 7, 0, 1}, {7, 0, 1, 2}, {0, 1, 2, 3}}},
                        {"rc8", {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}},
                        {"ecl", {{3, 2, 1, 0}, {3, 2, 1, 1}, {3, 2, 2, 2}, {3, 3, 3, 3}}},
                        {"ecr", {{0, 0, 0, 0}, {1, 1, 1, 0}, {2, 2, 1, 0}, {3, 2, 1, 0}}},
                        {"rc16", {{1, 0, 1, 0}, {3, 2, 3, 2}, {1, 0, 1, 0}, {3, 2, 3, 2}}}};
  for (const Mode& mode : modes)
    check(std::string("prmt.b32.") + mode.name, [&](const std::vector<Word>& x) {
      Word result = 0;
      for (int i = 0; i < 4; ++i) result |= byte(x, mode.table[x[2] & 3][3 - i]) << (8 * i);
      return one(result);
    });
}

TEST_CASE("moves, whole and in parts") {
  for (const char* type : {"pred", "b16", "u32", "f32", "s64", "f64", "b128"})
    check(std::string("mov.") + type, [](const std::vector<Word>& x) { return x; });
  struct Parts {
    const char* type;
    int count, width;
  };
  for (Parts p : {Parts{"b16", 2, 8},
                  {"b32", 2, 16},
                  {"b32", 4, 8},
                  {"b64", 2, 32},
                  {"b64", 4, 16},
                  {"b128", 2, 64},
                  {"b128", 4, 32}}) {
    std::string name = std::string("mov.") + p.type;
    Word mask = p.width == 64 ? ~uint64_t{0} : ones(p.width);
    check(name + "/pack" + std::to_string(p.count), [&](const std::vector<Word>& x) {
      Word result = 0;
      for (int i = 0; i < p.count; ++i) result |= (x[i] & mask) << (i * p.width);
      return one(result);
    });
    check(name + "/unpack" + std::to_string(p.count), [&](const std::vector<Word>& x) {
      std::vector<Word> parts;
      for (int i = 0; i < p.count; ++i) parts.push_back(x[0] >> (i * p.width) & mask);
      return parts;
    });
  }
  CHECK(entry_of("mov.f32").sources[0] == Type::kF32);
  CHECK(entry_of("mov.f64").sources[0] == Type::kF64);
}

TEST_CASE("selections") {
  for (const char* type : {"b16", "s32", "f32", "u64", "f64"}) {
    std::string name = type;
    check("selp." + name, [](const std::vector<Word>& x) { return one(x[2] ? x[0] : x[1]); });
    check("slct." + name + ".s32",
          [](const std::vector<Word>& x) { return one(bit(x[2], 31) ? x[1] : x[0]); });
    check("slct." + name + ".f32",
          [](const std::vector<Word>& x) { return one(as<float>(x[2]) >= 0 ? x[0] : x[1]); });
    check("slct.ftz." + name + ".f32", [](const std::vector<Word>& x) {
      bool tiny = (x[2] >> 23 & 255) == 0;
      return one(tiny || as<float>(x[2]) >= 0 ? x[0] : x[1]);
    });
  }
}

}  // namespace
}  // namespace bicrl::ptx
