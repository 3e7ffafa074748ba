// Host units to modules by the warm compiler: what it makes, what it says of texts that cannot be compiled,
// and what hostile texts can do to it.
#include "sandbox/frontend/host_module.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <thread>

#include "tests/sandbox/oracle/oracle_support.h"
#include "tests/sandbox/service/service_support.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;

// Limits of time that only a text without an end meets.
HostModules& modules() {
  static HostModules made(testing::box_host(), testing::python_install(),
                          {.cpu_s = 600, .module_bytes = 1u << 20});
  return made;
}

const std::string kPlain = "#include \"bicrl/prelude.h\"\n", kStandard = "#include \"bicrl/prelude_std.h\"\n";

HostModule compile(const std::string& text, HostModules& by = modules()) {
  SplitProgram program;
  program.units.push_back({"candidate.cpp", text});
  const HostModule module = by.compile(program);
  INFO(module.fault.reason);
  CHECK_FALSE(module.fault.is_infrastructure());
  return module;
}

void check_compiles(HostModules& by = modules()) {
  static int number = 0;
  const HostModule module =
      compile(kPlain + "int alive() { return " + std::to_string(++number) + "; }\n", by);
  INFO(module.fault.reason);
  REQUIRE(module.bytes);
  CHECK(module.bytes->starts_with("\x7f\x45LF"));
}

TEST_CASE("a host part that uses an API its headers lack is unsupported by name") {
  for (const auto& [text, name] :
       {std::pair<std::string, std::string>{
            "void f(cudaStream_t s) { cudaStreamAttrValue a; a.accessPolicyWindow.num_bytes = 1; "
            "cudaStreamSetAttribute(s, cudaStreamAttributeAccessPolicyWindow, &a); }\n",
            "cudaStreamAttrValue"},
        {"py::tuple f(torch::Tensor x) { return py::make_tuple(x, x); }\n", "tuple"},
        {"void f(py::dict d) {}\n", "dict"},
        {"void f(cudaDeviceProp p) { p.clusterLaunch = 1; }\n", "clusterLaunch"},
        {"torch::Tensor f(torch::Tensor x, at::ScalarType t) { return x; }\n"
         "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def(\"f\", &f); }\n",
         "c10::ScalarType"},
        {"extern \"C\" int cudaStreamAttachMemAsync(void*);\nint f() { return "
         "cudaStreamAttachMemAsync(nullptr); }\n"
         "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def(\"f\", &f); }\n",
         "cudaStreamAttachMemAsync"}}) {
    const HostModule module = compile(kStandard + text);
    INFO(text << module.fault.reason);
    CHECK(module.fault.is(FaultClass::kUnsupported));
    CHECK_THAT(module.fault.reason, ContainsSubstring("'" + name + "'"));
  }
  CHECK(compile(kStandard + "void f() { cudaStreamSetAtribute(); }\n").fault.is(FaultClass::kCompile));
}

TEST_CASE("units of both preludes become modules") {
  check_compiles();
  const HostModule standard = compile(
      kStandard + "std::vector<int> made() { return {1, 2, 3}; }\nint count() { return made().size(); }\n");
  INFO(standard.fault.reason);
  CHECK(standard.bytes);
  SplitProgram two;
  two.units = {{"candidate.cpp", kPlain + "int two();\nint one() { return two(); }\n"},
               {"bindings.cpp", kStandard + "int two() { return std::string(\"ab\").size(); }\n"}};
  const HostModule joined = modules().compile(two);
  INFO(joined.fault.reason);
  CHECK(joined.bytes);
}

TEST_CASE("who comes together with one text gets one module, and who is cancelled leaves it to the others") {
  SplitProgram program;
  program.units.push_back({"candidate.cpp", kPlain + "int together() { return 1; }\n"});
  std::stop_source stop;
  std::vector<HostModule> made(4);
  {
    std::vector<std::jthread> threads;
    for (HostModule& one : made)
      threads.emplace_back(
          [&] { one = modules().compile(program, &one == &made[0] ? stop.get_token() : std::stop_token()); });
    stop.request_stop();
  }
  for (size_t i = 1; i < made.size(); ++i) {
    REQUIRE(made[i].bytes);
    CHECK(made[i].bytes == made[1].bytes);
  }
  CHECK((made[0].fault.is_infrastructure() || made[0].bytes == made[1].bytes));
}

