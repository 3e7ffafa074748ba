#include <catch2/catch_test_macros.hpp>

#include "sandbox/device/device_flags.h"

namespace bicrl {

using Options = std::vector<std::string>;

TEST_CASE("Flags that change device code are kept") {
  CHECK(read_device_flags({}).options == Options{"-std=c++17"});
  CHECK(read_device_flags({"--use_fast_math", "-DTILE=32", "-D", "A", "-UB", "-std=c++20"}).options ==
        Options{"--use_fast_math", "-DTILE=32", "-DA", "-UB", "-std=c++20"});
  CHECK(read_device_flags({"-ftz=true", "--fmad", "false", "-maxrregcount=64", "-prec-div=false", "-lineinfo"}).options ==
        Options{"-ftz=true", "--fmad=false", "-maxrregcount=64", "-prec-div=false", "-lineinfo", "-std=c++17"});
  // The shim is C++17.
  CHECK(read_device_flags({"--std", "c++14"}).options == Options{"-std=c++17"});
}

TEST_CASE("Flags of the host, of nvcc and of the assembler are ignored") {
  const DeviceFlags flags = read_device_flags(
      {"-O3", "-arch=sm_80", "-gencode", "arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=sm_90",
       "--expt-relaxed-constexpr", "--extended-lambda", "-Xptxas", "-v,-O3", "-Xptxas=-O3", "-Xcompiler", "-fPIC", "-w",
       "--threads", "4", "--threads=4", "", "-lineinfo"});
  CHECK(flags.refused == "");
  CHECK(flags.options == Options{"-lineinfo", "-std=c++17"});
}

TEST_CASE("Flags that read files, or that nobody knows, are refused") {
  for (const std::string flag : {"-I/usr/include", "-I.", "-include", "-include=/etc/passwd", "--pre-include=a", "@flags",
                                 "--options-file=x", "-L/lib", "--frobnicate", "a.cu", "-std=c++11", "-D1x", "-D(a)=b",
                                 "-maxrregcount=lots", "-default-device", "--device-as-default-execution-space", "-rdc=true",
                                 "-pch", "--create-pch=/tmp/x"}) {
    INFO(flag);
    CHECK(read_device_flags({flag}).refused.find("'" + flag + "'") != std::string::npos);
  }
  CHECK(read_device_flags({std::string(2000, 'a')}).refused.size() < 200);
}

}  // namespace bicrl
