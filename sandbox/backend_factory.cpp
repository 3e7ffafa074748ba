#include "sandbox/backend_factory.h"

#include "sandbox/candidate/device_toolchain.h"

namespace bicrl {
namespace {

std::shared_ptr<DrawFiles> draw_files(const BackendSetting& setting) {
  return std::make_shared<DrawFiles>(setting.scratch, setting.execute.input_cache_bytes);
}

std::unique_ptr<Backend> make_ptx(const BackendSetting& setting, std::shared_ptr<DrawFiles> draws) {
  return std::make_unique<PtxBackend>(setting.host, setting.scratch, std::move(draws), setting.execute);
}

}  // namespace

BackendFactory ptx_backend() {
  return [](const BackendSetting& setting) { return make_ptx(setting, draw_files(setting)); };
}

BackendFactory gpu_backend(const GpuOptions& options, Designated designated) {
  return [=](const BackendSetting& setting) -> std::unique_ptr<Backend> {
    const auto draws = draw_files(setting);
    auto device = std::make_unique<GpuBackend>(setting.host, setting.scratch, draws, setting.python,
                                               DeviceToolchain::find(setting.python).libraries, options);
    return std::make_unique<RoutedBackend>(std::move(device), make_ptx(setting, draws), designated);
  };
}

}  // namespace bicrl
