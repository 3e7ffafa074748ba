#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/rng.h"
#include "sandbox/interpreter/ptx/lowering/slots.h"
#include "tests/ptx/ptx_text.h"
#include "tests/ptx/random_function.h"

namespace bicrl::ptx {
namespace {

using namespace testing;
using Catch::Matchers::ContainsSubstring;

void use(const std::string& text) {
  const auto module = parse_module(text);
  if (!module.ok()) {
    CHECK_THAT(module.reason(), ContainsSubstring("PTX"));
    return;
  }
  for (const Function& function : module.value().functions) {
    const RegisterSlots slots = assign_slots(function, make_control_flow(function));
    CHECK(slots.offsets.size() == function.registers.size());
  }
}

std::string repeated(const std::string& piece, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += piece;
  return out;
}

// Everything that the grammar has, on little room.
const std::string kSample = kHead + R"(
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.global .u64 p[2][2] = {{generic(p)+8, vprintf}, {1}};
.global .b8 m[9] = {1, 0xFF(p), 0xFF00(p), 0xFF0000(p), 0xFF000000(p), 0xFF00000000(p), 0xFF0000000000(p), 0xFF000000000000(p), 0xFF00000000000000(p)};
.global .f32 f = 0f3F800000;
.visible .entry k(.param .align 8 .b8 x[16]) .maxntid 128, 1, 1 {
.reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<3>; .shared .align 4 .b8 s[4*4]; .loc 1 2 3
ts: .branchtargets A, B;
pr: .callprototype (.param .b32 _) _ (.param .b32 _);
A: ld.param.v2.u32 {%r1, _}, [x+8]; setp.lt.s32 %p1|%p2, %r1, -0x1F; @!%p1 bra B; brx.idx %r1, ts;
{ .reg .b32 q; .param .b32 c; mov.b32 q, %tid.x; st.param.b32 [c], q; call (c), %rd1, (c), pr; }
B: bar.sync 0; mov.f64 %rd1, 1.5e-3; call (%r3), vprintf, (%rd1, %rd2); ret; }
.section .debug { .b8 1 } .file 1 "a.cu" /* end */ // end
)";

}  // namespace

TEST_CASE("text that was cut off anywhere is refused or read") {
  REQUIRE((parse_module(kSample).ok() ? "" : parse_module(kSample).reason()) == "");
  for (size_t length = 0; length < kSample.size(); ++length) use(kSample.substr(0, length));
}

TEST_CASE("text with any changes is refused or read") {
  RandomStream random(mix_key({5, 6}));
  const auto place = [&](const std::string& text) { return random.below(text.size() + 1); };
  for (int round = 0; round < 30000; ++round) {
    std::string text = kSample;
    for (uint64_t changes = 1 + random.below(4); changes > 0; --changes) {
      const size_t at = place(text), length = random.below(24);
      const uint64_t kind = random.below(4);
      if (kind == 0) text.erase(at, length);
      if (kind == 1 && at < text.size()) text[at] = static_cast<char>(random.below(256));
      if (kind == 2) text.insert(at, text.substr(place(text), length));
      if (kind == 3) text.insert(at, repeated(text.substr(at, 1), length));
    }
    use(text);
  }
}

TEST_CASE("more than the limits is refused") {
  const std::pair<std::string, const char*> kTooMuch[] = {
      {repeated("ret;", 500001), "instructions"},
      {".reg .b32 %x<4000001>;", "registers"},
      {".reg .b32 %x<4294967295>;", "registers"},
      {"{ .reg .b32 %x<2000000>; } { .reg .b32 %x<2000000>; } { .reg .b32 %x<2000000>; }", "registers"},
      {repeated("{ .reg .b32 a; }", 1000001), "names"},
      {"L: t: .branchtargets L" + repeated(",L", 1000000) + ";", "branch targets"},
      {repeated("{", 100), "nested"},
      {"ret" + repeated(".a", 30) + ";", "modifiers"},
      {"op {1" + repeated(",1", 300) + "};", "elements"},
      {"op 1" + repeated(",1", 600) + ";", "operands"},
      {repeated("op 1" + repeated(",1", 500) + ";", 6200), "operands"},
      {"L: t: .branchtargets L" + repeated(",L", 20000) + ";" + repeated("brx.idx %r1, t;", 60),
       "branch targets"},
  };
  for (const auto& [body, what] : kTooMuch) CHECK_THAT(body_refusal(body), ContainsSubstring(what));
  CHECK_THAT(parse_module(std::string((16 << 20) + 1, ' ')).reason(), ContainsSubstring("too long"));
  CHECK_THAT(refusal(".global .b8 x[17000000000] = {1}; .global .b8 y[17000000000];"),
             ContainsSubstring("variables"));
  CHECK_THAT(refusal(".global .b8 x[2][100000000] = {{1}, {1}};"), ContainsSubstring("initial values"));
}

TEST_CASE("the place of an initial value does not overflow") {
  // Row 42799 begins 8 bytes before 2^64.
  const std::string text = ".global .b64 x[][31833193][6769801] = {" + repeated("{},", 42799) + "{{1}}};";
  CHECK_THAT(refusal(text), ContainsSubstring("too large initial values"));
}

TEST_CASE("long texts of every kind are read") {
  // Quadratic time in any of these would take minutes.
  std::string many_names, many_labels, many_ranges, many_uses, many_functions;
  for (int i = 0; i < 100000; ++i) {
    many_names += concat(".reg .b32 a", i, "_;");
    many_ranges += concat(".reg .b32 a", i, "_<3>; mov.b32 a", i, "_1, 0;");
    many_labels += concat("L", i, ": @%p1 bra L", 99999 - i, ";");
    many_functions += concat(".func f", i, "() { .reg .b32 %r<9>; mov.b32 %r1, 0; }");
  }
  for (int i = 0; i < 60; ++i) many_uses += "{";
  for (int i = 0; i < 100000; ++i) many_uses += "bra END;";
  many_uses += repeated("}", 60) + "END: ret;";
  const std::string shadowing =
      repeated("{ .reg .b32 %r<1>; ", 60) + repeated("mov.b32 %r9, 1;", 100000) + repeated("}", 60);
  for (const std::string& body :
       {many_names, many_labels, many_ranges, many_uses, shadowing, repeated("/* */", 1000000),
        repeated("ts: .branchtargets ts1; ts1: ret;", 1), repeated("{}", 1000000)})
    use(kHead + kernel_text(body));
  use(kHead + many_functions);
  use(kHead + repeated("\n", 10000000));
  use(kHead + ".section .x {" + repeated("{", 1000000) + repeated("}", 1000001));
}

}  // namespace bicrl::ptx
