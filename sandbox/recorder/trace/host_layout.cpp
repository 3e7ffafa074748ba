#include "sandbox/recorder/trace/host_layout.h"

namespace bicrl {
namespace {

bool same_places(const TensorLayout& a, const TensorLayout& b) {
  for (size_t d = 0; d < a.sizes.size(); ++d)
    if (a.sizes[d] != 1 && a.strides[d] != b.strides[d]) return false;
  return true;
}

bool is_whole(const TraceView& view, const TraceBuffer& buffer) {
  return view.offset_bytes == 0 && view.tensor.span_bytes() == buffer.bytes;
}

bool is_given_input(const Trace& trace, const TraceView& view) {
  const TraceBuffer& buffer = trace.buffers[view.buffer];
  if (buffer.kind != TraceBuffer::Kind::kInput || view.offset_bytes != 0) return false;
  const TensorLayout& given = trace.inputs.leaves[buffer.source].tensor;
  return given.sizes == view.tensor.sizes && given.strides == view.tensor.strides;
}

bool moves(const Trace& trace, const TraceOp& op) {
  if (is_given_input(trace, op.source) && is_whole(op.target, trace.buffers[op.target.buffer])) return false;
  if (op.target.tensor.is_row_major() && op.source.tensor.is_row_major()) return false;
  return !same_places(op.target.tensor, op.source.tensor) ||
         !is_whole(op.target, trace.buffers[op.target.buffer]) ||
         !is_whole(op.source, trace.buffers[op.source.buffer]);
}

}  // namespace

uint64_t elements_moved_by_host(const Trace& trace) {
  uint64_t moved = 0;
  for (size_t i = trace.construction_ops; i < trace.ops.size(); ++i) {
    const TraceOp& op = trace.ops[i];
    if (op.kind == TraceOp::Kind::kCopy && moves(trace, op))
      moved += static_cast<uint64_t>(op.target.tensor.numel());
  }
  return moved;
}

}  // namespace bicrl
