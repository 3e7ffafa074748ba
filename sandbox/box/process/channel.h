// Framed messages between the server and a process in a box, both ways over one stream socket:
// u32 little-endian JSON length | JSON | blobs back to back, the JSON's "blobs" giving their sizes.
#pragma once
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace bicrl {

using Deadline = std::chrono::steady_clock::time_point;

struct Frame {
  nlohmann::json header;
  std::vector<std::string> blobs;
};

// What the other side may make us keep. It is not trusted.
struct FrameLimits {
  size_t header_bytes = 8u << 20;
  size_t blob_bytes = 256u << 20;  // all blobs of a frame
  size_t blobs = 4096;
  bool operator==(const FrameLimits&) const = default;
};

// Grows a frame from pieces as they arrive. Not thread-safe.
class FrameReader {
 public:
  explicit FrameReader(const FrameLimits& limits) : limits_(limits) {}
  enum class State { kNeedMore, kComplete, kMalformed };
  // Reads what is there (the descriptor does not block). kNeedMore with closed() set: the other side is gone.
  State read_from(int fd);
  bool closed() const { return closed_; }
  const std::string& complaint() const { return complaint_; }  // why malformed
  Frame take();

 private:
  State refuse(const std::string& why);
  State advance();
  FrameLimits limits_;
  std::string header_text_;
  Frame frame_;
  char length_[4] = {};
  size_t length_done_ = 0;
  size_t header_bytes_ = 0;
  size_t blob_ = 0, blob_done_ = 0;
  std::vector<size_t> blob_bytes_;
  bool have_header_ = false;
  bool closed_ = false;
  std::string complaint_;
};

// Header with the sizes of `blobs` added, ready to write before them.
std::string encode_header(nlohmann::json header, const std::vector<std::string_view>& blobs);

}  // namespace bicrl
