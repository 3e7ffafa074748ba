#include "sandbox/gpu/loader/driver_device.h"

#include "common/rng.h"
#include "sandbox/gpu/loader/guarded_memory.h"
#include "sandbox/gpu/loader/separate_memory.h"

namespace bicrl::gpu {

DriverDevice::DriverDevice(Driver& driver, const DeviceProgram& program,
                           const std::vector<std::string>& machine_code, const Trace& trace,
                           const DriverDeviceOptions& options)
    : driver_(driver),
      program_(program),
      machine_code_(machine_code),
      trace_(trace),
      options_(options),
      places_(trace.buffers.size()) {}

// What modules keep is wiped like all memory. A lost context is left as it is: its process ends next.
DriverDevice::~DriverDevice() {
  if (context_lost_) {
    for (const auto& memory : memories_) memory->abandon();
    return;
  }
  try {
    for (const Module& module : modules_) {
      for (const auto& [name, variable] : module.variables)
        driver_.fill(variable.address, 1, 0, variable.bytes);
      driver_.unload(module.handle);
    }
  } catch (const DriverError&) {
  }
}

void DriverDevice::end(FaultClass fault_class, const std::string& message, const std::string& kernel) {
  throw ptx::FaultError({fault_class, message, kernel});
}

void DriverDevice::load_modules() {
  for (size_t i = 0; i < machine_code_.size(); ++i) {
    Module& module = modules_.emplace_back();
    module.handle = driver_.load(machine_code_[i]);
    for (const ptx::Variable& variable : program_.modules()[i].variables) {
      if (variable.is_declared_only ||
          (variable.space != ptx::Space::kGlobal && variable.space != ptx::Space::kConst))
        continue;
      const Driver::Variable found = driver_.variable(module.handle, variable.name);
      if (found.bytes == 0) continue;
      module.variables[variable.name] = found;
      if (!options_.renewable) continue;
      std::string& image = module.images[variable.name];
      image.resize(found.bytes);
      driver_.download(image.data(), found.address, found.bytes);
    }
  }
}

std::optional<uint64_t> DriverDevice::bind_variable(uint32_t buffer, const std::string& name) {
  const auto& variables = modules_[trace_.buffers[buffer].source].variables;
  const auto known = variables.find(name);
  if (known == variables.end()) return std::nullopt;
  places_[buffer] = {known->second.address, nullptr, 0};
  return known->second.bytes;
}

void DriverDevice::add_buffer(uint32_t buffer) {
  const uint64_t bytes = trace_.buffers[buffer].bytes;
  if (bytes > options_.max_bytes - allocated_bytes_)
    end(FaultClass::kMemory, concat("buffers of more than ", options_.max_bytes, " bytes in all"));
  allocated_bytes_ += bytes;
  added_.push_back(buffer);
}

void DriverDevice::place_buffers(uint32_t call) {
  if (added_.empty()) return;
  std::vector<uint64_t> sizes;
  for (const uint32_t buffer : added_) sizes.push_back(trace_.buffers[buffer].bytes);
  if (options_.apart)
    memories_.push_back(std::make_unique<SeparateMemory>(driver_, sizes));
  else
    memories_.push_back(
        std::make_unique<GuardedMemory>(driver_, sizes, mix_key({options_.seed, call}), options_.shared));
  DeviceBuffers& memory = *memories_.back();
  for (size_t number = 0; number < added_.size(); ++number)
    places_[added_[number]] = {memory.address(number), &memory, number};
  owners_.push_back(std::move(added_));
  added_.clear();
}

void DriverDevice::write(uint32_t buffer, uint64_t offset, std::string_view bytes) {
  driver_.upload(places_[buffer].address + offset, bytes.data(), bytes.size());
}

void DriverDevice::write_input(uint32_t buffer, const CallInputs& inputs, uint64_t offset) {
  const uint64_t bytes = trace_.buffers[buffer].bytes;
  if (inputs.of_device != 0)
    driver_.copy(places_[buffer].address, inputs.of_device + offset, bytes);
  else
    driver_.upload(places_[buffer].address, inputs.of_host.data() + offset, bytes);
}

void DriverDevice::visit_variables(const Visitor& visit) {
  for (const Module& module : modules_)
    for (const auto& [name, variable] : module.variables) {
      std::string contents(variable.bytes, '\0');
      driver_.download(contents.data(), variable.address, contents.size());
      visit(contents);
    }
}

void DriverDevice::visit(uint32_t buffer, const Visitor& visit) {
  std::string contents(trace_.buffers[buffer].bytes, '\0');
  driver_.download(contents.data(), places_[buffer].address, contents.size());
  visit(contents);
}

const std::byte* DriverDevice::contents(uint32_t buffer) {
  auto [known, fresh] = seen_.try_emplace(buffer);
  if (fresh) {
    known->second.resize(trace_.buffers[buffer].bytes);
    driver_.download(known->second.data(), places_[buffer].address, known->second.size());
  }
  return reinterpret_cast<const std::byte*>(known->second.data());
}

void DriverDevice::renew() {
  seen_.clear();
  waited_ = {};
  for (const auto& memory : memories_) memory->renew();
  for (const Module& module : modules_)
    for (const auto& [name, image] : module.images)
      driver_.upload(module.variables.at(name).address, image.data(), image.size());
}

std::optional<Breach> DriverDevice::find_breach() {
  for (size_t m = 0; m < memories_.size(); ++m)
    if (auto breach = memories_[m]->find_breach()) {
      breach->buffer = owners_[m][breach->buffer];
      return breach;
    }
  return std::nullopt;
}

std::vector<const SharedAllocation*> DriverDevice::shared_memories() const {
  std::vector<const SharedAllocation*> shared;
  for (const auto& memory : memories_) shared.push_back(memory->shared());
  return shared;
}

std::optional<DriverDevice::SharedPlace> DriverDevice::shared_place(uint32_t buffer,
                                                                    uint64_t offset_bytes) const {
  const Place& place = places_[buffer];
  for (size_t i = 0; i < memories_.size(); ++i)
    if (memories_[i].get() == place.memory && place.memory && place.memory->shared())
      return SharedPlace{i, place.address + offset_bytes - place.memory->shared()->address};
  return std::nullopt;
}

}  // namespace bicrl::gpu
