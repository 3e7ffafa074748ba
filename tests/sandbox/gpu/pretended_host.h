// A host whose GPUs the driver of the tests pretends, and that can lose one. Skips the running test where
// there is a driver of NVIDIA's.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sandbox/verifier/backend_factory.h"

namespace bicrl::testing {

class PretendedHost {
 public:
  // Which GPUs the driver shows, by their places in the machine: "0,1". Those from 8 on are of another model.
  explicit PretendedHost(const std::string& places);
  ~PretendedHost();
  PretendedHost(const PretendedHost&) = delete;
  PretendedHost& operator=(const PretendedHost&) = delete;
  static void show(const std::string& places);
  // By their places.
  void lose(int place) const;
  void find(int place) const;
  // Something else that the driver is to do from now on (tests/fake_driver/fake_driver.cpp); 0: no longer.
  void tell(const std::string& what, int value) const;
  // Leaves a library in the driver's place that has none of its functions.
  void lose_functions() const;

 private:
  std::filesystem::path folder_;  // a copy of the driver: a loss is nobody else's
};

// What a server makes of its GPUs, of which plain runs are made; all that the driver shows if none are named.
std::unique_ptr<Backend> make_gpu_host(const GpuOptions& options, const std::vector<int>& devices = {});

// Until no device is lost.
void wait_for_devices(const Backend& backend);

}  // namespace bicrl::testing
