#include "sandbox/interpreter/ptx/syntax/parser.h"

#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/ptx/ptx_text.h"

namespace bicrl::ptx {
namespace {

using namespace testing;
using Catch::Matchers::ContainsSubstring;
using OperandKind = Operand::Kind;

Instruction one(const std::string& text) {
  const Function function = function_of(text);
  REQUIRE(function.body.size() == 1);
  return function.body[0];
}

Operand constant(const std::string& text) { return one("mov.b64 %rd1, " + text + ";").operands.at(1); }

std::string register_name(const Function& function, const Operand& operand) {
  REQUIRE(operand.kind == OperandKind::kRegister);
  return function.registers.at(operand.index).name;
}

}  // namespace

TEST_CASE("a module says its version and target") {
  const auto module = parse_module(".version 8.7 .target sm_90a, debug .address_size 64");
  REQUIRE(module.ok());
  CHECK(module.value().version_major == 8);
  CHECK(module.value().version_minor == 7);
  CHECK(module.value().target == "sm_90a");
  CHECK_FALSE(parse_module("").ok());
  CHECK_FALSE(parse_module(".target sm_90").ok());
  CHECK_FALSE(parse_module(".version 9.0 .address_size 32").ok());
  CHECK_FALSE(parse_module(".version 9").ok());
}

TEST_CASE("an instruction has an opcode, modifiers, a guard and operands") {
  const Function function =
      function_of("/* a\ncomment */ @!%p1 ld.global.nc.L1::no_allocate.v2.f32 {%r1, _}, [%rd2+-8]; // c");
  const Instruction& load = function.body.at(0);
  CHECK(load.opcode == "ld");
  CHECK(load.modifiers == std::vector<std::string>{"global", "nc", "L1::no_allocate", "v2", "f32"});
  CHECK(load.name() == "ld.global.nc.L1::no_allocate.v2.f32");
  CHECK(load.has("nc"));
  CHECK_FALSE(load.has("n"));
  CHECK(function.registers.at(load.guard).name == "%p1");
  CHECK(load.guard_negated);
  CHECK(load.text_line == 12);
  REQUIRE(load.operands.size() == 2);
  CHECK(load.operands[0].kind == OperandKind::kVector);
  CHECK(register_name(function, load.operands[0].elements.at(0)) == "%r1");
  CHECK(load.operands[0].elements.at(0).type == Type::kB32);
  CHECK(load.operands[0].elements.at(1).kind == OperandKind::kSink);
  CHECK(load.operands[1].kind == OperandKind::kAddress);
  CHECK(load.operands[1].bits == -8);
  CHECK(register_name(function, load.operands[1].elements.at(0)) == "%rd2");
}

TEST_CASE("an opcode that nobody knows is kept") {
  const Instruction odd = one("frobnicate.async.2d.m16n8k16 %r1, [16], 3;");
  CHECK(odd.name() == "frobnicate.async.2d.m16n8k16");
  CHECK(odd.operands.at(1).elements.at(0).kind == OperandKind::kInteger);
  CHECK(odd.operands.at(1).elements.at(0).bits == 16);
}

TEST_CASE("numbers are read in every notation") {
  CHECK(constant("0x1F").bits == 31);
  CHECK(constant("0XffU").bits == 255);
  CHECK(constant("017").bits == 15);
  CHECK(constant("0").bits == 0);
  CHECK(constant("0b101").bits == 5);
  CHECK(constant("-3").bits == -3);
  CHECK(constant("18446744073709551615").bits == -1);
  CHECK(constant("-9223372036854775808").bits == INT64_MIN);
  CHECK(constant("42U").bits == 42);
  CHECK(constant("WARP_SZ").bits == 32);
  const Operand single = constant("0f3FC00000"), twice = constant("0dBFF8000000000000"),
                decimal = constant("1.5e-3");
  CHECK(single.kind == OperandKind::kFloat);
  CHECK(single.type == Type::kF32);
  CHECK(single.bits == 0x3FC00000);
  CHECK(constant("-0f3FC00000").bits == 0xBFC00000);
  CHECK(twice.type == Type::kF64);
  CHECK(std::bit_cast<double>(twice.bits) == -1.5);
  CHECK(std::bit_cast<double>(decimal.bits) == 1.5e-3);
  CHECK(std::bit_cast<double>(constant("-2.0").bits) == -2.0);
  CHECK(std::bit_cast<double>(constant("1e3").bits) == 1000.0);
  CHECK(std::bit_cast<double>(constant("1.").bits) == 1.0);
  CHECK(std::bit_cast<double>(constant("1.e+3").bits) == 1000.0);
  CHECK(std::bit_cast<double>(constant("-.5").bits) == -0.5);
  for (const char* bad : {"0x", "08", "0f12345", "0d1", "18446744073709551616", "1.5.2", "12abc", "1.x", ".x",
                          "1..", "0f3FC00000U"})
    CHECK_THAT(body_refusal(concat("mov.b64 %rd1, ", bad, ";")), ContainsSubstring("PTX line 11"));
}

TEST_CASE("expressions of constants are computed") {
  CHECK(constant("2+3*4").bits == 14);
  CHECK(constant("(2 + 3) * -4").bits == -20);
  CHECK(constant("1 << 4 | 1").bits == 17);
  CHECK(constant("~0 ^ 5").bits == ~5);
  CHECK(constant("17 / 5 - 17 % 5").bits == 1);
  CHECK(constant("-8 >> 1").bits == -4);
  CHECK(constant("10-3-2").bits == 5);
  CHECK(constant("-9223372036854775808 / -1").bits == INT64_MIN);
  CHECK_THAT(body_refusal("mov.b64 %rd1, 1/0;"), ContainsSubstring("divided by zero"));
  CHECK_THAT(body_refusal("mov.b64 %rd1, 1<<64;"), ContainsSubstring("shifted"));
  CHECK_THAT(body_refusal("mov.b64 %rd1, " + std::string(1000, '(') + "1;"), ContainsSubstring("deeply"));
  CHECK_THAT(body_refusal("mov.b64 %rd1, " + std::string(1000, '-') + "1;"), ContainsSubstring("deeply"));
}

TEST_CASE("special registers, and those of clusters as in a launch without") {
  CHECK(one("mov.u32 %r1, %ctaid.z;").operands.at(1).special == Special::kCtaidZ);
  CHECK(one("mov.u64 %rd1, %clock64;").operands.at(1).special == Special::kClock64);
  CHECK(one("mov.u32 %r1, %lanemask_lt;").operands.at(1).special == Special::kLaneMaskLt);
  CHECK(one("mov.u32 %r1, %clusterid.x;").operands.at(1).special == Special::kCtaidX);
  CHECK(one("mov.u32 %r1, %cluster_nctarank;").operands.at(1).bits == 1);
  CHECK(to_string(Special::kCtaidX) == "%ctaid.x");
  CHECK_THAT(body_refusal("mov.u32 %r1, %pm0;"), ContainsSubstring("unsupported: the register \"%pm0\""));
}

TEST_CASE("destinations in pairs, negated predicates, variables with offsets") {
  const Function function = function_of(
      ".shared .align 4 .b8 s[64];\nsetp.lt.and.s32 %p1|%p2, %r1, 3, !%p3;\nshfl.sync.idx.b32 %r2|_, %r1, 0, "
      "31, -1;\n"
      "mov.u64 %rd1, s+12;\nld.param.u64 %rd2, [k_param_0];");
  const Operand& pair = function.body[0].operands.at(0);
  CHECK(pair.kind == OperandKind::kPair);
  CHECK(register_name(function, pair.elements.at(0)) == "%p1");
  CHECK(register_name(function, pair.elements.at(1)) == "%p2");
  CHECK(function.body[0].operands.at(3).negated);
  CHECK(function.body[1].operands.at(0).elements.at(1).kind == OperandKind::kSink);
  CHECK(function.body[2].operands.at(1).kind == OperandKind::kVariable);
  CHECK(function.body[2].operands.at(1).index == function.variables.at(0));
  CHECK(function.body[2].operands.at(1).bits == 12);
  CHECK(function.body[3].operands.at(1).elements.at(0).index == function.prototype.parameters.at(0));
  CHECK_THAT(body_refusal("setp.lt.s32 %p1|3, %r1, %r2;"), ContainsSubstring("'|'"));
  CHECK_THAT(body_refusal("and.pred %p1, !%r1, %p2;"), ContainsSubstring("'!'"));
}

TEST_CASE("names of inner scopes hide outer ones, and end with their scope") {
  const Function function = function_of(
      "mov.b32 %r1, 1;\n{ .reg .b64 %r<3>; .reg .b32 t; mov.b64 %r1, 2; mov.b32 %r7, 3; { .reg .b16 t; "
      "mov.b16 t, 1; } "
      "mov.b32 t, 4; }\nmov.b32 %r1, 5;\n{ .reg .f32 %r1; mov.f32 %r1, 0f00000000; }");
  std::vector<Type> types;
  for (const Instruction& instruction : function.body) types.push_back(instruction.operands.at(0).type);
  CHECK(types ==
        std::vector{Type::kB32, Type::kB64, Type::kB32, Type::kB16, Type::kB32, Type::kB32, Type::kF32});
  CHECK(function.body[0].operands[0].index == function.body[5].operands[0].index);
  CHECK(function.registers.size() == 6);
  CHECK_THAT(body_refusal("{ .reg .b32 t; } mov.b32 t, 1;"), ContainsSubstring("unknown name \"t\""));
  CHECK_THAT(body_refusal("mov.b32 %r64, 1;"), ContainsSubstring("%r64"));
  CHECK_THAT(body_refusal("mov.b32 %r01, 1;"), ContainsSubstring("%r01"));
  CHECK_THAT(body_refusal(".reg .b32 %r<2>;"), ContainsSubstring("twice"));
}

TEST_CASE("labels belong to their scope, and may follow their use") {
  // What inline text does that is expanded twice.
  const std::string wait =
      "{\n.reg .pred q;\nAGAIN:\nsetp.eq.s32 q, %r1, 0;\n@q bra DONE;\nbra.uni AGAIN;\nDONE:\n}\n";
  const Function function = function_of("bra DONE;\n" + wait + wait + "DONE: ret;\nEND:");
  const auto target = [&](size_t i) { return function.labels.at(function.body.at(i).operands.at(0).index); };
  CHECK(target(0) == 7);
  CHECK(target(2) == 4);
  CHECK(target(3) == 1);
  CHECK(target(5) == 7);
  CHECK(target(6) == 4);
  CHECK(function.labels.back() == function.body.size());
  CHECK(function.label_names.back() == "END");
  const Function nested = function_of("X: ret;\n{ { bra X; }\nX: ret; }");
  CHECK(nested.labels.at(nested.body.at(1).operands.at(0).index) ==
        2);  // the nearest scope's, though it is later
  CHECK_THAT(body_refusal("ret;\nbra NOWHERE;"), ContainsSubstring("PTX line 12: unknown label \"NOWHERE\""));
  CHECK_THAT(body_refusal("{ IN: ret; } bra IN;"), ContainsSubstring("unknown label"));
  CHECK_THAT(body_refusal("A: ret; A: ret;"), ContainsSubstring("twice"));
}

TEST_CASE("indexed branches") {
  const Function function =
      function_of("ts: .branchtargets L1, L0, L1;\n@%p1 brx.idx %r1, ts;\nL0: ret;\nL1: exit;");
  CHECK(function.body[0].operands.at(1).kind == OperandKind::kTargets);
  const auto& targets = function.branch_targets.at(function.body[0].operands[1].index);
  REQUIRE(targets.size() == 3);
  CHECK(function.labels[targets[0]] == 2);
  CHECK(function.labels[targets[1]] == 1);
  CHECK_THAT(body_refusal("L: brx.idx %r1, L;"), ContainsSubstring("no operand"));
  CHECK_THAT(body_refusal("ts: .branchtargets L9; brx.idx %r1, ts;"), ContainsSubstring("unknown label"));
}

TEST_CASE("functions, their prototypes and calls") {
  const Module module = parsed(R"(
.func (.param .b32 func_retval0) twice(.param .b32 p0, .param .align 8 .b8 p1[24]);
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b) ;
.func stop() .noreturn { exit; }
.visible .func (.param .b32 func_retval0) twice(.param .b32 p0, .param .align 8 .b8 p1[24])
{
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [p0];
  st.param.b32 [func_retval0+0], %r1;
  ret;
}
.visible .entry k(.param .u64 .ptr .global .align 16 x, .param .f32 y)
.maxntid 128, 2
.reqntid 64
.minnctapersm 3
.maxnreg 40
{
  .reg .b32 %r<3>; .reg .b64 %rd<3>;
  { // callseq
  .param .b32 param0; .param .align 8 .b8 param1[24]; .param .b32 retval0;
  call.uni (retval0), twice, (param0, param1);
  }
  call stop;
  call stop, ();
  { .param .b32 param0; .param .b32 retval0;
  proto : .callprototype (.param .b32 _) _ (.param .b32 _, .param .b64 _);
  call (retval0), %rd1, (param0, %rd2), proto;
  names: .calltargets twice;
  call (retval0), %rd1, (param0, 5), names; }
  mov.u64 %rd1, twice;
  ret;
})");
  REQUIRE(module.functions.size() == 4);
  const Function& twice = module.functions[0];
  CHECK_FALSE(twice.is_declared_only);
  CHECK(twice.body.size() == 3);
  REQUIRE(twice.prototype.parameters.size() == 2);
  const Variable& block = module.variables[twice.prototype.parameters[1]];
  CHECK(block.bytes == 24);
  CHECK(block.alignment == 8);
  CHECK(block.space == Space::kParam);
  CHECK(twice.body[1].operands[0].elements[0].index == twice.prototype.returns.at(0));
  CHECK(module.functions[1].is_declared_only);
  CHECK(module.functions[1].prototype.parameters.size() == 2);
  CHECK(module.functions[2].prototype.no_return);
  const Function* k = module.find_entry("k");
  REQUIRE(k);
  CHECK_FALSE(module.find_entry("twice"));
  CHECK(k->bounds.max_threads[0] == 128);
  CHECK(k->bounds.max_threads[1] == 2);
  CHECK(k->bounds.max_threads[2] == 1);
  CHECK(k->bounds.required_threads[0] == 64);
  CHECK(k->bounds.min_blocks == 3);
  CHECK(k->bounds.max_registers == 40);
  const Instruction& direct = k->body[0];
  CHECK(direct.returns == 1);
  REQUIRE(direct.operands.size() == 4);
  CHECK(direct.operands[0].kind == OperandKind::kVariable);
  CHECK(module.variables[direct.operands[0].index].name == "retval0");
  CHECK(direct.operands[1].kind == OperandKind::kFunction);
  CHECK(direct.operands[1].index == 0);
  CHECK(module.variables[direct.operands[3].index].bytes == 24);
  CHECK(k->body[1].operands.size() == 1);
  CHECK(k->body[2].operands.size() == 1);
  const Instruction& indirect = k->body[3];
  CHECK(indirect.operands[1].kind == OperandKind::kRegister);
  REQUIRE(indirect.prototype == 0);
  CHECK(k->prototypes[0].returns.size() == 1);
  REQUIRE(k->prototypes[0].parameters.size() == 2);
  CHECK(module.variables[k->prototypes[0].parameters[1]].bytes == 8);
  CHECK(k->prototypes.at(k->body[4].prototype).parameters == twice.prototype.parameters);
  CHECK(k->body[5].operands[1].kind == OperandKind::kFunction);

