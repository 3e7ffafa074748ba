// Output buffer of the prints of a grid's threads: a text up to a limit. Bytes that do not fit any more are
// counted. A plain value.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace bicrl::ptx {

class PrintBuffer {
 public:
  explicit PrintBuffer(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  void append(std::string_view text) {
    const size_t room = static_cast<size_t>(max_bytes_ - text_.size());
    text_ += text.substr(0, room);
    left_out_ += text.size() - std::min(text.size(), room);
  }
  const std::string& text() const { return text_; }
  uint64_t left_out_bytes() const { return left_out_; }

 private:
  const uint64_t max_bytes_;
  std::string text_;
  uint64_t left_out_ = 0;
};

}  // namespace bicrl::ptx
