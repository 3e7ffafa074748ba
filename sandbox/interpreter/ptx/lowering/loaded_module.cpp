#include "sandbox/interpreter/ptx/lowering/loaded_module.h"

#include <cstring>

namespace bicrl::ptx {
namespace {

std::string initial_bytes(const Variable& variable, const std::vector<uint64_t>& addresses) {
  std::string bytes = variable.initial;
  bytes.resize(variable.bytes);
  for (const Variable::Relocation& relocation : variable.relocations) {
    const uint64_t base =
        relocation.to_function ? function_address(relocation.target) : addresses[relocation.target];
    const uint64_t value = base + static_cast<uint64_t>(relocation.addend);
    if (relocation.offset + sizeof value <= bytes.size())
      memcpy(bytes.data() + relocation.offset, &value, sizeof value);
  }
  return bytes;
}

}  // namespace

Result<LoadedModule> LoadedModule::load(const Module& module, DeviceMemory& memory) {
  LoadedModule loaded;
  loaded.module_ = &module;
  loaded.addresses_.assign(module.variables.size(), 0);
  loaded.buffers_.assign(module.variables.size(), kNoBuffer);
  const auto resides = [](const Variable& variable) {
    return variable.space == Space::kGlobal || variable.space == Space::kConst;
  };
  // All addresses first: initial values may hold them.
  for (size_t i = 0; i < module.variables.size(); ++i) {
    const Variable& variable = module.variables[i];
    if (!resides(variable)) continue;
    const auto buffer = memory.allocate(variable.bytes, variable.space == Space::kConst
                                                            ? DeviceMemory::Permission::kReadOnly
                                                            : DeviceMemory::Permission::kReadWrite);
    if (!buffer.ok()) return Result<LoadedModule>::failure(buffer.reason());
    loaded.buffers_[i] = buffer.value();
    loaded.addresses_[i] = memory.buffer(buffer.value()).address;
  }
  for (size_t i = 0; i < module.variables.size(); ++i)
    if (resides(module.variables[i]) && module.variables[i].bytes > 0)
      memory.write(loaded.buffers_[i], 0, initial_bytes(module.variables[i], loaded.addresses_),
                   Writer::kHost);
  return loaded;
}

std::optional<DeviceMemory::BufferId> LoadedModule::find(std::string_view variable) const {
  for (size_t i = 0; i < module_->variables.size(); ++i)
    if (buffers_[i] != kNoBuffer && module_->variables[i].name == variable) return buffers_[i];
  return std::nullopt;
}

}  // namespace bicrl::ptx
