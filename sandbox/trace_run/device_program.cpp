#include "sandbox/trace_run/device_program.h"

#include "sandbox/frontend/device/entry_names.h"
#include "sandbox/frontend/device/lambda_ranks.h"
#include "sandbox/interpreter/ptx/syntax/parser.h"

namespace bicrl {
namespace {

constexpr uint64_t kMaxConstantBytes = 64 * 1024;  // of a module

[[noreturn]] void unsupported(const std::string& message, const std::string& kernel) {
  throw ptx::FaultError({ptx::FaultClass::kUnsupported, message, kernel});
}

}  // namespace

Result<DeviceProgram> DeviceProgram::parse(const std::vector<std::string>& texts) {
  DeviceProgram program;
  for (size_t i = 0; i < texts.size(); ++i) {
    auto module = ptx::parse_module(texts[i]);
    if (!module) return Result<DeviceProgram>::failure(concat("PTX of module ", i, ": ", module.reason()));
    program.modules_.push_back(std::move(module.value()));
    const ptx::Module& parsed = program.modules_.back();
    uint64_t constant_bytes = 0;
    for (const ptx::Variable& variable : parsed.variables)
      if (variable.space == ptx::Space::kConst) constant_bytes += variable.bytes;
    if (constant_bytes > kMaxConstantBytes)
      return Result<DeviceProgram>::failure(
          concat(constant_bytes, " bytes of constant memory, a device has ", kMaxConstantBytes));
    Names& names = program.names_.emplace_back();
    std::vector<std::string> entries;
    for (const ptx::Function& function : parsed.functions)
      if (function.is_entry) entries.push_back(function.name);
    // The host part's names have ranks as well.
    const std::vector<std::string> ranked = rank_lambdas(entries);
    for (size_t n = 0; n < entries.size(); ++n) names.entries[entry_key(ranked[n])] = entries[n];
    for (const ptx::Variable& variable : parsed.variables)
      if (variable.space == ptx::Space::kGlobal || variable.space == ptx::Space::kConst)
        names.variables[entry_key(variable.name)] = variable.name;
  }
  return program;
}

const ptx::Function& DeviceProgram::entry(uint32_t module, const std::string& entry) const {
  if (module >= modules_.size()) unsupported("a launch from a module that has no device code", entry);
  const auto name = names_[module].entries.find(entry_key(entry));
  if (name == names_[module].entries.end())
    unsupported("the launched kernel is not among the device code's entries", entry);
  return *modules_[module].find_entry(name->second);
}

const ptx::Kernel& DeviceProgram::kernel(uint32_t module, const std::string& entry) {
  const auto key = std::make_pair(module, entry);
  if (const auto known = kernels_.find(key); known != kernels_.end()) return known->second;
  auto kernel = ptx::lower_kernel(modules_[module], this->entry(module, entry).name);
  if (!kernel) unsupported(kernel.reason(), entry);
  return kernels_.emplace(key, std::move(kernel.value())).first->second;
}

std::optional<std::string> DeviceProgram::variable(uint32_t module, const std::string& symbol) const {
  if (module >= modules_.size()) return std::nullopt;
  const auto found = names_[module].variables.find(entry_key(symbol));
  if (found == names_[module].variables.end()) return std::nullopt;
  return found->second;
}

}  // namespace bicrl
