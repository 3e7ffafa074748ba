#include "tests/sandbox/gpu/pretended_host.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "tests/sandbox/gpu/gpu_programs.h"
#include "tests/sandbox/service/service_support.h"
#include "tests/support/support.h"

namespace bicrl::testing {
namespace fs = std::filesystem;

PretendedHost::PretendedHost(const std::string& places) {
  box_host();
  if (has_gpu()) SKIP("asks for the driver of the tests");
  char name[] = "/tmp/bicrl_driver_XXXXXX";
  REQUIRE(mkdtemp(name));
  folder_ = name;
  fs::permissions(folder_, fs::perms(0755));
  for (const auto& file : fs::directory_iterator(bicrl::testing::build_path("fake_driver")))
    fs::copy(file, folder_ / file.path().filename());
  setenv("LD_LIBRARY_PATH", folder_.c_str(), 1);
  show(places);
}

PretendedHost::~PretendedHost() {
  unsetenv("LD_LIBRARY_PATH");
  unsetenv("CUDA_VISIBLE_DEVICES");
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void PretendedHost::show(const std::string& places) { setenv("CUDA_VISIBLE_DEVICES", places.c_str(), 1); }

void PretendedHost::lose(int place) const { std::ofstream(folder_ / concat("lost-", place)) << "lost\n"; }
void PretendedHost::find(int place) const { fs::remove(folder_ / concat("lost-", place)); }

void PretendedHost::tell(const std::string& what, int value) const {
  std::ofstream(folder_ / what) << value << "\n";
}

void PretendedHost::lose_functions() const {
  fs::remove(folder_ / "libcuda.so.1");
  fs::copy(folder_ / "libnvidia-ml.so.1", folder_ / "libcuda.so.1");
}

std::unique_ptr<Backend> make_gpu_host(const GpuOptions& options, const std::vector<int>& devices) {
  static const PythonInstall python = PythonInstall::find(test_python());
  static ScratchFolder scratch;
  static const ExecuteOptions execute;
  return gpu_backend(options, InstrumentedRuns::kRequired, devices)({box_host(), scratch, python, execute});
}

void wait_for_devices(const Backend& backend) {
  const auto is_lost = [](const BackendDevice& device) { return !device.trouble.empty(); };
  while (std::ranges::any_of(backend.devices(), is_lost))
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

}  // namespace bicrl::testing
