// Formats of 8 bits, packed saturated integers, differences of bytes.
#include <catch2/catch_test_macros.hpp>

#include "float_oracle.h"

namespace bicrl::ptx {
namespace {

// By the definition: the nearest of all 8-bit numbers, ties to the even one.
double value_of_byte(int byte, int fraction, int bias) {
  int exponent = (byte & 0x7f) >> fraction, rest = byte & ((1 << fraction) - 1);
  double size = exponent == 0 ? std::ldexp(rest, 1 - bias - fraction)
                              : std::ldexp(rest + (1 << fraction), exponent - bias - fraction);
  return byte & 0x80 ? -size : size;
}
Word nearest_byte(double a, int fraction, int bias, int largest) {
  if (std::isnan(a)) return 0x7f;
  int sign = std::signbit(a) ? 0x80 : 0, best = 0;
  double size = std::min(std::abs(a), 1e6);
  for (int byte = 1; byte <= largest; ++byte) {
    double old = std::abs(size - value_of_byte(best, fraction, bias)),
           now = std::abs(size - value_of_byte(byte, fraction, bias));
    if (now < old || (now == old && byte % 2 == 0)) best = byte;
  }
  return best | sign;
}

TEST_CASE("numbers of 8 bits") {
  struct Kind {
    std::string type;
    int fraction, bias, largest;
  };
  for (const Kind& k : {Kind{"e4m3x2", 3, 7, 0x7e}, Kind{"e5m2x2", 2, 15, 0x7b}}) {
    auto byte = [&](double a) {
      return nearest_byte(std::isinf(a) ? std::copysign(1e9, a) : a, k.fraction, k.bias, k.largest);
    };
    auto relu = [](double a) { return a < 0 || (a == 0 && std::signbit(a)) ? 0 : a; };
    check("cvt.rn.satfinite." + k.type + ".f32", [&](const std::vector<Word>& x) {
      return std::vector{byte(as<float>(x[0])) << 8 | byte(as<float>(x[1]))};
    });
    check("cvt.rn.satfinite.relu." + k.type + ".f32", [&](const std::vector<Word>& x) {
      return std::vector{byte(relu(as<float>(x[0]))) << 8 | byte(relu(as<float>(x[1])))};
    });
    // All numbers, halfway between two, and just beside.
    for (int shift : {-1, 0, 1})
      for (bool halfway : {false, true}) {
        Column column;
        for (int b = 0; b < 256; ++b) {
          double low = value_of_byte(b, k.fraction, k.bias),
                 high = value_of_byte(std::min(b & 0x7f, 0x7e) + 1 + (b & 0x80), k.fraction, k.bias);
          column.push_back(
              word(as<float>(word(static_cast<float>(halfway ? (low + high) / 2 : low)) + shift)));
        }
        check_on("cvt.rn.satfinite." + k.type + ".f32", {column, column}, [&](const std::vector<Word>& x) {
          return std::vector{byte(as<float>(x[0])) << 8 | byte(as<float>(x[1]))};
        });
      }
    auto half_value = [](Word h) {
      if (kHalf.is_nan(h)) return static_cast<double>(NAN);
      if (kHalf.size(h) == kHalf.infinity())
        return kHalf.negative(h) ? -INFINITY : static_cast<double>(INFINITY);
      return std::copysign(static_cast<double>(value_of(kHalf, h)), kHalf.negative(h) ? -1.0 : 1.0);
    };
    check("cvt.rn.satfinite." + k.type + ".f16x2", [&](const std::vector<Word>& x) {
      return std::vector{byte(half_value(x[0] >> 16)) << 8 | byte(half_value(x[0] & 0xffff))};
    });
    auto half = [&](int b) -> Word {
      if ((b & 0x7f) > k.largest)
        return k.fraction == 2 && (b & 0x7f) == 0x7c ? 0x7c00 | (b & 0x80) << 8 : 0x7fff;
      double value = value_of_byte(b, k.fraction, k.bias);
      return value == 0 ? (b & 0x80) << 8 : round_to(kHalf, value, Direction::kNearest);
    };
    for (int high = 0; high < 256; ++high) {
      Column column;
      for (int low = 0; low < 256; ++low) column.push_back(high << 8 | low);
      check_on("cvt.rn.f16x2." + k.type, {column}, [&](const std::vector<Word>& x) {
        return std::vector{half(static_cast<int>(x[0] >> 8)) << 16 | half(static_cast<int>(x[0] & 0xff))};
      });
    }
  }
}

TEST_CASE("packed saturated integers") {
  for (int bits : {2, 4, 8, 16})
    for (bool is_signed : {false, true}) {
      int64_t low = is_signed ? -(int64_t{1} << (bits - 1)) : 0,
              high = (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
      auto part = [&](Word a) {
        int64_t value = std::min<int64_t>(std::max<int64_t>(as<int32_t>(a), low), high);
        return static_cast<Word>(value) & ((Word{1} << bits) - 1);
      };
      std::string name =
          std::string("cvt.pack.sat.") + (is_signed ? "s" : "u") + std::to_string(bits) + ".s32";
      check(name + (bits < 16 ? ".b32" : ""), [&](const std::vector<Word>& x) {
        Word rest = bits < 16 ? x[2] << 2 * bits : 0;
        return std::vector{(rest | part(x[0]) << bits | part(x[1])) & 0xffffffff};
      });
    }
}

TEST_CASE("differences of bytes") {
  for (bool is_signed : {false, true}) {
    auto difference = [&](const std::vector<Word>& x, int i) {
      auto byte = [&](Word a) {
        return is_signed ? int{static_cast<int8_t>(a >> 8 * i)} : int{static_cast<uint8_t>(a >> 8 * i)};
      };
      return static_cast<Word>(std::abs(byte(x[0]) - byte(x[1])));
    };
    std::string name = is_signed ? "vabsdiff4.u32.s32.s32" : "vabsdiff4.u32.u32.u32";
    check(name, [&](const std::vector<Word>& x) {
      Word result = 0;
      for (int i = 0; i < 4; ++i) result |= difference(x, i) << 8 * i;
      return std::vector{result};
    });
    check(name + ".add", [&](const std::vector<Word>& x) {
      Word sum = x[2];
      for (int i = 0; i < 4; ++i) sum += difference(x, i);
      return std::vector{sum & 0xffffffff};
    });
  }
}

}  // namespace
}  // namespace bicrl::ptx
