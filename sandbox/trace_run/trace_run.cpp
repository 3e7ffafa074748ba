#include "sandbox/trace_run/trace_run.h"

#define XXH_INLINE_ALL  // the programs that run in boxes link no library for it
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "sandbox/frontend/device/entry_names.h"
#include "sandbox/trace_run/stream_order.h"

namespace bicrl {
namespace {

using ptx::FaultError;
using ptx::KernelFault;

// Bytes that calls leave to each other, up to which these are compared: beyond that repeats cost less.
constexpr uint64_t kMostCompared = 1ull << 30;

}  // namespace

std::string TraceDevice::relocated(std::string bytes, const std::vector<TraceRelocation>& relocations) const {
  for (const TraceRelocation& r : relocations) {
    const uint64_t pointer = address(r.buffer) + r.addend;
    memcpy(bytes.data() + r.offset, &pointer, sizeof pointer);
  }
  return bytes;
}

TraceRun::TraceRun(TraceDevice& device, const DeviceProgram& program, const Trace& trace,
                   const CallSummary& calls, const TraceRunOptions& options)
    : device_(device),
      program_(program),
      trace_(trace),
      calls_(calls),
      options_(options),
      skip_launches_(options.skip_launches),
      outputs_(&trace.outputs),
      layout_(&trace.output_layout()) {}

TraceRun::EndFault TraceRun::guarded(const std::function<void()>& work) {
  try {
    work();
  } catch (const FaultError& error) {
    return error.fault();
  }
  return std::nullopt;
}

// ---- Calls ----

TraceRun::EndFault TraceRun::run(const CallInputs& inputs) {
  inputs_ = inputs;
  device_.begin_call();
  auto fault = guarded([&] {
    device_.load_modules();
    allocate_up_to(0);
    if (options_.follow_copies) follow_copies();
    construct();
    constructed_ = kept_state();
    execute_call(first_ops(), trace_.end_after);
  });
  return fault ? fault : find_breach();
}

TraceRun::EndFault TraceRun::repeat(size_t index, const CallInputs& inputs) {
  const TraceRepeat& call = trace_.repeats[index];
  inputs_ = inputs;
  outputs_ = &call.outputs;
  layout_ = &call.returned.layout;
  copied_.reset();
  device_.begin_call();
  auto fault = guarded([&] {
    const auto number = static_cast<uint32_t>(index) + 1;
    allocate_up_to(number);
    write_inputs(number, call.tensors);
    execute_call(call.ops, call.end_after);
  });
  return fault ? fault : find_breach();
}

TraceRun::EndFault TraceRun::finish() {
  device_.begin_call();
  auto fault = guarded([&] {
    for (const TraceOp* op : late_) execute(*op);
  });
  late_.clear();
  return fault;
}

TraceRun::EndFault TraceRun::construct_again(const CallInputs& inputs) {
  inputs_ = inputs;
  return guarded([&] {
    for (uint32_t i = 0; i < trace_.buffers.size(); ++i)
      if (trace_.buffers[i].kind == TraceBuffer::Kind::kConstant && calls_.first_uses[i] == 0)
        write_constant(i);
    construct();
  });
}

TraceRun::EndFault TraceRun::call_again() {
  outputs_ = &trace_.outputs;
  layout_ = &trace_.output_layout();
  auto fault = guarded([&] { execute_call(first_ops(), trace_.end_after); });
  return fault ? fault : find_breach();
}

void TraceRun::construct() {
  if (!options_.construct_first) write_inputs(0, 0);
  for (const TraceOp& op : std::span(trace_.ops).first(trace_.construction_ops)) execute(op);
  if (options_.construct_first) write_inputs(0, 0);
}

void TraceRun::execute_call(std::span<const TraceOp> ops, const TraceOrder& end_after) {
  std::vector<CallOrder> orders;
  if (options_.order > 0) orders = other_orders(trace_.buffers, ops, end_after);
  if (options_.order == 0 || options_.order > orders.size()) {
    for (const TraceOp& op : ops) execute(op);
    return;
  }
  const CallOrder& order = orders[options_.order - 1];
  for (size_t i = 0; i < order.operations.size(); ++i) {
    const TraceOp& op = ops[order.operations[i]];
    if (i < order.before_end)
      execute(op);
    else
      late_.push_back(&op);
  }
}

void TraceRun::execute(const TraceOp& op) {
  if (copied_) copied_->execute(op);
  device_.begin(op);
  switch (op.kind) {
    case TraceOp::Kind::kLaunch:
      if (!skip_launches_) device_.launch(op);
      return;
    case TraceOp::Kind::kFill:
      return device_.fill(op);
    case TraceOp::Kind::kCopy:
      return device_.copy(op);
    case TraceOp::Kind::kUpload:
      return device_.write(op.target.buffer, op.target.offset_bytes,
                           device_.relocated(trace_.blobs[op.blob], op.relocations));
    case TraceOp::Kind::kFree:
      // Who uses what was freed does so in the order of issue. In another one memory stays: an allocator that
      // knows streams gives it to nobody whose work comes before what is still to be done there.
      if (options_.order == 0) device_.release(op.target.buffer);
      return;
  }
}

// ---- Memory ----

void TraceRun::allocate_up_to(uint32_t call) {
  for (; allocated_calls_ <= call; ++allocated_calls_) allocate(allocated_calls_);
}

// What the call is the first to touch.
void TraceRun::allocate(uint32_t call) {
  std::vector<uint32_t> constants;
  for (uint32_t i = 0; i < trace_.buffers.size(); ++i) {
    if (calls_.first_uses[i] != call || is_variable(i)) continue;
    device_.add_buffer(i);
    if (trace_.buffers[i].kind == TraceBuffer::Kind::kConstant) constants.push_back(i);
  }
  device_.place_buffers(call);
  for (const uint32_t constant : constants) write_constant(constant);
}

// A variable that no device code uses is not in the PTX, or not in machine code: the host part writes to
// bytes that nobody reads.
bool TraceRun::is_variable(uint32_t buffer) {
  const TraceBuffer& symbol = trace_.buffers[buffer];
  if (symbol.kind != TraceBuffer::Kind::kSymbol) return false;
  const auto name = program_.variable(symbol.source, symbol.symbol);
  if (!name) return false;
  const auto bytes = device_.bind_variable(buffer, *name);
  if (bytes && *bytes < symbol.bytes)
    throw FaultError({FaultClass::kUnsupported, "a variable has another size in the host part", ""});
  return bytes.has_value();
}

void TraceRun::write_constant(uint32_t buffer) {
  const TraceBuffer& constant = trace_.buffers[buffer];
  device_.write(buffer, 0, std::string_view(trace_.blobs[constant.source]).substr(0, constant.bytes));
}

// New contents of the tensors that a call gets, as far as any call so far has touched them.
void TraceRun::write_inputs(uint32_t call, uint32_t tensors) {
  for (uint32_t i = 0; i < trace_.buffers.size(); ++i) {
    const TraceBuffer& buffer = trace_.buffers[i];
    if (buffer.kind == TraceBuffer::Kind::kInput && buffer.tensors == tensors && calls_.first_uses[i] <= call)
      device_.write_input(i, inputs_, trace_.inputs.leaves[buffer.source].offset_bytes);
  }
}

bool TraceRun::has_room(size_t index) const {
  uint64_t bytes = device_.allocated_bytes();
  for (size_t i = 0; i < trace_.buffers.size(); ++i)
    if (calls_.first_uses[i] >= allocated_calls_ && calls_.first_uses[i] <= index + 1)
      bytes += trace_.buffers[i].bytes;
  return bytes <= options_.max_bytes;
}

// ---- What a call leaves ----

size_t TraceRun::first_repeat() {
  if (calls_.first_other == 0 || !constructed_ || kept_state() != constructed_) return 0;
  return calls_.first_other;
}

// By a secret seed, so that no kernel can leave other bytes that look the same.
std::optional<TraceRun::Hashes> TraceRun::kept_state() {
  if (calls_.first_other == 0 || skip_launches_) return Hashes{};
  uint64_t bytes = 0;
  for (const uint32_t buffer : calls_.kept) bytes += trace_.buffers[buffer].bytes;
  if (bytes > kMostCompared) return std::nullopt;
  Hashes state;
  const auto add = [&](std::string_view bytes) {
    const XXH128_hash_t hash = XXH3_128bits_withSeed(bytes.data(), bytes.size(), options_.seed);
    state.emplace_back(hash.low64, hash.high64);
  };
  device_.visit_variables(add);
  for (const uint32_t buffer : calls_.kept) device_.visit(buffer, add);
  return state;
}

std::vector<uint32_t> TraceRun::changed_inputs() {
  std::vector<uint32_t> changed;
  for (uint32_t i = 0; i < trace_.buffers.size(); ++i) {
    const TraceBuffer& buffer = trace_.buffers[i];
    if (buffer.kind != TraceBuffer::Kind::kInput || buffer.tensors != 0 || calls_.first_uses[i] != 0)
      continue;
    const auto before =
        inputs_.of_host.substr(trace_.inputs.leaves[buffer.source].offset_bytes, buffer.bytes);
    device_.visit(i, [&](std::string_view now) {
      if (now != before) changed.push_back(buffer.source);
    });
  }
  return changed;
}

TraceRun::EndFault TraceRun::store_outputs(std::byte* outputs, uint8_t* writers) {
  for (size_t i = 0; i < outputs_->size(); ++i) {
    const OutputLayout::Leaf& leaf = layout_->leaves[i];
    std::vector<uint8_t> undefined(options_.has_shadows ? leaf.bytes : 0);
    std::vector<uint8_t> wrote(options_.has_shadows ? leaf.bytes : 0);
    ElementPlace target{outputs + leaf.offset_bytes, nullptr, nullptr};
    if (options_.has_shadows) target = {target.data, undefined.data(), wrote.data()};
    device_.store((*outputs_)[i], leaf, target);
    if (!options_.has_shadows) continue;
    const bool has_undefined = std::ranges::any_of(undefined, [](uint8_t bits) { return bits != 0; });
    if (has_undefined && !skip_launches_)
      return KernelFault{FaultClass::kUninitialised,
                         concat("output ", i, " holds bytes that come from memory that was never written"),
                         ""};
    const size_t size = element_bytes(leaf.dtype);
    for (size_t e = 0; e < leaf.numel(); ++e) *writers++ = wrote[e * size];
  }
  return std::nullopt;
}

std::set<uint32_t> TraceRun::overwritten_outputs(const std::vector<std::byte>& first) {
  std::set<uint32_t> overwritten;
  for (uint32_t i = 0; i < trace_.outputs.size(); ++i) {
    const TraceView& view = trace_.outputs[i];
    const OutputLayout::Leaf& leaf = trace_.output_layout().leaves[i];
    if (leaf.bytes == 0 || trace_.buffers[view.buffer].kind == TraceBuffer::Kind::kInput) continue;
    std::vector<std::byte> now(leaf.bytes);
    device_.store(view, leaf, {now.data(), nullptr, nullptr});
    if (memcmp(now.data(), first.data() + leaf.offset_bytes, leaf.bytes) != 0) overwritten.insert(i);
  }
  return overwritten;
}

void TraceRun::follow_copies() {
  copied_ =
      std::make_unique<CopiedContents>(trace_, [this](uint32_t buffer) { return device_.contents(buffer); });
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

bool TraceRun::store_copied_output(size_t index, std::byte* to) {
  return copied_->output(trace_.outputs[index], trace_.output_layout().leaves[index], to);
}

TraceRun::EndFault TraceRun::find_breach() {
  const auto breach = device_.find_breach();
  if (!breach) return std::nullopt;
  const std::string name = buffer_name(static_cast<uint32_t>(breach->buffer));
  if (breach->distance_bytes == 0)
    return KernelFault{FaultClass::kIllegalAccess, "a write to " + name + ", which was freed", ""};
  return KernelFault{FaultClass::kIllegalAccess,
                     concat("a write ", breach->distance_bytes, " bytes ",
                            breach->behind ? "behind the end of " : "before ", name),
                     ""};
}

std::string TraceRun::buffer_name(uint32_t buffer) const {
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

}  // namespace bicrl
