#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>

#include "tests/ptx/ptx_text.h"

namespace bicrl::ptx {
namespace {

using namespace testing;
using Catch::Matchers::ContainsSubstring;

const Variable& variable(const Module& module, const std::string& name) {
  for (const Variable& v : module.variables)
    if (v.name == name) return v;
  FAIL("no variable " << name);
  throw 0;
}

template <class T>
std::vector<T> values(const Variable& v) {
  std::vector<T> out(v.bytes / sizeof(T));
  std::string bytes = v.initial;
  bytes.resize(v.bytes);
  std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
  return out;
}

}  // namespace

TEST_CASE("variables have a space, a size and an alignment") {
  const Module module = parsed(R"(
.visible .global .align 16 .b8 raw[100];
.const .f32 table[4][8];
.shared .u16 a, b[3];
.extern .shared .align 32 .b8 dynamic[];
.global .v4 .f32 quad;
.weak .global .u64 w;
.global .align 2 .b64 low;
)");
  CHECK(variable(module, "raw").bytes == 100);
  CHECK(variable(module, "raw").alignment == 16);
  CHECK(variable(module, "table").bytes == 128);
  CHECK(variable(module, "table").space == Space::kConst);
  CHECK(variable(module, "table").alignment == 4);
  CHECK(variable(module, "a").bytes == 2);
  CHECK(variable(module, "b").bytes == 6);
  CHECK(variable(module, "dynamic").unsized);
  CHECK(variable(module, "dynamic").bytes == 0);
  CHECK(variable(module, "dynamic").alignment == 32);
  CHECK(variable(module, "quad").bytes == 16);
  CHECK(variable(module, "quad").alignment == 16);
  CHECK(variable(module, "low").alignment == 2);
}

TEST_CASE("initial values of every kind") {
  const Module module = parsed(R"(
.global .u32 one = 42;
.global .s16 neg[3] = {-1, 0x7FFF};
.global .f32 f[4] = {0f3FC00000, 1.5, 2., 0d3FF8000000000000};
.global .f64 d[2] = {-0.5, 0f3FC00000};
.global .b8 text[] = {104, 105, 0};
.global .s32 grid[2][3] = {{1, 2}, {4, 5, 6}};
.global .b32 raw = 0f3FC00000;
.global .u64 big = 18446744073709551615;
)");
  CHECK(values<uint32_t>(variable(module, "one")) == std::vector<uint32_t>{42});
  CHECK(values<int16_t>(variable(module, "neg")) == std::vector<int16_t>{-1, 0x7FFF, 0});
  CHECK(values<float>(variable(module, "f")) == std::vector<float>{1.5f, 1.5f, 2.0f, 1.5f});
  CHECK(values<double>(variable(module, "d")) == std::vector<double>{-0.5, 1.5});
  CHECK(values<uint32_t>(variable(module, "raw")) == std::vector<uint32_t>{0x3FC00000});
  CHECK(variable(module, "text").bytes == 3);
  CHECK_FALSE(variable(module, "text").unsized);
  CHECK(variable(module, "text").initial == std::string("hi\0", 3));
  CHECK(values<int>(variable(module, "grid")) == std::vector<int>{1, 2, 0, 4, 5, 6});
  CHECK(values<uint64_t>(variable(module, "big")) == std::vector<uint64_t>{UINT64_MAX});
}

TEST_CASE("addresses as initial values") {
  const Module module = parsed(R"(
.func f() { ret; }
.extern .global .u32 later;
.global .u64 p[4] = {generic(later)+8, later, f, 7};
.global .u64 q = p + -4;
.global .u64 self = generic(self);
.visible .global .u32 later = 5;
.global .b8 bytes[16] = {1, 0, 0, 0, 0, 0, 0, 0, 0xFF(generic(q)+16), 0xFF00(generic(q)+16), 0xFF0000(generic(q)+16),
  0xFF000000(generic(q)+16), 0xFF00000000(generic(q)+16), 0xFF0000000000(generic(q)+16), 0xFF000000000000(generic(q)+16),
  0xFF00000000000000(generic(q)+16)};
)");
  CHECK(module.variables.size() == 5);
  CHECK_FALSE(variable(module, "later").is_declared_only);
  CHECK(values<uint32_t>(variable(module, "later")) == std::vector<uint32_t>{5});
  const auto& p = variable(module, "p");
  REQUIRE(p.relocations.size() == 3);
  CHECK(module.variables[p.relocations[0].target].name == "later");
  CHECK(p.relocations[0].addend == 8);
  CHECK(p.relocations[1].offset == 8);
  CHECK(p.relocations[1].addend == 0);
  CHECK(p.relocations[2].to_function);
  CHECK(module.functions[p.relocations[2].target].name == "f");
  CHECK(values<uint64_t>(p) == std::vector<uint64_t>{0, 0, 0, 7});
  CHECK(variable(module, "q").relocations.at(0).addend == -4);
  CHECK(module.variables[variable(module, "self").relocations.at(0).target].name == "self");
  const auto& bytes = variable(module, "bytes");
  REQUIRE(bytes.relocations.size() == 1);
  CHECK(bytes.relocations[0].offset == 8);
  CHECK(bytes.relocations[0].addend == 16);
  CHECK(bytes.initial[0] == 1);
}

TEST_CASE("declarations that contradict each other or make no sense are refused") {
  const std::pair<const char*, const char*> kBad[] = {
      {".global .u32 x; .global .u32 x;", "defined twice"},
      {".extern .global .u32 x; .global .u64 x;", "two ways"},
      {".extern .global .u32 x; .const .u32 x;", "two ways"},
      {".global .u32 x[2] = {1, 2, 3};", "more initial values"},
      {".global .u32 x[0];", "no size"},
      {".global .u32 x[];", "size of an array is missing"},
      {".global .u32 x[2][];", "only the first"},
      {".global .align 3 .u32 x;", "no alignment"},
      {".global .u32 x = y;", "not 64 bits"},
      {".global .u64 x = y;", "unknown name \"y\""},
      {".global .u32 x = 1.5;", "floating-point value"},
      {".global .f32 x = 1;", "an integer"},
      {".global .u32 x[2] = {1,};", "a number is missing"},
      {".global .u32 x[2][2] = {1, 2};", "'{' is missing"},
      {".shared .u32 s; .global .u64 x = generic(s);", "has no address"},
      {".global .pred x;", "unsupported: .pred"},
      {".global .u32 .u32 x;", "two types"},
      {".global x;", "type is missing"},
      {".shared .u32 x = 1;", "initial values"},
      {".param .u32 x;", "outside a function"},
      {".global .b8 x[9] = {0xFF(x)};", "only some bytes"},
      {".global .b8 x[9] = {0xFF00(x)};", "only some bytes"},
      {".global .u8 x[1000000][1000000];", "too large"},
      {".global .u8 x[4000000000] = {1}, y[4000000000], z[4000000000], u[4000000000], v[4000000000];",
       "too large"},
      {".shared .u8 x[2000000];", "too large"},
      {".global .u8 x[2][8000000000] = {{1}, {2}};", "initial values"},
      {".global .b64 x[][576460752303423487] = {{}, {}, {1}};", "initial values"},
  };
  for (const auto& [text, reason] : kBad) CHECK_THAT(refusal(text), ContainsSubstring(reason));
  CHECK_THAT(body_refusal(".local .u32 x; .shared .u32 x;"), ContainsSubstring("twice"));
}

}  // namespace bicrl::ptx