TEST_CASE("lines of a text are those that a message names") {
  const HostModule module =
      compile(kPlain + "#line 1 \"cuda_sources\"\nint good();\nint wrong() { return missing; }\n");
  CHECK(module.fault.is(FaultClass::kCompile));
  CHECK_THAT(module.fault.reason, ContainsSubstring("cuda_sources:2:"));
  CHECK_THAT(module.fault.reason, ContainsSubstring("missing"));
  CHECK_THAT(module.fault.reason, !ContainsSubstring("unit_0") && !ContainsSubstring("/host"));
}

TEST_CASE("what no library has is not linked") {
  const HostModule module = compile(kPlain + "int elsewhere();\nint here() { return elsewhere(); }\n");
  CHECK(module.fault.is(FaultClass::kCompile));
  CHECK_THAT(module.fault.reason, ContainsSubstring("undefined") && ContainsSubstring("elsewhere"));
}

TEST_CASE("a compilation without an end is ended by its own time") {
  HostModules impatient(testing::box_host(), testing::python_install(), {.cpu_s = 2});
  const HostModule module = compile(
      kPlain +
          "template <int N, int M> struct T { static constexpr unsigned v = T<N - 1, M * 2>::v + T<N - 1, "
          "M * 2 + 1>::v; };\n"
          "template <int M> struct T<0, M> { static constexpr unsigned v = 1; };\nunsigned x = T<24, "
          "1>::v;\n",
      impatient);
  CHECK(module.fault.is(FaultClass::kTimeout));
  check_compiles(impatient);
}

TEST_CASE("a compilation without bounds is ended by its own memory") {
  HostModules narrow(testing::box_host(), testing::python_install(),
                     {.cpu_s = 600, .memory_bytes = 96u << 20});
  const HostModule module = compile(
      kPlain +
          "template <int N, int M> struct T { static constexpr unsigned v = T<N - 1, M * 2>::v + T<N - 1, "
          "M * 2 + 1>::v; };\n"
          "template <int M> struct T<0, M> { static constexpr unsigned v = 1; };\nunsigned x = T<20, "
          "1>::v;\n",
      narrow);
  INFO(module.fault.reason);
  CHECK(module.fault.is(FaultClass::kMemory));
  check_compiles(narrow);
}

TEST_CASE("a module over its limit is the text's fault") {
  const HostModule module = compile(kPlain + "char large[2 << 20] = {1};\nchar* use() { return large; }\n");
  CHECK(module.fault.is(FaultClass::kCompile));
  CHECK_THAT(module.fault.reason, ContainsSubstring("larger than its limit"));
}

// No text sees more of the box than the toolchain, and none finds the server's channel.
TEST_CASE("hostile texts find nothing in the compiler's box") {
  for (const std::string text :
       {"#include \"/proc/self/environ\"\n", "#include \"/proc/1/maps\"\n",
        "#include \"/scratch/unit_1.cpp\"\n", "#include \"/etc/passwd\"\n", "#include \"/dev/fd/3\"\n",
        "asm(\".incbin \\\"/proc/self/environ\\\"\");\n", "asm(\".include \\\"/etc/shadow\\\"\");\n"}) {
    INFO(text);
    const HostModule module = compile(kPlain + text);
    CHECK(module.fault.is(FaultClass::kCompile));
    CHECK_THAT(module.fault.reason, !ContainsSubstring("root:"));
  }
  check_compiles();
}

// The name that stands for the unit's text on the command line leads nowhere a second time.
TEST_CASE("a text cannot make the compiler serve again") {
  const HostModule module = compile(kPlain + "#include \"/unit.cpp\"\nint x;\n");
  CHECK(module.fault.is(FaultClass::kCompile));
  CHECK_FALSE(module.bytes);
  check_compiles();
}

}  // namespace
}  // namespace bicrl
