#include "trainer/run/reports/event_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iterator>

#include "common/error.h"
#include "common/utf8.h"

namespace bicrl {
namespace {

static_assert(std::endian::native == std::endian::little, "records are little-endian");

// ---- Records: u64 length, u32 masked checksum of it, the message, u32 masked checksum of the message.

constexpr int64_t kHeaderBytes = 12;
constexpr int64_t kFooterBytes = 4;

// CRC-32C (Castagnoli), bit-reflected.
constexpr std::array<uint32_t, 256> kChecksumTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) ? 0x82f63b78u : 0u);
    table[i] = value;
  }
  return table;
}();

// The format stores checksums rotated and shifted, as a checksum over data that hold one degenerates.
uint32_t masked_checksum(std::string_view bytes) {
  uint32_t value = 0xffffffffu;
  for (const char byte : bytes)
    value = (value >> 8) ^ kChecksumTable[(value ^ static_cast<uint8_t>(byte)) & 0xff];
  value = ~value;
  return std::rotr(value, 15) + 0xa282ead8u;
}

template <class T>
std::string fixed_bytes(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

std::string record_header(uint64_t length) {
  const std::string bytes = fixed_bytes(length);
  return bytes + fixed_bytes(masked_checksum(bytes));
}

// ---- Protocol buffer fields, as many kinds as an Event needs.

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

enum class Wire : uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

std::string key(uint64_t field, Wire wire) { return varint(field << 3 | static_cast<uint64_t>(wire)); }
std::string integer_field(uint64_t field, int64_t value) {
  return key(field, Wire::kVarint) + varint(static_cast<uint64_t>(value));
}
std::string double_field(uint64_t field, double value) {
  return key(field, Wire::kFixed64) + fixed_bytes(value);
}
std::string float_field(uint64_t field, float value) {
  return key(field, Wire::kFixed32) + fixed_bytes(value);
}
std::string bytes_field(uint64_t field, std::string_view bytes) {
  return key(field, Wire::kBytes) + varint(bytes.size()) + std::string(bytes);
}

// ---- TensorBoard's messages (event.proto, summary.proto, tensor.proto), by field number.

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string version_event() { return double_field(1, wall_time()) + bytes_field(3, "brain.Event:2"); }

// `values` are the encoded Summary.value fields.
std::string summary_event(int64_t step, const std::string& values) {
  return double_field(1, wall_time()) + integer_field(2, step) + bytes_field(5, values);
}

std::string scalar_value(const std::string& tag, double value) {
  return bytes_field(1, bytes_field(1, tag) + float_field(2, static_cast<float>(value)));
}

// HistogramProto: least, most, number, sum and sum of squares, then the upper limit of each bar and its
// height.
std::string histogram_value(const std::string& tag, const std::vector<double>& values) {
  constexpr size_t kBars = 30;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const double width = *most > *least ? (*most - *least) / kBars : 1;
  std::vector<double> heights(kBars, 0.0);
  double sum = 0, squares = 0;
  for (const double value : values) {
    heights[std::min(kBars - 1, static_cast<size_t>((value - *least) / width))] += 1;
    sum += value;
    squares += value * value;
  }
  std::string limits, counts;
  for (size_t bar = 0; bar < kBars; ++bar) {
    // The last limit is the largest value itself, whatever rounding makes of the sum.
    limits += fixed_bytes(bar + 1 == kBars && *most > *least ? *most
                                                             : *least + width * static_cast<double>(bar + 1));
    counts += fixed_bytes(heights[bar]);
  }
  const std::string histogram = double_field(1, *least) + double_field(2, *most) +
                                double_field(3, static_cast<double>(values.size())) + double_field(4, sum) +
                                double_field(5, squares) + bytes_field(6, limits) + bytes_field(7, counts);
  return bytes_field(1, bytes_field(1, tag) + bytes_field(5, histogram));
}

// The text plugin wants a string tensor of one dimension and, in its metadata, its own name.
std::string text_value(const std::string& tag, const std::string& text) {
  constexpr int64_t kStringType = 7;   // DT_STRING
  constexpr int64_t kTensorClass = 2;  // DATA_CLASS_TENSOR
  const std::string dimension = bytes_field(2, integer_field(1, 1));
  const std::string tensor = integer_field(1, kStringType) + bytes_field(2, dimension) + bytes_field(8, text);
  const std::string metadata = bytes_field(1, bytes_field(1, "text")) + integer_field(4, kTensorClass);
  return bytes_field(1, bytes_field(1, tag) + bytes_field(8, tensor) + bytes_field(9, metadata));
}

// Whether a record ends exactly at `wanted`, or why not.
std::string boundary_problem(int fd, int64_t wanted) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return strerror(errno);
  if (info.st_size < wanted) return concat("has only ", info.st_size, " bytes");
  int64_t at = 0;
  while (at < wanted) {
    char header[kHeaderBytes];
    if (pread(fd, header, sizeof header, at) != kHeaderBytes) return concat("is cut off at byte ", at);
    uint64_t length;
    std::memcpy(&length, header, sizeof length);
    if (record_header(length) != std::string_view(header, sizeof header))
      return concat("holds no record at byte ", at);
    // Compared without adding, so that no length overflows.
    if (length > static_cast<uint64_t>(wanted - at)) return concat("has a record that begins at byte ", at);
    at += kHeaderBytes + static_cast<int64_t>(length) + kFooterBytes;
  }
  return at == wanted ? "" : "has no record that ends there";
}

}  // namespace

