#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "sandbox/frontend/device/device_flags.h"

namespace bicrl {

using Options = std::vector<std::string>;

namespace {
// Without those that load_inline gives always.
Options own(const DeviceFlags& flags) {
  REQUIRE(flags.options.size() > 4);
  return Options(flags.options.begin() + 4, flags.options.end());
}
}  // namespace

TEST_CASE("Flags that change device code are kept") {
  CHECK(own(read_device_flags({})) == Options{"-std=c++17"});
  CHECK(own(read_device_flags({"--use_fast_math", "-DNDEBUG", "-D", "__A=2", "-UCUB_B", "-std=c++20"})) ==
        Options{"--use_fast_math", "-DNDEBUG", "-D__A=2", "-UCUB_B", "-std=c++20"});
  CHECK(own(read_device_flags({"-ftz=true", "--fmad", "false", "-maxrregcount=64", "-prec-div=false",
                               "-lineinfo"})) == Options{"-ftz=true", "--fmad=false", "-maxrregcount=64",
                                                         "-prec-div=false", "-lineinfo", "-std=c++17"});
  // The shim is C++17.
  CHECK(own(read_device_flags({"--std", "c++14"})) == Options{"-std=c++17"});
}

TEST_CASE("Macros that no header asks for are lines of text") {
  const DeviceFlags flags = read_device_flags({"-DTILE=32", "-D", "A", "-UB", R"(-DTEXT=\"x\ y\")"});
  CHECK(own(flags) == Options{"-std=c++17"});
  CHECK(flags.macros ==
        "#undef TILE\n#define TILE 32\n#undef A\n#define A 1\n#undef B\n#undef TEXT\n#define TEXT \"x y\"\n");
  for (const std::string flag : {"-DA=1\n#include \"x\"", "-DA=1\\", "-DA=\r1"})
    CHECK(read_device_flags({flag}).refused != "");
}

TEST_CASE("Flags are words of a shell's command line") {
  const DeviceFlags flags =
      read_device_flags({"-O3 -DA=1 --use_fast_math", "-DB='2 + 3'", "-Xcompiler -DC,-DD=4", "-Xcompiler=-DE",
                         "-Xcompiler", "-UA"});
  CHECK(flags.refused == "");
  CHECK(own(flags) == Options{"--use_fast_math", "-std=c++17"});
  const std::string macros =
      "#undef A\n#define A 1\n#undef B\n#define B 2 + 3\n#undef C\n#define C 1\n#undef D\n#define D 4\n"
      "#undef E\n#define E 1\n#undef A\n";
  CHECK(flags.macros == macros);
  CHECK(macro_lines({"-O3 -DA=1", "-DB='2 + 3'", "-Xcompiler -DC,-DD=4", "-Xcompiler=-DE", "-Xcompiler",
                     "-UA"}) == macros);
  for (const std::string flag : {"-DA=$(id)", "-DA;ls", "-DA=`id`", "-DA>x"})
    CHECK(read_device_flags({flag}).refused.find("shell") != std::string::npos);
}

TEST_CASE("The host part gets the macros alone") {
  CHECK(macro_lines({"-O3", "-DTILE=32", "-D", "__A", "-U", "B", "-Dwrong(x)=1", "-I/x", "-DA=1\n2", "-D"}) ==
        "#undef TILE\n#define TILE 32\n#undef __A\n#define __A 1\n#undef B\n");
}

TEST_CASE("What load_inline defines can be undefined") {
  const std::string macro = "-D__CUDA_NO_HALF_OPERATORS__";
  const auto count = [&](const Options& options) {
    return std::count(options.begin(), options.end(), macro);
  };
  CHECK(count(read_device_flags({}).options) == 1);
  CHECK(count(read_device_flags({"-U__CUDA_NO_HALF_OPERATORS__"}).options) == 0);
}

TEST_CASE("Flags of the host, of nvcc and of the assembler are ignored") {
  const DeviceFlags flags = read_device_flags(
      {"-O3", "-arch=sm_80", "-gencode", "arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=sm_90",
       "--expt-relaxed-constexpr", "--extended-lambda", "-Xptxas", "-v,-O3", "-Xptxas=-O3", "-Xcompiler",
       "-fPIC", "-w", "--threads", "4", "--threads=4", "", "-lineinfo"});
  CHECK(flags.refused == "");
  CHECK(own(flags) == Options{"-lineinfo", "-std=c++17"});
}

TEST_CASE("Flags that read files, or that nobody knows, are refused") {
  for (const std::string flag :
       {"-I/usr/include", "-I.", "-include", "-include=/etc/passwd", "--pre-include=a", "@flags",
        "--options-file=x", "-L/lib", "--frobnicate", "a.cu", "-std=c++11", "-D1x", "-D(a)=b",
        "-maxrregcount=lots", "-default-device", "--device-as-default-execution-space", "-rdc=true", "-pch",
        "--create-pch=/tmp/x"}) {
    INFO(flag);
    CHECK(read_device_flags({flag}).refused.find("'" + flag + "'") != std::string::npos);
  }
  CHECK(read_device_flags({std::string(2000, 'a')}).refused.size() < 200);
}

}  // namespace bicrl
