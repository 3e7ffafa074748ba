#include "sandbox/trace_run/copied_contents.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "sandbox/recorder/trace/element_types.h"

namespace bicrl {
namespace {

constexpr double kUnlike = 0.1;  // share of the elements that may differ
constexpr double kClose = 0.01;  // relative
constexpr size_t kAnchorBytes = 32;
constexpr int kAnchorPlaces = 64, kAnchorHits = 8;
constexpr int64_t kSamples = 64;
constexpr size_t kPast = 16;
constexpr uint64_t kMaxPastBytes = uint64_t{256} << 20;
// Elements looked at, in all: some seconds. A program that has the host part copy so much that more are to be
// looked at is followed no further.
constexpr uint64_t kMaxWork = uint64_t{1} << 29;
constexpr uint64_t kSearchedBytesPerElement = 16;

bool is_whole(const TraceView& view, uint64_t buffer_bytes) {
  return view.offset_bytes == 0 && view.tensor.span_bytes() == buffer_bytes &&
         static_cast<uint64_t>(view.tensor.numel()) * element_bytes(view.tensor.dtype) == buffer_bytes;
}

bool same_order(const TensorLayout& a, const TensorLayout& b) {
  if (a.dtype != b.dtype) return false;
  for (size_t d = 0; d < a.sizes.size(); ++d)
    if (a.sizes[d] != 1 && a.strides[d] != b.strides[d]) return false;
  return true;
}

// Whether a copy makes more of a tensor than another one like it.
bool lays_out(const TraceOp& op, const std::vector<TraceBuffer>& buffers) {
  return !same_order(op.target.tensor, op.source.tensor) ||
         !is_whole(op.target, buffers[op.target.buffer].bytes) ||
         !is_whole(op.source, buffers[op.source.buffer].bytes);
}

bool shows_all_in_order(const TraceView& view, const std::vector<TraceBuffer>& buffers) {
  return view.tensor.is_row_major() && is_whole(view, buffers[view.buffer].bytes);
}

// Its elements as they lie in memory, once each unless strides overlap.
TensorLayout by_place(const TensorLayout& tensor) {
  std::vector<size_t> order;
  for (size_t d = 0; d < tensor.sizes.size(); ++d)
    if (tensor.sizes[d] != 1 && tensor.strides[d] != 0) order.push_back(d);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return tensor.strides[a] > tensor.strides[b]; });
  TensorLayout ordered{tensor.dtype, {}, {}};
  for (const size_t d : order) {
    ordered.sizes.push_back(tensor.sizes[d]);
    ordered.strides.push_back(tensor.strides[d]);
  }
  return ordered;
}

// Bytes that the runtime copied, as what they are elements of.
TensorLayout as_elements(TensorLayout bytes, DType dtype) {
  const auto size = static_cast<int64_t>(element_bytes(dtype));
  if (bytes.dtype != DType::kUInt8 || size == 1 || bytes.sizes.empty()) return bytes;
  const size_t last = bytes.sizes.size() - 1;
  if (bytes.strides[last] != 1 || bytes.sizes[last] % size != 0) return bytes;
  for (size_t d = 0; d < last; ++d)
    if (bytes.strides[d] % size != 0) return bytes;
  bytes.dtype = dtype;
  bytes.sizes[last] /= size;
  for (size_t d = 0; d < last; ++d) bytes.strides[d] /= size;
  return bytes;
}

using IsClose = bool (*)(const std::byte*, const std::byte*);
IsClose closeness(DType dtype) {
  IsClose found = nullptr;
  with_element_type(dtype, [&](auto type) {
    using T = decltype(type);
    found = [](const std::byte* a, const std::byte* b) {
      if (memcmp(a, b, sizeof(T)) == 0) return true;
      if constexpr (std::is_integral_v<T>) {
        return false;
      } else {
        const double x = element_value(load_element<T>(a)), y = element_value(load_element<T>(b));
        return std::abs(x - y) <= kClose * std::max(std::abs(x), std::abs(y));
      }
    };
  });
  return found;
}

// Where the elements of a view are in other bytes: as far from each other as in its own buffer, or one behind
// the other.
struct Correspondence {
  bool compact = false;
  int64_t distance = 0;  // bytes, of the others from where they are in the buffer
};

