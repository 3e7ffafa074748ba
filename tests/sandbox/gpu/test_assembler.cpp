// Machine code of PTX, without a GPU.
#include "sandbox/gpu/assembler.h"

#include <catch2/catch_test_macros.hpp>

#include "sandbox/frontend/device/cubin_resources.h"
#include "sandbox/frontend/device_toolchain.h"
#include "tests/sandbox/gpu/gpu_programs.h"
#include "tests/sandbox/service/service_support.h"

namespace bicrl {

TEST_CASE("PTX becomes machine code for an architecture, or the assembler's log") {
  BoxHost& host = testing::box_host();
  const PythonInstall python = PythonInstall::find(testing::test_python());
  const auto libraries = DeviceToolchain::find(python).libraries;
  Assembler assembler(host, python, libraries, "sm_90");
  const MachineCode made = assembler.assemble(testing::kGpuText);
  CHECK(made.fault.reason == "");
  REQUIRE(made.code);
  const auto resources = read_cubin_resources(*made.code);
  REQUIRE(resources);
  CHECK(resources.value().contains("twice"));
  CHECK(assembler.assemble(testing::kGpuText).code == made.code);

  const MachineCode refused = assembler.assemble(
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { frobnicate.u32 %r1; ret; }\n");
  CHECK_FALSE(refused.code);
  CHECK_FALSE(refused.fault.is_infrastructure());
  CHECK(refused.fault.is(FaultClass::kCompile));
  CHECK(refused.fault.reason.find("frobnicate") != std::string::npos);

  // Each text has a child of its own: the next one is read as if nothing had been.
  std::string many = testing::kGpuText;
  for (int i = 0; i < 3; ++i) {
    many += "\n// " + std::to_string(i);
    CHECK(assembler.assemble(many).code);
  }

  Assembler older(host, python, libraries, "sm_80");
  CHECK(older.assemble(testing::kGpuText).fault.is(FaultClass::kCompile));
  CHECK_THROWS_AS(Assembler(host, python, "/nowhere", "sm_90"), Error);
}

TEST_CASE("an assembler that is cancelled, or for an architecture that nobody knows, is no fault of a text") {
  BoxHost& host = testing::box_host();
  const PythonInstall python = PythonInstall::find(testing::test_python());
  const auto libraries = DeviceToolchain::find(python).libraries;
  std::stop_source stop;
  stop.request_stop();
  Assembler assembler(host, python, libraries, "sm_90");
  const MachineCode cancelled = assembler.assemble(testing::kGpuText, stop.get_token());
  CHECK(cancelled.fault.is_infrastructure());
  CHECK(assembler.assemble(testing::kGpuText).code);

  Assembler unknown(host, python, libraries, "sm_9999");
  const MachineCode refused = unknown.assemble(testing::kGpuText);
  CHECK(refused.fault.is_infrastructure());
  CHECK(refused.fault.reason.find("assembler") != std::string::npos);
}

}  // namespace bicrl
