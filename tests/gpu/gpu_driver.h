// A GPU through the driver's interface, loaded at run time: for comparing the machine with hardware. Not
// thread-safe; whatever fails throws std::runtime_error.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace bicrl::ptx::testing {

struct GpuLaunch {
  std::array<uint32_t, 3> grid, block;
  uint32_t shared_bytes = 0;
  std::string parameters;  // the bytes of the kernel's parameters
};

class GpuDriver {
 public:
  GpuDriver();  // throws if there is no driver or no GPU
  // PTX text, in place of the module before. False if the driver refuses it.
  bool load(const std::string& ptx);
  uint64_t allocate(size_t bytes);
  void release(uint64_t address);
  void upload(uint64_t address, const void* bytes, size_t count);
  std::vector<char> download(uint64_t address, size_t count);
  void run(const std::string& kernel, const GpuLaunch& launch);

  // Of what follows, nothing waits until it is done.
  void start(const std::string& kernel, const GpuLaunch& launch);
  void fill(uint64_t address, size_t count);  // with zeros
  // From when the GPU has done all before it until it has done what `work` starts, in milliseconds.
  double timed_ms(const std::function<void()>& work);

 private:
  template <class Function>
  Function* call(const char* name);
  void* library_ = nullptr;
  void* context_ = nullptr;
  void* module_ = nullptr;
  std::array<void*, 2> events_{};
  std::map<std::string, void*> symbols_;
  std::map<std::string, void*> kernels_;  // of the module
};

}  // namespace bicrl::ptx::testing
