#include "sandbox/verifier/backend_factory.h"

#include <future>
#include <map>
#include <mutex>
#include <numeric>

#include "common/error.h"
#include "common/log.h"
#include "sandbox/frontend/device_toolchain.h"

namespace bicrl {
namespace {

constexpr double kCount_s = 60;

std::shared_ptr<InputFiles> make_input_files(const BackendSetting& setting) {
  return std::make_shared<InputFiles>(setting.scratch, setting.execute.input_cache_bytes);
}

std::unique_ptr<Backend> make_ptx(const BackendSetting& setting, std::shared_ptr<InputFiles> inputs) {
  return std::make_unique<PtxBackend>(setting.host, setting.scratch, std::move(inputs), setting.execute);
}

AssemblerFor shared_assemblers(const BackendSetting& setting) {
  struct Made {
    std::mutex mutex;
    std::map<std::string, std::shared_ptr<Assembler>> by_architecture;
  };
  return [made = std::make_shared<Made>(), &host = setting.host, &python = setting.python,
          libraries = DeviceToolchain::find(setting.python).libraries](const std::string& architecture) {
    const std::lock_guard lock(made->mutex);
    auto& assembler = made->by_architecture[architecture];
    if (!assembler) assembler = std::make_shared<Assembler>(host, python, libraries, architecture);
    return assembler;
  };
}

// Those that the driver shows. Where it shows none, the first: using it reports why.
std::vector<int> all_devices(const BackendSetting& setting, uint64_t memory_bytes) {
  GpuProcess process(setting.host, std::nullopt, memory_bytes);
  const auto said = process.hello(kCount_s, {});
  std::vector<int> numbers(said ? std::max(1, said.value().value("devices", 1)) : 1);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// Each takes seconds to start, so they start together.
std::unique_ptr<Backend> make_gpus(const BackendSetting& setting, const std::shared_ptr<InputFiles>& inputs,
                                   const GpuOptions& options, const std::vector<int>& named) {
  const bool all = named.empty();
  const std::vector<int> numbers = all ? all_devices(setting, options.process_memory_bytes) : named;
  const AssemblerFor assembler = shared_assemblers(setting);
  std::vector<std::future<std::unique_ptr<GpuBackend>>> starting;
  for (const int number : numbers)
    starting.push_back(std::async(std::launch::async, [&, number] {
      GpuOptions one = options;
      one.device = number;
      return std::make_unique<GpuBackend>(setting.host, inputs, setting.python, assembler, one);
    }));
  std::vector<SpreadBackend::Device> devices;
  std::vector<std::string> missing;
  std::exception_ptr first_failure;
  for (size_t i = 0; i < starting.size(); ++i) try {
      auto backend = starting[i].get();
      GpuBackend& device = *backend;
      devices.push_back(
          {std::move(backend), [&device](std::stop_token stop) { return device.revive(stop); }});
    } catch (const Error& error) {
      if (!first_failure) first_failure = std::current_exception();
      missing.push_back(concat("gpu ", numbers[i], ": ", error.what()));
    }
  // Who names a device wants it; of all that there are, those that work will do.
  if (first_failure && (devices.empty() || !all)) std::rethrow_exception(first_failure);
  for (const std::string& text : missing) log_warning(text);
  return std::make_unique<SpreadBackend>(std::move(devices), missing);
}

}  // namespace

BackendFactory ptx_backend() {
  return [](const BackendSetting& setting) { return make_ptx(setting, make_input_files(setting)); };
}

BackendFactory gpu_backend(const GpuOptions& options, InstrumentedRuns instrumented,
                           const std::vector<int>& devices) {
  return [=](const BackendSetting& setting) -> std::unique_ptr<Backend> {
    const auto inputs = make_input_files(setting);
    auto device = make_gpus(setting, inputs, options, devices);
    return std::make_unique<RoutedBackend>(std::move(device), make_ptx(setting, inputs), instrumented);
  };
}

}  // namespace bicrl
