// The operations of a trace on a device: launches, fills, copies; and into a stream.
#include <algorithm>
#include <cstring>

#include "sandbox/gpu/loader/driver_device.h"

namespace bicrl::gpu {
namespace {

constexpr uint32_t kUsualSharedBytes = 48 * 1024;
constexpr uint64_t kMostByHost = 2ull << 30;  // bytes whose elements are laid out or converted here

uint64_t parameter_bytes(const ptx::Module& module, const ptx::Function& entry) {
  uint64_t end = 0;
  for (const uint32_t number : entry.prototype.parameters) {
    const ptx::Variable& parameter = module.variables[number];
    end = (end + parameter.alignment - 1) / parameter.alignment * parameter.alignment + parameter.bytes;
  }
  return end;
}

ElementPlace place_in(std::string& bytes) {
  return {reinterpret_cast<std::byte*>(bytes.data()), nullptr, nullptr};
}

}  // namespace

std::string DriverDevice::download(const TraceView& view) {
  std::string bytes(view.tensor.span_bytes(), '\0');
  driver_.download(bytes.data(), address_of(view), bytes.size());
  return bytes;
}

void DriverDevice::store(const TraceView& view, const OutputLayout::Leaf& leaf, const ElementPlace& to) {
  if (view.tensor.dtype == leaf.dtype && view.tensor.is_row_major())
    return driver_.download(to.data, address_of(view), leaf.bytes);
  std::string bytes = download(view);
  copy_elements(dense_layout(leaf), to, view.tensor, place_in(bytes));
}

void DriverDevice::release(uint32_t buffer) {
  if (const Place& place = places_[buffer]; place.memory) place.memory->release(place.number);
}

void DriverDevice::fill(const TraceOp& op) {
  const TensorLayout& tensor = op.target.tensor;
  const DeviceAddress at = address_of(op.target);
  const size_t size = element_bytes(tensor.dtype);
  if (tensor.is_row_major() && size <= 4 && at % size == 0) {
    uint32_t element = 0;
    memcpy(&element, op.value.data(), size);
    return driver_.fill(at, size, element, static_cast<uint64_t>(tensor.numel()));
  }
  if (tensor.span_bytes() > kMostByHost)
    end(FaultClass::kUnsupported,
        concat("a fill of another layout, or of elements of eight bytes, of more than ", kMostByHost >> 30,
               " GiB"));
  std::string bytes = download(op.target);
  fill_elements(tensor, place_in(bytes), op.value, ptx::Writer::kHost);
  driver_.upload(at, bytes.data(), bytes.size());
}

// Of one layout and type it is the device's; else elements are converted here, as the PTX interpreter does
// it.
void DriverDevice::copy(const TraceOp& op) {
  const TensorLayout &to = op.target.tensor, &from = op.source.tensor;
  const DeviceAddress at = address_of(op.target);
  if (to.dtype == from.dtype && to.is_row_major() && from.is_row_major() &&
      op.target.buffer != op.source.buffer)
    return driver_.copy(at, address_of(op.source), to.span_bytes());
  if (std::max(to.span_bytes(), from.span_bytes()) > kMostByHost)
    end(FaultClass::kUnsupported,
        concat("a copy to another layout or type of more than ", kMostByHost >> 30, " GiB"));
  std::string source = download(op.source), target = download(op.target);
  if (op.target.buffer == op.source.buffer) {
    // The two may share bytes, and then one write shows in the next read.
    const uint64_t begin = std::min(op.target.offset_bytes, op.source.offset_bytes);
    const uint64_t end =
        std::max(op.target.offset_bytes + target.size(), op.source.offset_bytes + source.size());
    std::string both(end - begin, '\0');
    const DeviceAddress first = places_[op.target.buffer].address + begin;
    driver_.download(both.data(), first, both.size());
    auto* const data = reinterpret_cast<std::byte*>(both.data());
    copy_elements(to, {data + (op.target.offset_bytes - begin), nullptr, nullptr}, from,
                  {data + (op.source.offset_bytes - begin), nullptr, nullptr});
    return driver_.upload(first, both.data(), both.size());
  }
  copy_elements(to, place_in(target), from, place_in(source));
  driver_.upload(at, target.data(), target.size());
}

// Launch bounds are those of the machine code's own metadata. The host part's allowance of dynamic shared
// memory is what a device goes by.
void DriverDevice::prepare(KernelHandle kernel, const TraceOp& op) const {
  const KernelAttributes attributes = driver_.attributes(kernel);
  const uint64_t threads = uint64_t{op.block[0]} * op.block[1] * op.block[2];
  if (threads > attributes.max_threads)
    end(FaultClass::kLaunch,
        concat(threads, " threads in a block, the kernel has room for ", attributes.max_threads), op.entry);
  const uint64_t shared = uint64_t{attributes.static_shared_bytes} + op.shared_bytes;
  const bool extended = op.shared_limit > kUsualSharedBytes;
  if (op.shared_bytes > std::max(op.shared_limit, extended ? 0 : kUsualSharedBytes) ||
      shared > (extended ? driver_.device().max_shared_bytes : kUsualSharedBytes))
    end(FaultClass::kLaunch, concat(shared, " bytes of shared memory in a block"), op.entry);
  if (extended)
    driver_.allow_shared_bytes(kernel, std::min(op.shared_limit, driver_.device().max_shared_bytes -
                                                                     attributes.static_shared_bytes));
}

DriverDevice::ReadyLaunch DriverDevice::make_ready(const TraceOp& op) {
  const ptx::Function& entry = program_.entry(op.module, op.entry);
  const uint64_t expected = parameter_bytes(program_.modules()[op.module], entry);
  if (op.arguments.size() != expected)
    end(FaultClass::kLaunch, concat(op.arguments.size(), " bytes of parameters, the kernel has ", expected),
        op.entry);
  Module& module = modules_[op.module];
  KernelHandle& kernel = module.kernels[entry.name];
  if (!kernel) kernel = driver_.kernel(module.handle, entry.name);
  prepare(kernel, op);
  ReadyLaunch ready{
      .kernel = kernel,
      .launch = {.shared_bytes = op.shared_bytes, .cooperative = op.cooperative, .parameters = {}},
      .parameters = relocated(op.arguments, op.relocations)};
  std::copy(op.grid, op.grid + 3, ready.launch.grid);
  std::copy(op.block, op.block + 3, ready.launch.block);
  return ready;
}

// Ends the run if the program is at fault; else the error goes on to whoever can replace the device.
void DriverDevice::blame(const DriverError& error, FaultPlace place, const TraceOp& op) {
  const auto fault_class = fault_class_of(error.code(), place);
  if (!fault_class) throw error;
  if (fault_class == FaultClass::kMemory && place == FaultPlace::kLaunch) {
    // Local memory is made for all threads that the device holds. What would fit into half of an empty one
    // was refused because others have the rest.
    const DeviceDescription& device = driver_.device();
    const uint64_t threads =
        uint64_t{device.resident_threads} * static_cast<uint64_t>(device.multiprocessors);
    const KernelHandle kernel = modules_[op.module].kernels.at(program_.entry(op.module, op.entry).name);
    if (driver_.attributes(kernel).local_bytes * threads < device.memory_bytes / 2) throw error;
  }
  end(*fault_class, fault_message_of(error.code()), op.entry);
}

void DriverDevice::launch(const TraceOp& op) {
  ReadyLaunch ready = make_ready(op);
  ready.launch.parameters = ready.parameters;
  try {
    driver_.start(ready.kernel, ready.launch);
  } catch (const DriverError& error) {
    blame(error, FaultPlace::kLaunch, op);
  }
  using Clock = std::chrono::steady_clock;
  const auto limit = std::chrono::nanoseconds(static_cast<int64_t>(options_.limit_s * 1e9));
  const auto begin = Clock::now();
  bool done = false;
  try {
    done = driver_.wait(begin + (limit - waited_));
  } catch (const DriverError& error) {
    context_lost_ = true;
    blame(error, FaultPlace::kKernel, op);
  }
  waited_ += Clock::now() - begin;
  if (done) return;
  context_lost_ = true;
  end(FaultClass::kTimeout, concat("has not ended after ", options_.limit_s, " s on the device"), op.entry);
}

// ---- Into a stream ----

namespace {

// The bytes of an element of up to 8 as a repeated element of 1, 2 or 4 bytes.
struct Pattern {
  size_t bytes = 0;  // 0: there is none
  uint32_t element = 0;
};

Pattern pattern_of(const std::string& value) {
  for (const size_t bytes : {size_t{1}, size_t{2}, size_t{4}}) {
    if (bytes > value.size()) break;
    bool repeats = true;
    for (size_t i = bytes; i < value.size(); ++i) repeats = repeats && value[i] == value[i - bytes];
    if (!repeats) continue;
    Pattern pattern{bytes, 0};
    memcpy(&pattern.element, value.data(), bytes);
    return pattern;
  }
  return {};
}

std::string host_part(const TraceOp& op) {
  const bool dense = op.target.tensor.is_row_major();
  switch (op.kind) {
    case TraceOp::Kind::kLaunch:
    case TraceOp::Kind::kFree:
      return {};
    case TraceOp::Kind::kFill:
      return dense && pattern_of(op.value).bytes > 0 ? "" : "a fill of a view, or of large elements";
    case TraceOp::Kind::kCopy:
      return dense && op.source.tensor.is_row_major() && op.target.tensor.dtype == op.source.tensor.dtype
                 ? ""
                 : "a copy that casts or changes strides";
    case TraceOp::Kind::kUpload:
      return "an upload from the host";
  }
  return {};
}

}  // namespace

std::string DriverDevice::enqueue_problem(std::span<const TraceOp> ops) {
  for (const TraceOp& op : ops)
    if (std::string problem = host_part(op); !problem.empty()) return problem;
  return {};
}

// What is freed is left as it is: PyTorch's allocator does nothing on the device, either.
void DriverDevice::enqueue(std::span<const TraceOp> ops, StreamHandle stream) {
  for (const TraceOp& op : ops) {
    if (op.kind == TraceOp::Kind::kLaunch) {
      ReadyLaunch ready = make_ready(op);
      ready.launch.parameters = ready.parameters;
      driver_.start(ready.kernel, ready.launch, stream);
    } else if (op.kind == TraceOp::Kind::kFill) {
      const Pattern pattern = pattern_of(op.value);
      driver_.enqueue_fill(address_of(op.target), pattern.bytes, pattern.element,
                           op.target.tensor.span_bytes() / pattern.bytes, stream);
    } else if (op.kind == TraceOp::Kind::kCopy) {
      driver_.enqueue_copy(address_of(op.target), address_of(op.source), op.target.tensor.span_bytes(),
                           stream);
    }
  }
}

}  // namespace bicrl::gpu