// The bytes that are most unlike each other of some places of the run.
size_t anchor(const std::byte* bytes, size_t size) {
  size_t best = 0, most = 0;
  for (int i = 0; i < kAnchorPlaces; ++i) {
    const size_t at = (size - kAnchorBytes) / kAnchorPlaces * static_cast<size_t>(i) / 4 * 4;
    std::array<bool, 256> seen{};
    for (size_t b = 0; b < kAnchorBytes; ++b) seen[static_cast<uint8_t>(bytes[at + b])] = true;
    const auto different = static_cast<size_t>(std::count(seen.begin(), seen.end(), true));
    if (different > most) {
      most = different;
      best = at;
    }
  }
  return best;
}

}  // namespace

// Whether what a view shows is what is known of other bytes.
class CopiedContents::Likeness {
 public:
  Likeness(const TraceView& view, const std::byte* actual, const Known& known, uint64_t& work)
      : work_(work),
        begin_(static_cast<int64_t>(view.offset_bytes)),
        span_(view.tensor.span_bytes()),
        places_(by_place(as_elements(view.tensor, known.dtype))),
        size_(element_bytes(places_.dtype)),
        actual_(actual),
        known_(known),
        is_close_(closeness(places_.dtype)) {}

  bool at(const Correspondence& where) const {
    const int64_t count = places_.numel();
    const int64_t step = std::max<int64_t>(1, count / kSamples);
    work_ += kSamples;
    if (!few_samples_differ(where, step)) return false;
    work_ += static_cast<uint64_t>(count);
    return few_differ(where);
  }

  // Where a run of the same bytes begins.
  std::optional<Correspondence> elsewhere() const {
    if (span_ < kAnchorBytes || known_.size < kAnchorBytes) return std::nullopt;
    work_ += known_.size / kSearchedBytesPerElement;
    const auto at_byte = begin_ + static_cast<int64_t>(anchor(actual_ + begin_, span_));
    const std::byte *hit = known_.bytes, *const end = known_.bytes + known_.size;
    for (int hits = 0; hits < kAnchorHits; ++hits, ++hit) {
      hit = static_cast<const std::byte*>(
          memmem(hit, static_cast<size_t>(end - hit), actual_ + at_byte, kAnchorBytes));
      if (!hit) return std::nullopt;
      const Correspondence where{.distance = (hit - known_.bytes) - at_byte};
      if (at(where)) return where;
    }
    return std::nullopt;
  }

  // Calls visit(place in the buffer, place in what is known, bytes of an element).
  template <class Visit>
  void for_each_place(const Correspondence& where, const Visit& visit) const {
    int64_t next = 0;
    for_each_element(places_.sizes, places_.strides, places_.strides, [&](int64_t at, int64_t) {
      const int64_t own = begin_ + at * static_cast<int64_t>(size_);
      visit(static_cast<uint64_t>(own), static_cast<uint64_t>(other(own, next++, where)), size_);
    });
  }

 private:
  int64_t other(int64_t own, int64_t number, const Correspondence& where) const {
    return where.compact ? number * static_cast<int64_t>(size_) : own + where.distance;
  }

  int64_t place(int64_t number) const {
    int64_t at = 0;
    for (size_t d = places_.sizes.size(); d-- > 0; number /= places_.sizes[d])
      at += number % places_.sizes[d] * places_.strides[d];
    return begin_ + at * static_cast<int64_t>(size_);
  }

  // Elements by their number, every `step`-th one.
  bool few_samples_differ(const Correspondence& where, int64_t step) const {
    const int64_t count = places_.numel();
    Unlike unlike(count / step);
    for (int64_t number = 0; number < count && !unlike.too_many; number += step) {
      const int64_t own = place(number);
      compare(own, other(own, number, where), unlike);
    }
    return !unlike.too_many;
  }

  bool few_differ(const Correspondence& where) const {
    Unlike unlike(places_.numel());
    int64_t number = 0;
    for_each_element(places_.sizes, places_.strides, places_.strides, [&](int64_t at, int64_t) {
      if (unlike.too_many) return;
      const int64_t own = begin_ + at * static_cast<int64_t>(size_);
      compare(own, other(own, number++, where), unlike);
    });
    return !unlike.too_many;
  }

  struct Unlike {
    explicit Unlike(int64_t count) : allowed(static_cast<int64_t>(kUnlike * static_cast<double>(count))) {}
    int64_t allowed, found = 0;
    bool too_many = false;
  };