EventFile::EventFile(const std::filesystem::path& path, int64_t resume_at_bytes) : path_(path) {
  BICRL_CHECK(resume_at_bytes >= 0, "resume_at_bytes ", resume_at_bytes);
  const bool fresh = resume_at_bytes == 0;
  fd_ = open(path.c_str(), fresh ? O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC : O_RDWR | O_CLOEXEC, 0644);
  if (fd_ < 0 && errno == ENOENT && !fresh)
    throw InputError(concat("cannot go on at byte ", resume_at_bytes, " of ", path.string(), ": it is gone"));
  if (fd_ < 0) fail("open", errno);
  // A constructor that throws runs no destructor.
  try {
    if (fresh) {
      append(version_event());
      return;
    }
    if (const std::string problem = boundary_problem(fd_, resume_at_bytes); !problem.empty())
      throw InputError(
          concat("cannot go on at byte ", resume_at_bytes, " of ", path.string(), ": it ", problem));
    if (ftruncate(fd_, resume_at_bytes) != 0) fail("cut", errno);
    position_bytes_ = resume_at_bytes;
  } catch (...) {
    close(fd_);
    throw;
  }
}

EventFile::~EventFile() { close(fd_); }

void EventFile::add_scalars(int64_t step, const std::vector<Scalar>& scalars) {
  std::string values;
  for (const auto& [tag, value] : scalars) values += scalar_value(tag, value);
  append(summary_event(step, values));
}

void EventFile::add_histogram(int64_t step, const std::string& tag, const std::vector<double>& values) {
  std::vector<double> finite;
  std::ranges::copy_if(values, std::back_inserter(finite), [](double value) { return std::isfinite(value); });
  if (!finite.empty()) append(summary_event(step, histogram_value(tag, finite)));
}

void EventFile::add_text(int64_t step, const std::string& tag, const std::string& text) {
  // The text dashboard shows nothing of a run that has bytes which are no UTF-8.
  append(summary_event(step, text_value(tag, to_utf8(text))));
}

void EventFile::sync() {
  if (fdatasync(fd_) != 0) fail("sync", errno);
}

void EventFile::append(const std::string& message) {
  const std::string record = record_header(message.size()) + message + fixed_bytes(masked_checksum(message));
  for (size_t done = 0; done < record.size();) {
    const ssize_t n =
        pwrite(fd_, record.data() + done, record.size() - done, position_bytes_ + static_cast<int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int code = errno;
      // Half a record would hide all that follow from a reader. The next append overwrites it in any case.
      [[maybe_unused]] const int ignored = ftruncate(fd_, position_bytes_);
      fail("write", code);
    }
    done += static_cast<size_t>(n);
  }
  position_bytes_ += static_cast<int64_t>(record.size());
}

void EventFile::fail(const char* what, int code) const {
  throw Error(concat("cannot ", what, " ", path_.string(), ": ", strerror(code)));
}

}  // namespace bicrl
