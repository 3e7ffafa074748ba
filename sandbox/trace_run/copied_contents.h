// Contents that buffers would hold if kernels did nothing but copy. They come from inputs and parameters,
// from the host part's fills, copies and casts of these, and from elements that kernels leave elsewhere as
// they found them. An output that is correct in this form was made by the framework, even if a kernel wrote
// each of its elements on the way.
// Not thread-safe.
//
// A copy by a kernel is recognised by its result: where the host part or an output reads what a kernel
// wrote, and that is a run of elements of an input (or of what the host part has made), as they are or
// converted to another type, this run stands in its place. It need not be the same in every element, since
// what comes of it is judged.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "sandbox/recorder/trace/trace.h"
#include "sandbox/trace_run/element_copy.h"

namespace bicrl {

class CopiedContents {
 public:
  using Actual = std::function<const std::byte*(uint32_t buffer)>;  // the bytes of a buffer of the trace

  // Whether the host part lays out or casts anything in the first call, or returns other views than whole
  // tensors. If not, there is nothing to follow.
  static bool matter(const Trace& trace);

  // `trace` outlives this.
  CopiedContents(const Trace& trace, Actual actual);
  // Bytes that come from outside, an input's or a constant's; they outlive this.
  void set(uint32_t buffer, DType dtype, std::string_view bytes);
  // Before memory shows what it does.
  void execute(const TraceOp& op);
  // Writes what the output would hold, without gaps. False, with nothing of use in `to`, if that is not
  // known, or the host part has laid out and cast nothing of it.
  bool output(const TraceView& view, const OutputLayout::Leaf& leaf, std::byte* to);

 private:
  struct Known {  // bytes, all known if `unknown` is null
    const std::byte* bytes = nullptr;
    const uint8_t* unknown = nullptr;
    uint64_t size = 0;
    DType dtype = DType::kUInt8;
    bool laid_out = false;
  };
  class Likeness;
  struct Content {
    std::vector<std::byte> bytes;  // empty: nothing is known
    std::vector<uint8_t> unknown;  // [bytes]
    DType dtype = DType::kUInt8;   // of what was written first
    bool laid_out = false;         // by the host part
    uint64_t written_at = 0;       // launches before the last change
    Known known() const { return {bytes.data(), unknown.data(), bytes.size(), dtype, laid_out}; }
  };
  Content& content(uint32_t buffer, DType dtype);
  ElementPlace place(const TraceView& view);
  bool follow_kernels(const TraceView& view, bool laid_out);
  bool take(const TraceView& view, const Known& from);
  bool take_converted(const TraceView& view, const Known& from);
  void copy(const TraceOp& op);
  void launched();

  const Trace& trace_;
  Actual actual_;
  uint64_t launches_ = 0, work_ = 0, past_bytes_ = 0;
  std::vector<std::optional<Known>> outside_;  // by buffer
  std::vector<Content> contents_;              // by buffer
  std::vector<uint32_t> known_;                // buffers of which something is known
  std::deque<Content> past_;                   // what the host part has overwritten since
};

}  // namespace bicrl
