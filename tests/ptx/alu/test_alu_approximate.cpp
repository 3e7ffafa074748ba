// The approximate functions stay within the errors that the manual bounds, and keep its special values.
#include <catch2/catch_test_macros.hpp>

#include "float_oracle.h"

namespace bicrl::ptx {
namespace {

constexpr float kInfinity = INFINITY;

float single(const std::string& name, float a, float b = 0) {
  std::vector<Column> sources = {Column(32, word(a))};
  if (entry_of(name).sources[1] != Type::kNone) sources.push_back(Column(32, word(b)));
  return as<float>(run(entry_of(name), sources)[0][5]);
}
bool same(float a, float b) { return std::isnan(a) ? std::isnan(b) : word(a) == word(b); }

// Calls test(a, result) for numbers of all magnitudes between two.
template <class Test>
void for_numbers(const std::string& name, float low, float high, const Test& test) {
  std::mt19937_64 random(std::hash<std::string>{}(name));
  auto rank = [](float a) {
    int32_t bits = as<int32_t>(word(a));
    return bits < 0 ? INT32_MIN - int64_t{bits} : int64_t{bits};
  };
  auto number = [](int64_t at) {
    return as<float>(word(static_cast<uint32_t>(at < 0 ? INT32_MIN - at : at)));
  };
  for (int round = 0; round < 600; ++round) {
    Column column(kTestLanes);
    for (Word& lane : column) {
      float a = round % 2
                    ? number(rank(low) + static_cast<int64_t>(
                                             random() % static_cast<uint64_t>(rank(high) - rank(low) + 1)))
                    : static_cast<float>(low + (static_cast<double>(high) - low) *
                                                   (static_cast<double>(random() >> 11) * 0x1p-53));
      lane = word(a);
    }
    std::vector<Column> results = run(entry_of(name), {column});
    for (int lane = 0; lane < kTestLanes; ++lane) test(as<float>(column[lane]), as<float>(results[0][lane]));
  }
}
void check_relative(const std::string& name, float low, float high, double bound, double (*exact)(double)) {
  double worst = 0, at = 0;
  for_numbers(name, low, high, [&](float a, float result) {
    double expected = exact(a);
    double unit = std::max(std::abs(expected), 0x1p-126);  // of subnormal results the absolute error counts
    double error = std::abs(result - expected) / unit;
    if (!(error <= worst)) worst = error, at = a;
  });
  INFO(name << " at " << at << ": error of 2^" << std::log2(worst));
  CHECK(worst <= bound);
}
void check_absolute(const std::string& name, float low, float high, double bound, double (*exact)(double)) {
  double worst = 0, at = 0;
  for_numbers(name, low, high, [&](float a, float result) {
    double error = std::abs(result - exact(a));
    if (!(error <= worst)) worst = error, at = a;
  });
  INFO(name << " at " << at << ": error of 2^" << std::log2(worst));
  CHECK(worst <= bound);
}

TEST_CASE("approximate functions are close") {
  check_relative("ex2.approx.f32", -126, 127.99f, 0x1p-22, [](double a) { return std::exp2(a); });
  check_absolute("ex2.approx.f32", -150, -126, 0x1p-148, [](double a) { return std::exp2(a); });
  check_relative("lg2.approx.f32", 2, 0x1.fffffep127f, 0x1p-22, [](double a) { return std::log2(a); });
  check_relative("lg2.approx.f32", 0x1p-149f, 0.5f, 0x1p-22, [](double a) { return std::log2(a); });
  check_absolute("lg2.approx.f32", 0.5f, 2, 0x1p-22, [](double a) { return std::log2(a); });
  check_relative("rcp.approx.f32", 0x1p-126f, 0x1p126f, 0x1p-23, [](double a) { return 1 / a; });
  check_relative("sqrt.approx.f32", 0x1p-149f, 0x1.fffffep127f, 0x1p-23,
                 [](double a) { return std::sqrt(a); });
  check_relative("rsqrt.approx.f32", 0x1p-149f, 0x1.fffffep127f, 0x1.11p-23,
                 [](double a) { return 1 / std::sqrt(a); });
  check_absolute("sin.approx.f32", -3.15f, 3.15f, 0x1p-21, [](double a) { return std::sin(a); });
  check_absolute("cos.approx.f32", -3.15f, 3.15f, 0x1p-21, [](double a) { return std::cos(a); });
  check_absolute("sin.approx.f32", -1e6f, 1e6f, 0x1p-21, [](double a) { return std::sin(a); });
  check_absolute("cos.approx.f32", -1e6f, 1e6f, 0x1p-21, [](double a) { return std::cos(a); });
  check_relative("tanh.approx.f32", -20, 20, 0x1p-11, [](double a) { return std::tanh(a); });
}

// A program that needs more than the manual promises is wrong on a device, and has to be so here.
TEST_CASE("approximate functions are as coarse as a device's") {
  const auto worst = [](const char* name, float first, float step, double (*exact)(double)) {
    double error = 0;
    for (int i = 0; i < 4000; ++i) {
      const float a = first + step * static_cast<float>(i);
      error = std::max(error, std::abs(single(name, a) / exact(a) - 1));
    }
    return error;
  };
  for (const float first : {0.001f, 0.1f, 1.0f})
    CHECK(worst("tanh.approx.f32", first, first / 5000, [](double a) { return std::tanh(a); }) > 0x1p-12);
}

TEST_CASE("approximate functions of special numbers") {
  struct Row {
    const char* name;
    float argument, result;
  };
  const Row rows[] = {{"ex2.approx.f32", kInfinity, kInfinity},
                      {"ex2.approx.f32", -kInfinity, 0},
                      {"ex2.approx.f32", 0, 1},
                      {"ex2.approx.f32", 200, kInfinity},
                      {"ex2.approx.f32", -200, 0},
                      {"ex2.approx.f32", NAN, NAN},
                      {"ex2.approx.f32", 128, kInfinity},
                      {"ex2.approx.f32", -149, 0x1p-149f},
                      {"ex2.approx.ftz.f32", -130, 0},
                      {"ex2.approx.f32", 1e30f, kInfinity},
                      {"ex2.approx.f32", -1e30f, 0},
                      {"ex2.approx.f32", 10, 1024},
                      {"lg2.approx.f32", 0, -kInfinity},
                      {"lg2.approx.f32", -0.0f, -kInfinity},
                      {"lg2.approx.f32", -1, NAN},
                      {"lg2.approx.f32", kInfinity, kInfinity},
                      {"lg2.approx.f32", -kInfinity, NAN},
                      {"lg2.approx.f32", NAN, NAN},
                      {"lg2.approx.f32", 1, 0},
                      {"lg2.approx.f32", 8, 3},
                      {"lg2.approx.ftz.f32", 0x1p-130f, -kInfinity},
                      {"lg2.approx.f32", 0x1p-149f, -149},
                      {"sin.approx.f32", 0, 0},
                      {"sin.approx.f32", -0.0f, -0.0f},
                      {"sin.approx.f32", kInfinity, NAN},
                      {"cos.approx.f32", 0, 1},
                      {"cos.approx.f32", -kInfinity, NAN},
                      {"sin.approx.f32", NAN, NAN},
                      {"rcp.approx.f32", 0, kInfinity},
                      {"rcp.approx.f32", -0.0f, -kInfinity},
                      {"rcp.approx.f32", -kInfinity, -0.0f},
                      {"rcp.approx.ftz.f32", 0x1p-130f, kInfinity},
                      {"rcp.approx.ftz.f32", 0x1p127f, 0},
                      {"rsqrt.approx.f32", 0, kInfinity},
                      {"rsqrt.approx.f32", -0.0f, -kInfinity},
                      {"rsqrt.approx.f32", -1, NAN},
                      {"rsqrt.approx.f32", kInfinity, 0},
                      {"rsqrt.approx.f32", 4, 0.5f},
                      {"sqrt.approx.f32", -0.0f, -0.0f},
                      {"sqrt.approx.f32", -1, NAN},
                      {"sqrt.approx.ftz.f32", 0x1p-130f, 0},
                      {"tanh.approx.f32", kInfinity, 1},
                      {"tanh.approx.f32", -kInfinity, -1},
                      {"tanh.approx.f32", -0.0f, -0.0f},
                      {"tanh.approx.f32", NAN, NAN}};
  for (const Row& row : rows) {
    INFO(row.name << " " << row.argument << " -> " << single(row.name, row.argument));
    CHECK(same(single(row.name, row.argument), row.result));
  }
  CHECK(same(single("div.approx.f32", 6, 3), 2));
  CHECK(same(single("div.approx.f32", 6, 0x1p127f), 0));
  CHECK(same(single("div.approx.f32", kInfinity, 0x1p127f), NAN));
  CHECK(same(single("div.approx.f32", -1, 0), -kInfinity));
  CHECK(same(single("div.full.f32", 0x1p100f, 0x1p127f), 0x1p-27f));
}

TEST_CASE("approximate functions of half precision are close for all numbers") {
  struct Row {
    std::string name;
    const Format& format;
    double bound;
    double (*exact)(double);
  };
  auto exp2 = [](double a) { return std::exp2(a); };
  auto tanh = [](double a) { return std::tanh(a); };
  for (const Row& row : {Row{"ex2.approx.f16", kHalf, 0x1p-9, exp2},
                         {"tanh.approx.f16", kHalf, 0x1p-10, tanh},
                         {"tanh.approx.bf16", kBFloat, 0x1p-8, tanh},
                         {"ex2.approx.ftz.bf16", kBFloat, 0x1p-7, exp2}})
    for (int begin = 0; begin < 65536; begin += kTestLanes) {
      Column column;
      for (int i = 0; i < kTestLanes; ++i) column.push_back(begin + i);
      Column result = run(entry_of(row.name), {column})[0];
      for (int i = 0; i < kTestLanes; ++i) {
        const Format& f = row.format;
        INFO(row.name << " of " << begin + i);
        if (f.is_nan(begin + i)) {
          REQUIRE(result[i] == f.nan);
          continue;
        }
        double argument = f.size(begin + i) == f.infinity() ? (begin >> 15 ? -INFINITY : INFINITY)
                                                            : static_cast<double>(value_of(f, begin + i));
        double expected = row.exact(argument), largest = static_cast<double>(value_of(f, f.infinity() - 1));
        if (expected > largest) {
          REQUIRE(result[i] >= f.infinity() - 1);
          continue;
        }
        double smallest = static_cast<double>(value_of(f, Word{1} << f.fraction));
        if (row.name.find("ftz") != std::string::npos && expected < smallest) {
          REQUIRE((result[i] == 0 || result[i] == Word{1} << f.fraction));
          continue;
        }
        REQUIRE(std::abs(static_cast<double>(value_of(f, result[i])) - expected) <=
                row.bound * std::max(std::abs(expected), smallest));
      }
    }
}

TEST_CASE("coarse reciprocals of double precision") {
  Values values(51);
  for (std::string name : {"rcp.approx.ftz.f64", "rsqrt.approx.ftz.f64", "rsqrt.approx.f64"}) {
    Column column(kTestLanes);
    for (Word& lane : column)
      lane = word(std::ldexp(1 + static_cast<double>(values.random()() % 1000000) / 1e6,
                             static_cast<int>(values.random()() % 400) - 200));
    Column result = run(entry_of(name), {column})[0];
    for (int i = 0; i < kTestLanes; ++i) {
      double a = as<double>(column[i]), expected = name[1] == 'c' ? 1 / a : 1 / std::sqrt(a);
      CHECK(std::abs(as<double>(result[i]) - expected) <= 0x1p-19 * expected);
      if (name.find("ftz") != std::string::npos) CHECK((result[i] & 0xffffffff) == 0);
    }
  }
}

}  // namespace
}  // namespace bicrl::ptx
