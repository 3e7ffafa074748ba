#include "sandbox/interpreter/executor/interpreted_device.h"

#include <algorithm>
#include <utility>

#include "common/rng.h"
#include "sandbox/interpreter/executor/trace_launch.h"

namespace bicrl {
namespace {

using ptx::DeviceMemory;
using ptx::FaultError;

// What an element costs that the host part fills, copies or uploads, in operations of lanes: about as long as
// it takes.
constexpr uint64_t kElementWork = 8;

[[noreturn]] void out_of_memory(const std::string& reason) {
  throw FaultError({FaultClass::kMemory, reason, ""});
}

DeviceMemory::BufferId allocated(DeviceMemory& memory, uint64_t bytes) {
  const auto id = memory.allocate(bytes, DeviceMemory::Permission::kReadWrite);
  if (!id) out_of_memory(id.reason());
  return id.value();
}

std::string_view bytes_of(const DeviceMemory::Buffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data.get()), buffer.bytes};
}

}  // namespace

InterpretedDevice::InterpretedDevice(DeviceProgram& program, const Trace& trace,
                                     const InterpreterOptions& options)
    : program_(program),
      trace_(trace),
      options_(options),
      memory_({.max_bytes = options.max_bytes,
               .seed = options.seed,
               .shadows = options.shadows,
               .made_when_touched = options.sample.has_value()}) {
  if (options.sample) {
    auto sampling = std::make_unique<SampleCounting>(options.sample->seed);
    sampling_ = sampling.get();
    counting_ = std::move(sampling);
  } else if (options.count) {
    counting_ = std::make_unique<LaunchCounting>();
  }
}

// ---- Memory ----

void InterpretedDevice::load_modules() {
  for (const ptx::Module& module : program_.modules()) {
    auto loaded = ptx::LoadedModule::load(module, memory_);
    if (!loaded) out_of_memory(loaded.reason());
    modules_.push_back(std::move(loaded.value()));
  }
  // Any number is one of no buffer until the buffer has its own.
  buffers_.resize(trace_.buffers.size(), ~DeviceMemory::BufferId{0});
}

std::optional<uint64_t> InterpretedDevice::bind_variable(uint32_t buffer, const std::string& name) {
  const auto id = modules_[trace_.buffers[buffer].source].find(name);
  if (!id) return std::nullopt;
  buffers_[buffer] = *id;
  return memory_.buffer(*id).bytes;
}

void InterpretedDevice::add_buffer(uint32_t number) {
  const TraceBuffer& buffer = trace_.buffers[number];
  buffers_[number] = allocated(memory_, buffer.bytes);
  if (buffer.kind != TraceBuffer::Kind::kInput || buffer.tensors != 0) return;
  if (options_.reads) options_.reads->add(address(number), buffer.source, buffer.bytes);
  if (sampling_ && buffer.source < options_.sample->inputs.size())
    sampling_->add_input(address(number), options_.sample->inputs[buffer.source]);
}

void InterpretedDevice::write(uint32_t buffer, uint64_t offset, std::string_view bytes) {
  memory_.write(buffers_[buffer], offset, bytes, ptx::Writer::kHost);
}

void InterpretedDevice::write_input(uint32_t buffer, const CallInputs& inputs, uint64_t offset) {
  if (options_.sample) return;
  memory_.write(buffers_[buffer], 0, inputs.of_host.substr(offset, trace_.buffers[buffer].bytes),
                ptx::Writer::kInput);
}

void InterpretedDevice::visit_variables(const Visitor& visit) {
  for (const ptx::LoadedModule& module : modules_)
    for (const auto id : module.buffers())
      if (id != ptx::LoadedModule::kNoBuffer) visit(bytes_of(memory_.buffer(id)));
}

void InterpretedDevice::visit(uint32_t buffer, const Visitor& visit) {
  visit(bytes_of(memory_.buffer(buffers_[buffer])));
}

ElementPlace InterpretedDevice::place(const TraceView& view) {
  return place_in(memory_.buffer(buffers_[view.buffer]), view.offset_bytes);
}

void InterpretedDevice::store(const TraceView& view, const OutputLayout::Leaf& leaf, const ElementPlace& to) {
  copy_elements(dense_layout(leaf), to, view.tensor, place(view));
}

std::optional<uint32_t> InterpretedDevice::buffer_at(uint64_t address) const {
  for (uint32_t i = 0; i < buffers_.size(); ++i)
    if (buffers_[i] < memory_.size() && memory_.buffer(buffers_[i]).address == address) return i;
  return std::nullopt;
}

