#include "sandbox/gpu/loader/device_run.h"

#define XXH_INLINE_ALL  // the program that runs in the box links no library for it
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "common/rng.h"
#include "sandbox/frontend/device/entry_names.h"
#include "sandbox/gpu/loader/guarded_memory.h"
#include "sandbox/gpu/loader/separate_memory.h"

namespace bicrl::gpu {

DeviceRun::DeviceRun(Driver& driver, const DeviceProgram& program,
                     const std::vector<std::string>& machine_code, const Trace& trace,
                     const CallSummary& calls, const DeviceRunOptions& options)
    : driver_(driver),
      program_(program),
      machine_code_(machine_code),
      trace_(trace),
      calls_(calls),
      options_(options),
      start_(std::chrono::steady_clock::now()),
      outputs_(&trace.outputs),
      layout_(&trace.output_layout()),
      constructs_by_kernels_(
          std::ranges::any_of(std::span(trace.ops).first(trace.construction_ops),
                              [](const TraceOp& op) { return op.kind == TraceOp::Kind::kLaunch; })),
      skip_launches_(options.skip_launches),
      places_(trace.buffers.size()) {}

// What modules keep is wiped like all memory. A lost context is left as it is: its process ends next.
DeviceRun::~DeviceRun() {
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

double DeviceRun::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

std::optional<ptx::KernelFault> DeviceRun::guarded(const std::function<void()>& work) {
  try {
    work();
  } catch (const Ended& ended) {
    return ended.fault;
  } catch (const ptx::FaultError& error) {
    return error.fault();
  }
  return std::nullopt;
}

std::optional<ptx::KernelFault> DeviceRun::run(const CallInputs& inputs) {
  inputs_ = inputs;
  const auto fault = guarded([&] {
    load_modules();
    allocate_up_to(0);
    if (options_.follow_copies) follow_copies();
    construct();
    constructed_ = kept_state();
    for (const TraceOp& op : std::span(trace_.ops).subspan(trace_.construction_ops)) execute(op);
  });
  return fault ? fault : find_breach();
}

std::optional<ptx::KernelFault> DeviceRun::repeat(size_t index, const CallInputs& inputs) {
  const TraceRepeat& call = trace_.repeats[index];
  inputs_ = inputs;
  outputs_ = &call.outputs;
  layout_ = &call.returned.layout;
  copied_.reset();
  const auto fault = guarded([&] {
    const auto number = static_cast<uint32_t>(index) + 1;
    allocate_up_to(number);
    write_inputs(number, call.tensors);
    for (const TraceOp& op : call.ops) execute(op);
  });
  return fault ? fault : find_breach();
}

// Inputs come last: a kernel of the constructor that looks beyond its buffers finds poison where they will
// lie, and cannot work on them before anybody times what it does.
void DeviceRun::construct() {
  for (const TraceOp& op : std::span(trace_.ops).first(trace_.construction_ops)) execute(op);
  write_inputs(0, 0);
}

void DeviceRun::load_modules() {
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

void DeviceRun::allocate_up_to(uint32_t call) {
  for (; allocated_calls_ <= call; ++allocated_calls_) allocate(allocated_calls_);
}

// What the call is the first to touch.
void DeviceRun::allocate(uint32_t call) {
  std::vector<uint32_t> owners;
  std::vector<uint64_t> sizes;
  for (uint32_t i = 0; i < trace_.buffers.size(); ++i) {
    const TraceBuffer& buffer = trace_.buffers[i];
    if (calls_.first_uses[i] != call) continue;
    if (buffer.kind == TraceBuffer::Kind::kSymbol) {
      // One that no device code uses is not in the PTX, or not in machine code: the host part writes to bytes
      // that nobody reads.
      if (const auto name = program_.variable(buffer.source, buffer.symbol)) {
        const auto& variables = modules_[buffer.source].variables;
        if (const auto known = variables.find(*name); known != variables.end()) {
          if (known->second.bytes < buffer.bytes)
            end(FaultClass::kUnsupported, "a variable has another size in the host part");
          places_[i] = {known->second.address, nullptr, 0};
          continue;
        }
      }
    }
    owners.push_back(i);
    sizes.push_back(buffer.bytes);
    if (buffer.bytes > options_.max_bytes - allocated_bytes_)
      end(FaultClass::kMemory, concat("buffers of more than ", options_.max_bytes, " bytes in all"));
    allocated_bytes_ += buffer.bytes;
  }
  if (owners.empty()) return;
  if (options_.apart)
    memories_.push_back(std::make_unique<SeparateMemory>(driver_, sizes));
  else
    memories_.push_back(
        std::make_unique<GuardedMemory>(driver_, sizes, mix_key({options_.seed, call}), options_.shared));
  DeviceBuffers& memory = *memories_.back();
  for (size_t number = 0; number < owners.size(); ++number) {
    const TraceBuffer& buffer = trace_.buffers[owners[number]];
    places_[owners[number]] = {memory.address(number), &memory, number};
    if (buffer.kind == TraceBuffer::Kind::kConstant) write_constant(owners[number]);
  }
  owners_.push_back(std::move(owners));
}

void DeviceRun::write_constant(uint32_t buffer) {
  const std::string& bytes = trace_.blobs[trace_.buffers[buffer].source];
  driver_.upload(places_[buffer].address, bytes.data(),
                 std::min<uint64_t>(trace_.buffers[buffer].bytes, bytes.size()));
}

std::optional<ptx::KernelFault> DeviceRun::renew(const CallInputs& inputs) {
  inputs_ = inputs;
  seen_.clear();
  waited_ = {};
  const auto fault = guarded([&] {
    for (const auto& memory : memories_) memory->renew();
    for (const Module& module : modules_)
      for (const auto& [name, image] : module.images)
        driver_.upload(module.variables.at(name).address, image.data(), image.size());
    for (uint32_t i = 0; i < trace_.buffers.size(); ++i)
      if (trace_.buffers[i].kind == TraceBuffer::Kind::kConstant && calls_.first_uses[i] == 0)
        write_constant(i);
    construct();
    // Fills return before the device has done them, and a window's other side must not be timed beside them.
    driver_.finish(std::chrono::seconds(30), "fills");
  });
  // What the host does here it has done in run(), which looked behind it.
  return fault || !constructs_by_kernels_ ? fault : find_breach();
}

std::optional<ptx::KernelFault> DeviceRun::rerun(const CallInputs& inputs, bool skip_launches) {
  outputs_ = &trace_.outputs;
  layout_ = &trace_.output_layout();
  skip_launches_ = skip_launches;
  auto fault = renew(inputs);
  if (!fault)
    fault = guarded([&] {
      for (const TraceOp& op : std::span(trace_.ops).subspan(trace_.construction_ops)) execute(op);
    });
  skip_launches_ = options_.skip_launches;
  return fault ? fault : find_breach();
}

std::vector<const SharedAllocation*> DeviceRun::shared_memories() const {
  std::vector<const SharedAllocation*> shared;
  for (const auto& memory : memories_) shared.push_back(memory->shared());
  return shared;
}

std::optional<DeviceRun::SharedPlace> DeviceRun::shared_place(uint32_t buffer, uint64_t offset_bytes) const {
  const Place& place = places_[buffer];
  for (size_t i = 0; i < memories_.size(); ++i)
    if (memories_[i].get() == place.memory && place.memory && place.memory->shared())
      return SharedPlace{i, place.address + offset_bytes - place.memory->shared()->address};
  return std::nullopt;
}

void DeviceRun::write_inputs(uint32_t call, uint32_t tensors) {
  for (size_t i = 0; i < trace_.buffers.size(); ++i) {
    const TraceBuffer& buffer = trace_.buffers[i];
    if (buffer.kind != TraceBuffer::Kind::kInput || buffer.tensors != tensors || calls_.first_uses[i] > call)
      continue;
    const uint64_t offset = trace_.inputs.leaves[buffer.source].offset_bytes;
    if (inputs_.of_device != 0)
      driver_.copy(places_[i].address, inputs_.of_device + offset, buffer.bytes);
    else
      driver_.upload(places_[i].address, inputs_.of_host.data() + offset, buffer.bytes);
  }
}

const std::byte* DeviceRun::bytes_of(uint32_t buffer) {
  auto [known, fresh] = seen_.try_emplace(buffer);
  if (fresh) {
    known->second.resize(trace_.buffers[buffer].bytes);
    driver_.download(known->second.data(), places_[buffer].address, known->second.size());
  }
  return reinterpret_cast<const std::byte*>(known->second.data());
}

void DeviceRun::follow_copies() {
  copied_ = std::make_unique<CopiedContents>(trace_, [this](uint32_t buffer) { return bytes_of(buffer); });
  for (uint32_t i = 0; i < trace_.buffers.size(); ++i) {
    const TraceBuffer& buffer = trace_.buffers[i];
    if (buffer.kind == TraceBuffer::Kind::kInput && buffer.tensors == 0) {
      const InputLayout::Leaf& leaf = trace_.inputs.leaves[buffer.source];
      copied_->set(i, leaf.tensor.dtype, inputs_.of_host.substr(leaf.offset_bytes, buffer.bytes));
    } else if (buffer.kind == TraceBuffer::Kind::kConstant) {
      copied_->set(i, DType::kFloat32, trace_.blobs[buffer.source]);
    }
  }
}

bool DeviceRun::store_copied_output(size_t index, std::byte* to) {
  return copied_->output(trace_.outputs[index], trace_.output_layout().leaves[index], to);
}

void DeviceRun::end(FaultClass fault_class, const std::string& message, const std::string& kernel) {
  throw Ended{{fault_class, message, kernel}};
}

std::optional<ptx::KernelFault> DeviceRun::find_breach() {
  for (size_t m = 0; m < memories_.size(); ++m) {
    const auto breach = memories_[m]->find_breach();
    if (!breach) continue;
    const std::string name = buffer_name(owners_[m][breach->buffer]);
    if (breach->distance_bytes == 0)
      return ptx::KernelFault{FaultClass::kIllegalAccess, "a write to " + name + ", which was freed", ""};
    return ptx::KernelFault{FaultClass::kIllegalAccess,
                            concat("a write ", breach->distance_bytes, " bytes ",
                                   breach->behind ? "behind the end of " : "before ", name),
                            ""};
  }
  return std::nullopt;
}

// By a secret seed, so that no kernel can leave other bytes that look the same.
DeviceRun::Hashes DeviceRun::kept_state() {
  if (calls_.first_other == 0 || skip_launches_) return {};
  Hashes state;
  const auto add = [&](DeviceAddress address, uint64_t bytes) {
    std::string contents(bytes, '\0');
    driver_.download(contents.data(), address, bytes);
    const XXH128_hash_t hash = XXH3_128bits_withSeed(contents.data(), bytes, options_.seed);
    state.emplace_back(hash.low64, hash.high64);
  };
  for (const Module& module : modules_)
    for (const auto& [name, variable] : module.variables) add(variable.address, variable.bytes);
  for (const uint32_t buffer : calls_.kept) add(places_[buffer].address, trace_.buffers[buffer].bytes);
  return state;
}

size_t DeviceRun::first_repeat() {
  if (calls_.first_other == 0 || kept_state() != constructed_) return 0;
  return calls_.first_other;
}

bool DeviceRun::has_room(size_t index) const {
  uint64_t bytes = allocated_bytes_;
  for (size_t i = 0; i < trace_.buffers.size(); ++i)
    if (calls_.first_uses[i] >= allocated_calls_ && calls_.first_uses[i] <= index + 1)
      bytes += trace_.buffers[i].bytes;
  return bytes <= options_.max_bytes;
}

std::vector<uint32_t> DeviceRun::changed_inputs() {
  std::vector<uint32_t> changed;
  for (uint32_t i = 0; i < trace_.buffers.size(); ++i) {
    const TraceBuffer& buffer = trace_.buffers[i];
    if (buffer.kind != TraceBuffer::Kind::kInput || buffer.tensors != 0 || calls_.first_uses[i] != 0)
      continue;
    std::string now(buffer.bytes, '\0');
    driver_.download(now.data(), places_[i].address, now.size());
    if (now != inputs_.of_host.substr(trace_.inputs.leaves[buffer.source].offset_bytes, buffer.bytes))
      changed.push_back(buffer.source);
  }
  return changed;
}

void DeviceRun::store_leaf(const TraceView& view, const OutputLayout::Leaf& leaf, std::byte* to) {
  if (view.tensor.dtype == leaf.dtype && view.tensor.is_row_major())
    return driver_.download(to, places_[view.buffer].address + view.offset_bytes, leaf.bytes);
  std::string bytes = download(view);
  copy_elements(dense_layout(leaf), {to, nullptr, nullptr}, view.tensor, place_in(bytes));
}

void DeviceRun::store_outputs(std::byte* outputs) {
  for (size_t i = 0; i < outputs_->size(); ++i) {
    const OutputLayout::Leaf& leaf = layout_->leaves[i];
    store_leaf((*outputs_)[i], leaf, outputs + leaf.offset_bytes);
  }
}

std::set<uint32_t> DeviceRun::overwritten_outputs(const std::vector<std::byte>& first) {
  std::set<uint32_t> overwritten;
  for (uint32_t i = 0; i < trace_.outputs.size(); ++i) {
    const TraceView& view = trace_.outputs[i];
    const OutputLayout::Leaf& leaf = trace_.output_layout().leaves[i];
    if (leaf.bytes == 0 || trace_.buffers[view.buffer].kind == TraceBuffer::Kind::kInput) continue;
    std::vector<std::byte> now(leaf.bytes);
    store_leaf(view, leaf, now.data());
    if (memcmp(now.data(), first.data() + leaf.offset_bytes, leaf.bytes) != 0) overwritten.insert(i);
  }
  return overwritten;
}

std::string DeviceRun::buffer_name(uint32_t buffer) const {
  for (size_t output = 0; output < outputs_->size(); ++output)
    if ((*outputs_)[output].buffer == buffer) return concat("output ", output);
  switch (trace_.buffers[buffer].kind) {
    case TraceBuffer::Kind::kInput:
      return concat("input ", trace_.buffers[buffer].source);
    case TraceBuffer::Kind::kSymbol:
      return "variable " + readable_name(trace_.buffers[buffer].symbol);
    case TraceBuffer::Kind::kConstant:
      return "a constant of the host part";
    case TraceBuffer::Kind::kAllocation:
      return "an intermediate buffer";
  }
  return "a buffer";
}

}  // namespace bicrl::gpu
