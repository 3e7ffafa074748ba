// A rank's turn on its device; where that is on a GPU, tests/nccl asks.
#include "trainer/ranks/device_use.h"

#include <dlfcn.h>

#include <catch2/catch_test_macros.hpp>

namespace bicrl {
namespace {

TEST_CASE("without a driver no GPU has a place on the bus") {
  if (dlopen("libcuda.so.1", RTLD_LAZY)) SKIP("this machine has a driver");
  CHECK(bus_of(0).empty());
}

TEST_CASE("a device that has no turns is never wanted") {
  DeviceUse use(c10::Device(c10::kCPU));
  CHECK_FALSE(use.is_wanted());
  use.lend();
}

}  // namespace
}  // namespace bicrl