const std::string* InterpretedDevice::variable_at(uint64_t address) const {
  for (const ptx::LoadedModule& module : modules_)
    for (size_t i = 0; i < module.module().variables.size(); ++i)
      if (module.address_of(static_cast<uint32_t>(i)) == address) return &module.module().variables[i].name;
  return nullptr;
}

// ---- Operations ----

void InterpretedDevice::begin(const TraceOp& op) {
  if (options_.sample) return;
  if (counting_) count_host_operation(op);
  if (options_.reads && op.kind == TraceOp::Kind::kCopy)
    options_.reads->copied(address(op.source.buffer), op.source.offset_bytes, op.source.tensor.span_bytes());
  if (op.kind == TraceOp::Kind::kFill || op.kind == TraceOp::Kind::kCopy)
    count_elements(op.target.tensor.numel());
  else if (op.kind == TraceOp::Kind::kUpload)
    count_elements(op.target.tensor.numel() / 8);
}

void InterpretedDevice::count_host_operation(const TraceOp& op) {
  const uint64_t bytes = op.target.tensor.span_bytes();
  if (op.kind == TraceOp::Kind::kFill)
    counting_->fill(address(op.target.buffer), op.target.offset_bytes, bytes);
  else if (op.kind == TraceOp::Kind::kCopy)
    counting_->copy(address(op.target.buffer), op.target.offset_bytes, bytes, address(op.source.buffer),
                    op.source.offset_bytes, op.source.tensor.span_bytes());
  else if (op.kind == TraceOp::Kind::kUpload)
    counting_->upload(trace_.blobs[op.blob].size());
}

// A trace may ask for the same large fill again and again, and a tensor may have more elements than bytes.
void InterpretedDevice::count_elements(int64_t elements) {
  const uint64_t work = static_cast<uint64_t>(elements) * kElementWork;
  if (work > left_lane_operations())
    throw FaultError({FaultClass::kTimeout,
                      concat("more than ", options_.lane_operations,
                             " operations of lanes, with those of fills and copies"),
                      ""});
  lane_operations_ += work;
}

void InterpretedDevice::fill(const TraceOp& op) {
  if (options_.sample) return;
  fill_elements(op.target.tensor, place(op.target), op.value, ptx::Writer::kHost);
}

void InterpretedDevice::copy(const TraceOp& op) {
  if (options_.sample) return;
  copy_elements(op.target.tensor, place(op.target), op.source.tensor, place(op.source));
}

uint64_t InterpretedDevice::grid_workspace() {
  if (!workspace_) workspace_ = allocated(memory_, ptx::kGridWorkspaceBytes);
  memory_.write(*workspace_, 0, std::string(ptx::kGridWorkspaceBytes, '\0'), ptx::Writer::kHost);
  return memory_.buffer(*workspace_).address;
}

void InterpretedDevice::launch(const TraceOp& op) {
  ptx::LaunchConfig config = launch_config(op);
  config.parameters = relocated(std::move(config.parameters), op.relocations);
  if (op.cooperative) config.grid_workspace = grid_workspace();
  ++launches_;
  if (options_.sample)
    run_sample(op, config);
  else
    run_grid(op, config, std::nullopt);
}

void InterpretedDevice::run_sample(const TraceOp& op, const ptx::LaunchConfig& config) {
  SampledLaunch& launch = sampled_.emplace_back();
  for (const ptx::LocalRange& parameter : program_.kernel(op.module, op.entry).parameters)
    launch.parameters.emplace_back(parameter.begin, parameter.bytes);
  for (const uint64_t block : sampled_blocks(*options_.sample, sampled_.size() - 1, op.blocks())) {
    run_grid(op, config, block);
    launch.blocks.push_back(sampled_block(block, counting_->launches().back()));
  }
}

void InterpretedDevice::run_grid(const TraceOp& op, const ptx::LaunchConfig& config,
                                 std::optional<uint64_t> block) {
  ptx::RunLimits limits;
  limits.lane_operations = left_lane_operations();
  // Who counts wants one order of blocks.
  const uint64_t seed = counting_ ? 0 : mix_key({options_.seed, launches_});
  ptx::Observer* observer = options_.reads ? options_.reads : options_.observer;
  if (counting_) observer = counting_.get();
  ptx::Grid grid(program_.kernel(op.module, op.entry), modules_[op.module], memory_, config, limits, {},
                 {seed, options_.warps_apart, block}, observer);
  const auto fault = grid.run();
  lane_operations_ += std::min(grid.counters().lane_operations, limits.lane_operations);
  if (fault) throw FaultError(*fault);
}

}  // namespace bicrl