  CHECK_THAT(body_refusal("call nothing;"), ContainsSubstring("unknown name \"nothing\""));
  CHECK_THAT(body_refusal("call %rd1, ();"), ContainsSubstring("without a prototype"));
  CHECK_THAT(refusal(".func f() {ret;} .func f() {ret;}"), ContainsSubstring("defined twice"));
  CHECK_THAT(refusal(".func f() {ret;} .entry f() {ret;}"), ContainsSubstring("two ways"));
  CHECK_THAT(refusal(".global .u32 f; .func f() {ret;}"), ContainsSubstring("two ways"));
  CHECK_THAT(refusal(".func f(.reg .b32 x) {ret;}"), ContainsSubstring("unsupported: .reg as a parameter"));
}

TEST_CASE("a function knows its own name, and that of a later function does not reach back") {
  CHECK(parsed(".func f() { call f; ret; }").functions[0].body[0].operands[0].index == 0);
  CHECK_THAT(refusal(".func f() { call g; ret; } .func g() { ret; }"), ContainsSubstring("\"g\""));
}

TEST_CASE("where instructions come from") {
  const Module module = parsed(kernel_text("ret;\n.loc 7 12 3\nret;\n.loc 2 5 1, function_name "
                                           "$L__info_string0 + 4, inlined_at 7 12 3\nret;") +
                               ".file 2 \"b.h\"\n.file 7 \"a.cu\", 0, 12\n");
  const auto& body = module.functions[0].body;
  CHECK(body[0].source.line == 0);
  CHECK(module.files.at(body[1].source.file) == "a.cu");
  CHECK(body[1].source.line == 12);
  CHECK(module.files.at(body[2].source.file) == "b.h");
  CHECK(body[2].source.line == 5);
}

