#include "sandbox/recorder/trace/calls.h"

#include <algorithm>

namespace bicrl {
namespace {

constexpr uint32_t kNone = ~uint32_t{0};

// Calls visit(buffer) for each buffer that the operations name; the same one may come several times.
template <class Visit>
void for_each_buffer(const TraceOp* ops, size_t count, const Visit& visit) {
  for (const TraceOp* op = ops; op != ops + count; ++op) {
    if (op->kind != TraceOp::Kind::kLaunch) visit(op->target.buffer);
    if (op->kind == TraceOp::Kind::kCopy) visit(op->source.buffer);
    for (const TraceRelocation& relocation : op->relocations) visit(relocation.buffer);
  }
}

template <class Visit>
void for_each_buffer(const std::vector<TraceOp>& ops, const std::vector<TraceView>& outputs,
                     const Visit& visit) {
  for_each_buffer(ops.data(), ops.size(), visit);
  for (const TraceView& view : outputs) visit(view.buffer);
}

bool same_tensor(const TensorLayout& a, const TensorLayout& b) {
  return a.dtype == b.dtype && a.sizes == b.sizes && a.strides == b.strides;
}

// Compares a repeat with the first call, and finds which of its buffers stands for which.
class Comparison {
 public:
  Comparison(const Trace& trace, const TraceRepeat& repeat, uint32_t call,
             const std::vector<uint32_t>& first_uses, const std::vector<bool>& constructors)
      : trace_(trace),
        repeat_(repeat),
        call_(call),
        first_uses_(first_uses),
        constructors_(constructors),
        second_of_(trace.buffers.size(), kNone),
        first_of_(trace.buffers.size(), kNone) {}

  bool alike() {
    const size_t count = trace_.ops.size() - trace_.construction_ops;
    if (repeat_.ops.size() != count || repeat_.outputs.size() != trace_.outputs.size()) return false;
    const TraceOp* first = trace_.ops.data() + trace_.construction_ops;
    for (size_t i = 0; i < count; ++i)
      if (!alike(first[i], repeat_.ops[i]) || first[i].after != repeat_.ops[i].after) return false;
    for (size_t i = 0; i < repeat_.outputs.size(); ++i)
      if (!alike(trace_.outputs[i], repeat_.outputs[i])) return false;
    return repeat_.end_after == trace_.end_after && repeat_.returned.structure == trace_.returned.structure;
  }

 private:
  // An input's partner is the same leaf. What the first call shares with its repeat has one number.
  bool partners(uint32_t first, uint32_t second) const {
    const TraceBuffer &a = trace_.buffers[first], &b = trace_.buffers[second];
    if (a.kind != b.kind || a.bytes != b.bytes) return false;
    if (a.kind == TraceBuffer::Kind::kInput)
      return a.source == b.source && a.tensors == 0 && b.tensors == repeat_.tensors;
    if (first == second) return true;
    if (constructors_[first] || first_uses_[second] != call_) return false;
    return a.kind == TraceBuffer::Kind::kAllocation ||
           (a.kind == TraceBuffer::Kind::kConstant && trace_.blobs[a.source] == trace_.blobs[b.source]);
  }

  bool alike(uint32_t first, uint32_t second) {
    if (second_of_[first] == kNone && first_of_[second] == kNone) {
      if (!partners(first, second)) return false;
      second_of_[first] = second;
      first_of_[second] = first;
    }
    return second_of_[first] == second && first_of_[second] == first;
  }

  bool alike(const TraceView& a, const TraceView& b) {
    return a.offset_bytes == b.offset_bytes && same_tensor(a.tensor, b.tensor) && alike(a.buffer, b.buffer);
  }

  bool alike(const std::vector<TraceRelocation>& a, const std::vector<TraceRelocation>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [this](const TraceRelocation& x, const TraceRelocation& y) {
                        return x.offset == y.offset && x.addend == y.addend && alike(x.buffer, y.buffer);
                      });
  }