  void compare(int64_t own, int64_t there, Unlike& unlike) const {
    if (there < 0 || there > static_cast<int64_t>(known_.size) - static_cast<int64_t>(size_)) {
      unlike.too_many = true;
      return;
    }
    const bool unknown = known_.unknown && known_.unknown[there] != 0;
    if (unknown || !is_close_(actual_ + own, known_.bytes + there))
      unlike.too_many = ++unlike.found > unlike.allowed;
  }

  uint64_t& work_;
  const int64_t begin_;
  const uint64_t span_;
  const TensorLayout places_;
  const size_t size_;
  const std::byte* actual_;
  const Known known_;
  const IsClose is_close_;
};

bool CopiedContents::matter(const Trace& trace) {
  return std::any_of(trace.ops.begin(), trace.ops.end(),
                     [&](const TraceOp& op) {
                       return op.kind == TraceOp::Kind::kCopy && lays_out(op, trace.buffers);
                     }) ||
         std::any_of(trace.outputs.begin(), trace.outputs.end(),
                     [&](const TraceView& view) { return !shows_all_in_order(view, trace.buffers); });
}

CopiedContents::CopiedContents(const Trace& trace, Actual actual)
    : trace_(trace),
      actual_(std::move(actual)),
      outside_(trace.buffers.size()),
      contents_(trace.buffers.size()) {}

void CopiedContents::set(uint32_t buffer, DType dtype, std::string_view bytes) {
  outside_[buffer] =
      Known{reinterpret_cast<const std::byte*>(bytes.data()), nullptr, bytes.size(), dtype, false};
  known_.push_back(buffer);
}

// To be changed. A kernel may have copied what it has held so far.
CopiedContents::Content& CopiedContents::content(uint32_t buffer, DType dtype) {
  Content& content = contents_[buffer];
  if (content.bytes.empty()) {
    const uint64_t size = trace_.buffers[buffer].bytes;
    content.bytes.resize(size);
    content.unknown.assign(size, 0xFF);
    content.dtype = dtype;
    if (!outside_[buffer]) known_.push_back(buffer);
    if (const auto& outside = outside_[buffer]) {
      std::copy_n(outside->bytes, size, content.bytes.begin());
      content.unknown.assign(size, 0);
      content.dtype = outside->dtype;
    }
  } else if (content.laid_out && content.written_at != launches_ && work_ < kMaxWork) {
    work_ += content.bytes.size() / kSearchedBytesPerElement;
    past_bytes_ += content.bytes.size();
    past_.push_back(content);
  }
  content.written_at = launches_;
  return content;
}

ElementPlace CopiedContents::place(const TraceView& view) {
  Content& content = contents_[view.buffer];
  return {content.bytes.data() + view.offset_bytes, content.unknown.data() + view.offset_bytes, nullptr};
}

void CopiedContents::launched() {
  ++launches_;
  while (past_.size() > kPast || past_bytes_ > kMaxPastBytes) {
    past_bytes_ -= past_.front().bytes.size();
    past_.pop_front();
  }
}

void CopiedContents::execute(const TraceOp& op) {
  if (op.kind == TraceOp::Kind::kFree) return;
  if (op.kind == TraceOp::Kind::kLaunch) return launched();
  if (op.kind == TraceOp::Kind::kCopy) return copy(op);
  content(op.target.buffer, op.target.tensor.dtype);
  const ElementPlace target = place(op.target);
  if (op.kind == TraceOp::Kind::kFill)
    return fill_elements(op.target.tensor, target, op.value, ptx::Writer::kHost);
  const std::string& bytes = trace_.blobs[op.blob];
  if (bytes.empty()) return;
  memcpy(target.data, bytes.data(), bytes.size());
  memset(target.undefined, op.relocations.empty() ? 0 : 0xFF, bytes.size());
}

void CopiedContents::copy(const TraceOp& op) {
  const bool known = follow_kernels(op.source, /*laid_out=*/false);
  if (!known && contents_[op.target.buffer].bytes.empty() && !outside_[op.target.buffer]) return;
  if (known) {
    const bool laid_out = contents_[op.source.buffer].laid_out || lays_out(op, trace_.buffers);
    const DType bytes_of = contents_[op.source.buffer].dtype;
    const bool plain_bytes = op.target.tensor.dtype == DType::kUInt8;
    content(op.target.buffer, plain_bytes ? bytes_of : op.target.tensor.dtype).laid_out |= laid_out;
    copy_elements(op.target.tensor, place(op.target), op.source.tensor, place(op.source));
    return;
  }
  content(op.target.buffer, op.target.tensor.dtype);
  const size_t size = element_bytes(op.target.tensor.dtype);
  const ElementPlace target = place(op.target);
  for_each_element(
      op.target.tensor.sizes, op.target.tensor.strides, op.target.tensor.strides,
      [&](int64_t at, int64_t) { memset(target.undefined + static_cast<size_t>(at) * size, 0xFF, size); });
}

