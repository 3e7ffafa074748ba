#include "sandbox/interpreter/executor/execution.h"

#define XXH_INLINE_ALL  // the program that runs in the box links no library for it
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "common/rng.h"
#include "sandbox/frontend/device/entry_names.h"
#include "sandbox/interpreter/executor/element_copy.h"
#include "sandbox/interpreter/executor/trace_launch.h"

namespace bicrl {
namespace {

using ptx::DeviceMemory;
using ptx::FaultClass;
using ptx::FaultError;
using ptx::KernelFault;

// What an element costs that the host part fills, copies or uploads, in operations of lanes: about as long as
// it takes.
constexpr uint64_t kElementWork = 8;

[[noreturn]] void out_of_memory(const std::string& reason) {
  throw FaultError({FaultClass::kMemory, reason, ""});
}

}  // namespace

Execution::Execution(DeviceProgram& program, const Trace& trace, const CallSummary& calls,
                     std::string_view inputs, const ExecutionOptions& options)
    : program_(program),
      trace_(trace),
      calls_(calls),
      options_(options),
      inputs_(inputs),
      outputs_(&trace.outputs),
      layout_(&trace.output_layout()),
      memory_({.max_bytes = options.max_bytes, .seed = options.seed, .shadows = options.shadows}),
      counting_(options.count ? std::make_unique<LaunchCounting>() : nullptr) {}

ExecutionReport Execution::run() {
  ExecutionReport report;
  try {
    load_modules();
    buffers_.resize(trace_.buffers.size());
    allocate_up_to(0);
    write_inputs(0, 0);
    if (counting_) count_constants();
    if (options_.follow_copies) follow_copies();
    const std::span<const TraceOp> ops = trace_.ops;
    for (const TraceOp& op : ops.first(trace_.construction_ops)) execute(op, report);
    constructed_ = kept_state();
    execute_call(ops.subspan(trace_.construction_ops), trace_.end_after, report);
    find_changed_inputs(report);
  } catch (const FaultError& error) {
    report.fault = error.fault();
  }
  return report;
}

ExecutionReport Execution::repeat(size_t index, std::string_view inputs) {
  const TraceRepeat& call = trace_.repeats[index];
  inputs_ = inputs;
  outputs_ = &call.outputs;
  copied_.reset();
  layout_ = &call.returned.layout;
  ExecutionReport report;
  try {
    const auto number = static_cast<uint32_t>(index) + 1;
    allocate_up_to(number);
    write_inputs(number, call.tensors);
    execute_call(call.ops, call.end_after, report);
  } catch (const FaultError& error) {
    report.fault = error.fault();
  }
  return report;
}

ExecutionReport Execution::finish() {
  ExecutionReport report;
  try {
    for (const TraceOp* op : late_) execute(*op, report);
  } catch (const FaultError& error) {
    report.fault = error.fault();
  }
  late_.clear();
  return report;
}

void Execution::execute_call(std::span<const TraceOp> ops, const TraceOrder& end_after,
                             ExecutionReport& report) {
  std::vector<CallOrder> orders;
  if (options_.order > 0) orders = other_orders(trace_.buffers, ops, end_after);
  if (options_.order == 0 || options_.order > orders.size()) {
    for (const TraceOp& op : ops) execute(op, report);
    return;
  }
  const CallOrder& order = orders[options_.order - 1];
  for (size_t i = 0; i < order.operations.size(); ++i) {
    const TraceOp& op = ops[order.operations[i]];
    if (i < order.before_end)
      execute(op, report);
    else
      late_.push_back(&op);
  }
}

void Execution::follow_copies() {
  copied_ = std::make_unique<CopiedContents>(
      trace_, [this](uint32_t buffer) { return memory_.buffer(buffers_[buffer]).data.get(); });
  for (uint32_t i = 0; i < trace_.buffers.size(); ++i) {
    const TraceBuffer& buffer = trace_.buffers[i];
    if (buffer.kind == TraceBuffer::Kind::kInput && buffer.tensors == 0) {
      const InputLayout::Leaf& leaf = trace_.inputs.leaves[buffer.source];
      copied_->set(i, leaf.tensor.dtype, inputs_.substr(leaf.offset_bytes, buffer.bytes));
    } else if (buffer.kind == TraceBuffer::Kind::kConstant) {
      copied_->set(i, DType::kFloat32, trace_.blobs[buffer.source]);
    }
  }
}

bool Execution::store_copied_output(size_t index, std::byte* to) {
  return copied_->output(trace_.outputs[index], trace_.output_layout().leaves[index], to);
}

size_t Execution::first_repeat() {
  if (calls_.first_other == 0 || kept_state() != constructed_) return 0;
  return calls_.first_other;
}

bool Execution::has_room(size_t index) const {
  uint64_t bytes = memory_.bytes();
  for (size_t i = 0; i < trace_.buffers.size(); ++i)
    if (calls_.first_uses[i] >= allocated_calls_ && calls_.first_uses[i] <= index + 1)
      bytes += trace_.buffers[i].bytes;
  return bytes <= options_.max_bytes;
}

// By a secret seed, so that no kernel can leave other bytes that look the same.
Execution::KeptState Execution::kept_state() const {
  if (calls_.first_other == 0 || options_.skip_launches) return {};
  KeptState state;
  const auto add = [&](ptx::DeviceMemory::BufferId id) {
    const DeviceMemory::Buffer& buffer = memory_.buffer(id);
    const XXH128_hash_t hash = XXH3_128bits_withSeed(buffer.data.get(), buffer.bytes, options_.seed);
    state.emplace_back(hash.low64, hash.high64);
  };
  for (const ptx::LoadedModule& module : modules_)
    for (const auto id : module.buffers())
      if (id != ptx::LoadedModule::kNoBuffer) add(id);
  for (const uint32_t buffer : calls_.kept) add(buffers_[buffer]);
  return state;
}

// Constants that the first call alone touches, though others do the same, were made within it: their bytes
// come from the host each time. Those of the constructor, parameters among them, are there before.
void Execution::count_constants() {
  if (trace_.repeats.empty()) return;
  std::vector<bool> used(trace_.buffers.size(), false);
  for (size_t i = trace_.construction_ops; i < trace_.ops.size(); ++i) {
    const TraceOp& op = trace_.ops[i];
    for (const TraceRelocation& r : op.relocations) used[r.buffer] = true;
    if (op.kind == TraceOp::Kind::kCopy) used[op.source.buffer] = true;
  }
  for (const uint32_t kept : calls_.kept) used[kept] = false;
  uint64_t bytes = 0;
  for (size_t i = 0; i < trace_.buffers.size(); ++i)
    if (used[i] && trace_.buffers[i].kind == TraceBuffer::Kind::kConstant) bytes += trace_.buffers[i].bytes;
  if (bytes > 0) counting_->upload(bytes);
}

void Execution::count_host_operation(const TraceOp& op) {
  const auto address = [this](const TraceView& view) {
    return memory_.buffer(buffers_[view.buffer]).address;
  };
  const uint64_t bytes = op.target.tensor.span_bytes();
  if (op.kind == TraceOp::Kind::kFill)
    counting_->fill(address(op.target), op.target.offset_bytes, bytes);
  else if (op.kind == TraceOp::Kind::kCopy)
    counting_->copy(address(op.target), op.target.offset_bytes, bytes, address(op.source),
                    op.source.offset_bytes, op.source.tensor.span_bytes());
  else if (op.kind == TraceOp::Kind::kUpload)
    counting_->upload(trace_.blobs[op.blob].size());
}

void Execution::execute(const TraceOp& op, ExecutionReport& report) {
  if (counting_) count_host_operation(op);
  if (copied_) copied_->execute(op);
  if (options_.reads && op.kind == TraceOp::Kind::kCopy)
    options_.reads->copied(memory_.buffer(buffers_[op.source.buffer]).address, op.source.offset_bytes,
                           op.source.tensor.span_bytes());
  const auto place = [this](const TraceView& view) {
    return place_in(memory_.buffer(buffers_[view.buffer]), view.offset_bytes);
  };
  switch (op.kind) {
    case TraceOp::Kind::kLaunch:
      if (!options_.skip_launches) launch(op, report);
      return;
    case TraceOp::Kind::kFill:
      count_elements(op.target.tensor.numel(), report);
      return fill_elements(op.target.tensor, place(op.target), op.value, ptx::Writer::kHost);
    case TraceOp::Kind::kCopy:
      count_elements(op.target.tensor.numel(), report);
      return copy_elements(op.target.tensor, place(op.target), op.source.tensor, place(op.source));
    case TraceOp::Kind::kUpload:
      count_elements(op.target.tensor.numel() / 8, report);
      return upload(op);
    case TraceOp::Kind::kFree:
      // Who uses what was freed does so in the order of issue. In another one memory stays: an allocator that
      // knows streams gives it to nobody whose work comes before what is still to be done there.
      if (options_.order == 0) memory_.release(buffers_[op.target.buffer]);
      return;
  }
}

// A trace may ask for the same large fill again and again, and a tensor may have more elements than bytes.
void Execution::count_elements(int64_t elements, ExecutionReport& report) const {
  const uint64_t work = static_cast<uint64_t>(elements) * kElementWork;
  if (work > options_.lane_operations - report.lane_operations)
    throw FaultError({FaultClass::kTimeout,
                      concat("more than ", options_.lane_operations,
                             " operations of lanes, with those of fills and copies"),
                      ""});
  report.lane_operations += work;
}

void Execution::load_modules() {
  for (const ptx::Module& module : program_.modules()) {
    auto loaded = ptx::LoadedModule::load(module, memory_);
    if (!loaded) out_of_memory(loaded.reason());
    modules_.push_back(std::move(loaded.value()));
  }
}

void Execution::allocate_up_to(uint32_t call) {
  for (; allocated_calls_ <= call; ++allocated_calls_) allocate(allocated_calls_);
}

// What the call is the first to touch.
void Execution::allocate(uint32_t call) {
  for (size_t i = 0; i < trace_.buffers.size(); ++i) {
    const TraceBuffer& buffer = trace_.buffers[i];
    if (calls_.first_uses[i] != call) continue;
    if (buffer.kind == TraceBuffer::Kind::kSymbol) {
      buffers_[i] = symbol_buffer(buffer);
      continue;
    }
    const auto id = memory_.allocate(buffer.bytes, DeviceMemory::Permission::kReadWrite);
    if (!id) out_of_memory(id.reason());
    buffers_[i] = id.value();
    if (options_.reads && buffer.kind == TraceBuffer::Kind::kInput && buffer.tensors == 0)
      options_.reads->add(memory_.buffer(id.value()).address, buffer.source, buffer.bytes);
    if (buffer.kind == TraceBuffer::Kind::kConstant)
      memory_.write(id.value(), 0, trace_.blobs[buffer.source], ptx::Writer::kHost);
  }
}

// New contents of the tensors that a call gets, as far as any call so far has touched them.
void Execution::write_inputs(uint32_t call, uint32_t tensors) {
  for (size_t i = 0; i < trace_.buffers.size(); ++i) {
    const TraceBuffer& buffer = trace_.buffers[i];
    if (buffer.kind == TraceBuffer::Kind::kInput && buffer.tensors == tensors && calls_.first_uses[i] <= call)
      memory_.write(buffers_[i], 0,
                    inputs_.substr(trace_.inputs.leaves[buffer.source].offset_bytes, buffer.bytes),
                    ptx::Writer::kInput);
  }
}

// A variable that no device code uses is not in the PTX: the host part writes to bytes that nobody reads.
uint32_t Execution::symbol_buffer(const TraceBuffer& symbol) {
  if (const auto name = program_.variable(symbol.source, symbol.symbol)) {
    const auto id = modules_[symbol.source].find(*name);
    if (id && memory_.buffer(*id).bytes >= symbol.bytes) return *id;
    throw FaultError({FaultClass::kUnsupported, "a variable has another size in the host part", ""});
  }
  const auto id = memory_.allocate(symbol.bytes, DeviceMemory::Permission::kReadWrite);
  if (!id) out_of_memory(id.reason());
  return id.value();
}

void Execution::relocate(std::string& bytes, const std::vector<TraceRelocation>& relocations) const {
  for (const TraceRelocation& r : relocations) {
    const uint64_t address = memory_.buffer(buffers_[r.buffer]).address + r.addend;
    memcpy(bytes.data() + r.offset, &address, sizeof address);
  }
}

void Execution::upload(const TraceOp& op) {
  std::string bytes = trace_.blobs[op.blob];
  relocate(bytes, op.relocations);
  memory_.write(buffers_[op.target.buffer], op.target.offset_bytes, bytes, ptx::Writer::kHost);
}

uint64_t Execution::grid_workspace() {
  if (!workspace_) {
    const auto id = memory_.allocate(ptx::kGridWorkspaceBytes, DeviceMemory::Permission::kReadWrite);
    if (!id) out_of_memory(id.reason());
    workspace_ = id.value();
  }
  memory_.write(*workspace_, 0, std::string(ptx::kGridWorkspaceBytes, '\0'), ptx::Writer::kHost);
  return memory_.buffer(*workspace_).address;
}

void Execution::launch(const TraceOp& op, ExecutionReport& report) {
  const ptx::Kernel& kernel = program_.kernel(op.module, op.entry);
  ptx::LaunchConfig config = launch_config(op);
  relocate(config.parameters, op.relocations);
  if (op.cooperative) config.grid_workspace = grid_workspace();
  ptx::RunLimits limits;
  limits.lane_operations = options_.lane_operations - report.lane_operations;
  ++report.launches;
  // Who counts wants one order of blocks.
  const uint64_t seed = counting_ ? 0 : mix_key({options_.seed, ++launches_});
  ptx::Observer* observer = options_.reads ? options_.reads : options_.observer;
  if (counting_) observer = counting_.get();
  ptx::Grid grid(kernel, modules_[op.module], memory_, config, limits, {}, {seed, options_.warps_apart},
                 observer);
  const auto fault = grid.run();
  report.lane_operations += std::min(grid.counters().lane_operations, limits.lane_operations);
  if (fault) throw FaultError(*fault);
}

void Execution::find_changed_inputs(ExecutionReport& report) {
  for (size_t i = 0; i < trace_.buffers.size(); ++i) {
    const TraceBuffer& buffer = trace_.buffers[i];
    if (buffer.kind != TraceBuffer::Kind::kInput || buffer.tensors != 0 || calls_.first_uses[i] != 0)
      continue;
    const uint64_t offset = trace_.inputs.leaves[buffer.source].offset_bytes;
    if (memcmp(memory_.buffer(buffers_[i]).data.get(), inputs_.data() + offset, buffer.bytes) != 0)
      report.changed_inputs.push_back(buffer.source);
  }
}

std::string Execution::buffer_name(uint64_t address) const {
  for (size_t i = 0; i < trace_.buffers.size(); ++i) {
    const TraceBuffer& buffer = trace_.buffers[i];
    if (buffers_[i] >= memory_.size() || memory_.buffer(buffers_[i]).address != address) continue;
    for (size_t output = 0; output < outputs_->size(); ++output)
      if ((*outputs_)[output].buffer == i) return concat("output ", output);
    if (buffer.kind == TraceBuffer::Kind::kInput) return concat("input ", buffer.source);
    if (buffer.kind == TraceBuffer::Kind::kSymbol) return "variable " + readable_name(buffer.symbol);
    return buffer.kind == TraceBuffer::Kind::kConstant ? "a constant of the host part"
                                                       : "an intermediate buffer";
  }
  for (const ptx::LoadedModule& module : modules_)
    for (size_t i = 0; i < module.module().variables.size(); ++i)
      if (module.address_of(static_cast<uint32_t>(i)) == address)
        return "variable " + readable_name(module.module().variables[i].name);
  return "global memory";
}

std::set<uint32_t> Execution::overwritten_outputs(const std::vector<std::byte>& first) {
  std::set<uint32_t> overwritten;
  for (uint32_t i = 0; i < trace_.outputs.size(); ++i) {
    const TraceView& view = trace_.outputs[i];
    const OutputLayout::Leaf& leaf = trace_.output_layout().leaves[i];
    if (leaf.bytes == 0 || trace_.buffers[view.buffer].kind == TraceBuffer::Kind::kInput) continue;
    std::vector<std::byte> now(leaf.bytes);
    copy_elements(dense_layout(leaf), {now.data(), nullptr, nullptr}, view.tensor,
                  place_in(memory_.buffer(buffers_[view.buffer]), view.offset_bytes));
    if (memcmp(now.data(), first.data() + leaf.offset_bytes, leaf.bytes) != 0) overwritten.insert(i);
  }
  return overwritten;
}

std::optional<KernelFault> Execution::store_outputs(std::byte* outputs, uint8_t* writers) {
  for (size_t i = 0; i < outputs_->size(); ++i) {
    const TraceView& view = (*outputs_)[i];
    const OutputLayout::Leaf& leaf = layout_->leaves[i];
    const TensorLayout dense = dense_layout(leaf);
    const size_t size = element_bytes(leaf.dtype), count = leaf.bytes / size;
    std::vector<uint8_t> undefined(options_.shadows ? leaf.bytes : 0);
    std::vector<uint8_t> wrote(options_.shadows ? leaf.bytes : 0);
    ElementPlace target{outputs + leaf.offset_bytes, nullptr, nullptr};
    if (options_.shadows) target = {target.data, undefined.data(), wrote.data()};
    copy_elements(dense, target, view.tensor,
                  place_in(memory_.buffer(buffers_[view.buffer]), view.offset_bytes));
    if (!options_.shadows) continue;
    const auto never = static_cast<size_t>(
        std::count_if(undefined.begin(), undefined.end(), [](uint8_t b) { return b != 0; }));
    if (never > 0 && !options_.skip_launches)
      return KernelFault{FaultClass::kUninitialised,
                         concat("output ", i, " holds bytes that come from memory that was never written"),
                         ""};
    for (size_t e = 0; e < count; ++e) *writers++ = wrote[e * size];
  }
  return std::nullopt;
}

}  // namespace bicrl