  bool alike(const TraceOp& a, const TraceOp& b) {
    if (a.kind != b.kind) return false;
    switch (a.kind) {
      case TraceOp::Kind::kLaunch:
        return a.module == b.module && a.entry == b.entry && std::ranges::equal(a.grid, b.grid) &&
               std::ranges::equal(a.block, b.block) && a.shared_bytes == b.shared_bytes &&
               a.shared_limit == b.shared_limit && a.cooperative == b.cooperative &&
               a.arguments == b.arguments && alike(a.relocations, b.relocations);
      case TraceOp::Kind::kFill:
        return a.value == b.value && alike(a.target, b.target);
      case TraceOp::Kind::kCopy:
        return alike(a.target, b.target) && alike(a.source, b.source);
      case TraceOp::Kind::kUpload:
        return trace_.blobs[a.blob] == trace_.blobs[b.blob] && alike(a.target, b.target) &&
               alike(a.relocations, b.relocations);
      case TraceOp::Kind::kFree:
        return alike(a.target.buffer, b.target.buffer);
    }
    return false;
  }

  const Trace& trace_;
  const TraceRepeat& repeat_;
  const uint32_t call_;
  const std::vector<uint32_t>& first_uses_;
  const std::vector<bool>& constructors_;
  std::vector<uint32_t> second_of_, first_of_;  // by buffer
};

std::vector<bool> constructor_buffers(const Trace& trace) {
  std::vector<bool> touched(trace.buffers.size(), false);
  for_each_buffer(trace.ops.data(), trace.construction_ops, [&](uint32_t buffer) { touched[buffer] = true; });
  return touched;
}

// How many repeats do what the first call does, up to the first that does not.
size_t alike_repeats(const Trace& trace, const std::vector<uint32_t>& uses) {
  const std::vector<bool> constructors = constructor_buffers(trace);
  size_t count = 0;
  while (
      count < trace.repeats.size() &&
      Comparison(trace, trace.repeats[count], static_cast<uint32_t>(count) + 1, uses, constructors).alike())
    ++count;
  return count;
}

// With `alike` repeats that are alike: whether a later one works on memory that came into being in these.
bool inherits(const Trace& trace, const std::vector<uint32_t>& uses, size_t alike) {
  bool found = false;
  for (size_t k = alike; k < trace.repeats.size(); ++k)
    for_each_buffer(trace.repeats[k].ops, trace.repeats[k].outputs, [&](uint32_t buffer) {
      found = found || (trace.buffers[buffer].kind == TraceBuffer::Kind::kAllocation && uses[buffer] > 0 &&
                        uses[buffer] <= alike);
    });
  return found;
}

size_t first_other_repeat(const Trace& trace, const std::vector<uint32_t>& uses) {
  const size_t alike = alike_repeats(trace, uses);
  return inherits(trace, uses, alike) ? 0 : alike;
}

}  // namespace

std::vector<uint32_t> first_uses(const Trace& trace) {
  std::vector<uint32_t> uses(trace.buffers.size(), kNone);
  const auto note = [&uses](uint32_t call) {
    return [&uses, call](uint32_t buffer) { uses[buffer] = std::min(uses[buffer], call); };
  };
  for_each_buffer(trace.ops, trace.outputs, note(0));
  for (size_t k = 0; k < trace.repeats.size(); ++k)
    for_each_buffer(trace.repeats[k].ops, trace.repeats[k].outputs, note(static_cast<uint32_t>(k) + 1));
  std::replace(uses.begin(), uses.end(), kNone, uint32_t{0});
  return uses;
}

size_t first_other_repeat(const Trace& trace) { return first_other_repeat(trace, first_uses(trace)); }

std::vector<uint32_t> kept_buffers(const Trace& trace) {
  std::vector<bool> kept = constructor_buffers(trace);
  std::vector<bool> touched(trace.buffers.size(), false);
  for_each_buffer(trace.ops, trace.outputs, [&](uint32_t buffer) { touched[buffer] = true; });
  for (const TraceRepeat& repeat : trace.repeats)
    for_each_buffer(repeat.ops, repeat.outputs, [&](uint32_t buffer) {
      if (touched[buffer]) kept[buffer] = true;
    });
  std::vector<uint32_t> buffers;
  for (uint32_t i = 0; i < trace.buffers.size(); ++i)
    if (kept[i] && trace.buffers[i].kind != TraceBuffer::Kind::kInput) buffers.push_back(i);
  return buffers;
}

CallSummary summarise_calls(const Trace& trace) {
  CallSummary summary;
  summary.first_uses = first_uses(trace);
  summary.first_other = first_other_repeat(trace, summary.first_uses);
  summary.alike = summary.first_other == trace.repeats.size();
  if (!trace.repeats.empty()) summary.kept = kept_buffers(trace);
  return summary;
}

}  // namespace bicrl