// What the view shows becomes known in contents_, if it is what is known of its buffer, or of other ones.
// `laid_out`: only if the host part has laid it out.
bool CopiedContents::follow_kernels(const TraceView& view, bool laid_out) {
  const Content& own = contents_[view.buffer];
  if (work_ >= kMaxWork) return false;
  if (!own.bytes.empty() && (!laid_out || own.laid_out) &&
      Likeness(view, actual_(view.buffer), own.known(), work_).at({}))
    return true;
  using Take = bool (CopiedContents::*)(const TraceView&, const Known&);
  for (const Take method : {&CopiedContents::take, &CopiedContents::take_converted}) {
    const auto holds = [&](const Known& known) {
      return (!laid_out || known.laid_out) && work_ < kMaxWork && (this->*method)(view, known);
    };
    for (const uint32_t buffer : known_) {
      const Content& content = contents_[buffer];
      if (outside_[buffer] && holds(*outside_[buffer])) return true;
      if (buffer != view.buffer && !content.bytes.empty() && holds(content.known())) return true;
    }
    for (size_t i = 0; i < past_.size(); ++i)
      if (holds(past_[i].known())) return true;
  }
  return false;
}

// A kernel may have converted what it copied, as the framework does it: then the framework's arithmetic in
// another type, or its truncation, would pass for the kernel's.
bool CopiedContents::take_converted(const TraceView& view, const Known& from) {
  const DType dtype = view.tensor.dtype;
  const auto count = static_cast<int64_t>(from.size / element_bytes(from.dtype));
  if (dtype == from.dtype || dtype == DType::kUInt8 || from.dtype == DType::kUInt8 ||
      count < view.tensor.numel())
    return false;
  work_ += static_cast<uint64_t>(count);
  std::vector<std::byte> source(from.bytes, from.bytes + from.size);
  std::vector<uint8_t> unknown(from.size);
  if (from.unknown) std::copy_n(from.unknown, from.size, unknown.begin());
  const uint64_t size = static_cast<uint64_t>(count) * element_bytes(dtype);
  std::vector<std::byte> bytes(size);
  std::vector<uint8_t> still_unknown(size);
  copy_elements({dtype, {count}, {1}}, {bytes.data(), still_unknown.data(), nullptr},
                {from.dtype, {count}, {1}}, {source.data(), unknown.data(), nullptr});
  return take(view, {bytes.data(), still_unknown.data(), size, dtype, from.laid_out});
}

bool CopiedContents::take(const TraceView& view, const Known& from) {
  const Likeness likeness(view, actual_(view.buffer), from, work_);
  std::optional<Correspondence> where;
  for (const bool compact : {false, true})
    if (!where && likeness.at({.compact = compact})) where = Correspondence{.compact = compact};
  if (!where) where = likeness.elsewhere();
  if (!where) return false;
  Content& into = content(view.buffer, from.dtype);
  into.laid_out |= from.laid_out;
  likeness.for_each_place(*where, [&](uint64_t own, uint64_t other, size_t size) {
    std::copy_n(from.bytes + other, size, into.bytes.data() + own);
    if (from.unknown)
      std::copy_n(from.unknown + other, size, into.unknown.data() + own);
    else
      std::fill_n(into.unknown.data() + own, size, uint8_t{0});
  });
  return true;
}

bool CopiedContents::output(const TraceView& view, const OutputLayout::Leaf& leaf, std::byte* to) {
  if (!follow_kernels(view, /*laid_out=*/shows_all_in_order(view, trace_.buffers))) return false;
  std::vector<uint8_t> unknown(leaf.bytes);
  copy_elements(dense_layout(leaf), {to, unknown.data(), nullptr}, view.tensor, place(view));
  return std::all_of(unknown.begin(), unknown.end(), [](uint8_t bits) { return bits == 0; });
}

}  // namespace bicrl
