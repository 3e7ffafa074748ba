// What compiler messages say of a candidate: its own error, the framework, or an API that the host part
// lacks.
#include "sandbox/frontend/compile_failure.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "sandbox/box/python_install.h"
#include "tests/sandbox/fault_name.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;

Fault classified(const std::string& output) {
  static const PythonInstall python = PythonInstall::find(testing::test_python());
  static const InstalledApi api = InstalledApi::find(python);
  return classify_compile_failure(output, api);
}

std::string of_line(const std::string& message) {
  return testing::fault_name(classified("cuda_sources:3:10: error: " + message + "\n"));
}

}  // namespace

TEST_CASE("compiler messages name the framework") {
  CHECK(classified("cuda_sources:3:10: error: 'relu' is not a member of 'torch'\n")
            .is(FaultClass::kFrameworkFallback));
  CHECK(classified("a:3:10: error: \u2018class at::Tensor\u2019 has no member named \u2018softmax\u2019\n")
            .is(FaultClass::kFrameworkFallback));
  CHECK(classified("a:3:1: error: no match for 'operator+' (operand types are 'at::Tensor' and 'int')\n")
            .is(FaultClass::kFrameworkFallback));
  CHECK(classified("a:3:10: error: 'rellu' is not a member of 'torch'\n").is(FaultClass::kCompile));
  CHECK(classified("a:3:10: error: 'x' was not declared in this scope\n").is(FaultClass::kCompile));
  CHECK_THAT(classified("/box/secret/a.cpp:3:10: error: 'x'\n").reason, !ContainsSubstring("/box"));
  CHECK(classified("").is(FaultClass::kCompile));
}

TEST_CASE("a compiler message about an installed API that the host part lacks is unsupported by name") {
  for (const auto& [message, name] :
       {std::pair<std::string, std::string>{"'cudaStreamAttrValue' was not declared in this scope",
                                            "cudaStreamAttrValue"},
        {"'cudaStreamSetAttribute' was not declared in this scope; did you mean 'cudaFuncSetAttribute'?",
         "cudaStreamSetAttribute"},
        {"'cuTensorMapEncodeTiled' was not declared in this scope", "cuTensorMapEncodeTiled"},
        {"'struct cudaDeviceProp' has no member named 'clusterLaunch'", "clusterLaunch"},
        {"'tuple' in namespace 'py' does not name a type", "tuple"},
        {"'py::object' has not been declared", "object"},
        {"'overload_cast' is not a member of 'py'", "overload_cast"},
        {"'class bicrl::Registry' has no member named 'def_submodule'", "def_submodule"},
        {"'PyObject' was not declared in this scope", "PyObject"},
        {"\u2018class at::Tensor\u2019 has no member named \u2018retain_grad\u2019", "retain_grad"},
        {"'globalContext' is not a member of 'at'", "globalContext"},
        {"'kFloat8_e4m3fnuz' is not a member of 'torch'", "kFloat8_e4m3fnuz"},
        {"'__nv_fp4_e2m1' does not name a type", "__nv_fp4_e2m1"},
        {"incomplete type 'bicrl::Convert<c10::ScalarType>' used in nested name specifier",
         "c10::ScalarType"}}) {
    const Fault failure = classified("cuda_sources:3:10: error: " + message + "\n");
    INFO(message << ": " << failure.reason);
    CHECK(failure.is(FaultClass::kUnsupported));
    CHECK_THAT(failure.reason, ContainsSubstring("'" + name + "'"));
  }
  CHECK(classified("mold: error: undefined symbol: cudaStreamGetCaptureInfo\n").is(FaultClass::kUnsupported));
  CHECK(classified("a.cpp:1:10: fatal error: ATen/TensorIterator.h: No such file or directory\n")
            .is(FaultClass::kUnsupported));
}

TEST_CASE("a compiler message about a name that no installed API has is the candidate's own error") {
  for (const std::string message :
       {"'cudaStreamSetAtribute' was not declared in this scope", "'current' was not declared in this scope",
        "'result' was not declared in this scope", "'class at::Tensor' has no member named 'shape'",
        "'class at::Tensor' has no member named 'lenght'", "'tupel' in namespace 'py' does not name a type",
        "'struct cudaDeviceProp' has no member named 'sharedMemory'",
        "'struct Mine' has no member named 'tuple'", "'tuple' is not a member of 'mine'"}) {
    INFO(message);
    CHECK(of_line(message) == "compile");
  }
  CHECK(classified("mold: error: undefined symbol: my_launcher\n").is(FaultClass::kCompile));
  for (const std::string header : {"my_kernels.h", "/etc/passwd", "../../../../../../../../../../etc/passwd",
                                   "torch/../../../../pip/__init__.py"})
    CHECK(classified("a.cpp:1:10: fatal error: " + header + ": No such file or directory\n")
              .is(FaultClass::kCompile));
}

TEST_CASE("an error that follows from a missing API does not hide it") {
  const Fault failure = classified(
      "cuda_sources:7:5: error: 'attr' was not declared in this scope\n"
      "cuda_sources:7:9: error: 'cudaStreamSetAttribute' was not declared in this scope\n");
  CHECK(failure.is(FaultClass::kUnsupported));
  CHECK_THAT(failure.reason, ContainsSubstring("'attr' was not declared"));
}

}  // namespace bicrl
