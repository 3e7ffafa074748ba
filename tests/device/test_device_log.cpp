#include "sandbox/frontend/device/device_log.h"

#include <catch2/catch_test_macros.hpp>

namespace bicrl {
namespace {
const std::vector<std::string> kFolders = {"/shim", "/cuda", "/cuda/cccl"};
}

TEST_CASE("A log keeps the candidate's lines and drops those of headers") {
  const std::string log =
      "cuda_sources(2): error: identifier \"z\" is undefined\n    *y = *z;\n          ^\n\n"
      "/shim/bicrl/tensor.h(80): error: no instance of \"x\" (declared at line 3 of /cuda/cccl/a.h)\n"
      "    secret line of ours\n"
      "          detected during instantiation of \"void f<T>()\" at line 9 of cuda_sources\n\n"
      "2 errors detected in the compilation of \"cuda_sources\".\n";
  CHECK(readable_device_log(log, kFolders) ==
        "cuda_sources(2): error: identifier \"z\" is undefined\n    *y = *z;\n          ^\n"
        "bicrl/tensor.h(80): error: no instance of \"x\" (declared at line 3 of a.h)\n"
        "          detected during instantiation of \"void f<T>()\" at line 9 of cuda_sources\n"
        "2 errors detected in the compilation of \"cuda_sources\".");
}

TEST_CASE("The candidate's own lines stay as they are") {
  const std::string log = "cuda_sources(2): error: bad\n    a / b /c; // x /y/z <ATen/cuda/a.h>";
  CHECK(readable_device_log(log, kFolders) == log);
}

TEST_CASE("A log is bounded, between characters") {
  std::string log;
  for (int i = 0; i < 1000; ++i) log += "cuda_sources(1): error: \xc3\xa4\xc3\xa4\n";
  for (size_t bytes = 90; bytes < 110; ++bytes) {
    const std::string text = readable_device_log(log, kFolders, bytes);
    CHECK(text.size() <= bytes);
    CHECK((text.empty() || (static_cast<unsigned char>(text.back()) != 0xc3)));
  }
  CHECK(readable_device_log("", kFolders) == "");
}

}  // namespace bicrl