TEST_CASE("directives that mean nothing to an execution are skipped") {
  const Module module = parsed(
      ".pragma \"unroll\";\n.section .debug_str\n{\n$L__info_string0:\n.b8 95,90\n.b64 $L__tmp1+8\n{}}\n" +
      kernel_text(".pragma \"nounroll\", \"x\";\n$L__tmp0: .pragma \"a\\\"b\"; ret;"));
  CHECK(module.functions[0].body.size() == 1);
  CHECK(module.functions[0].labels.size() == 1);
}

TEST_CASE("what is not supported is named, with its line") {
  CHECK(refusal(".global .texref t;") == "PTX line 4: unsupported: .texref");
  CHECK(refusal("\n.alias a, b;") == "PTX line 5: unsupported: .alias");
  CHECK(refusal(".global .attribute(.managed) .u32 x;") == "PTX line 4: unsupported: .attribute");
  CHECK_THAT(refusal(".entry k() .reqnctapercluster 2 { ret; }"), ContainsSubstring("unsupported: clusters"));
  CHECK(parsed(".entry k() .explicitcluster .reqnctapercluster 1, 1 { ret; }").functions[0].body.size() == 1);
  CHECK_THAT(body_refusal(".reg .v4 .f32 v;"), ContainsSubstring("unsupported: registers of type .v4"));
  CHECK_THAT(body_refusal("vadd.s32 %r1, %r2.b0, %r3;"), ContainsSubstring("parts of registers"));
  CHECK_THAT(body_refusal("tex.2d [%rd1, {%r1, %r2}];"), ContainsSubstring("coordinates"));
  CHECK_THAT(body_refusal(".local_thing 5;"), ContainsSubstring(".local_thing"));
}

TEST_CASE("text with errors is refused, with its line") {
  for (const char* bad : {"mov.b32 %r1 %r2;", "mov.b32 %r1, ;", "mov.b32 %r1, %r2", "ld.b32 %r1, [%rd1;",
                          "@%r1 ret;", "@ret;", "mov.b32 {%r1, %r2;", "add.s32 %r1, [%rd1 + %r1];",
                          "/* no end", "mov.b32 \"s\";", ".reg .b32;", ".reg .b32 x<-1>;", "call (%r1;",
                          ". ret;", "ret; }}", "bra;", ";", "ld.b32 %r1, [%rd1-8];", "\"no end\n"})
    CHECK_THAT(body_refusal(bad), ContainsSubstring("PTX line "));
}

}  // namespace bicrl::ptx
