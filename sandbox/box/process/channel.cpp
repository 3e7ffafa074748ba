#include "sandbox/box/process/channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/error.h"

namespace bicrl {

FrameReader::State FrameReader::refuse(const std::string& why) {
  complaint_ = why;
  return State::kMalformed;
}

// Called when the part being read is full: decides what comes next.
FrameReader::State FrameReader::advance() {
  if (!have_header_) {
    frame_.header = nlohmann::json::parse(header_text_, nullptr, false);
    header_text_.clear();
    if (!frame_.header.is_object()) return refuse("a frame is not a JSON object");
    have_header_ = true;
    size_t total = 0;
    const auto sizes = frame_.header.find("blobs");
    if (sizes != frame_.header.end()) {
      if (!sizes->is_array() || sizes->size() > limits_.blobs)
        return refuse("a frame's blob list is not valid");
      for (const auto& size : *sizes) {
        if (!size.is_number_unsigned()) return refuse("a frame's blob size is not a number");
        blob_bytes_.push_back(size.get<size_t>());
        if (blob_bytes_.back() > limits_.blob_bytes || (total += blob_bytes_.back()) > limits_.blob_bytes)
          return refuse(concat("a frame holds more than ", limits_.blob_bytes, " bytes"));
      }
    }
    frame_.blobs.resize(blob_bytes_.size());
  }
  while (blob_ < blob_bytes_.size()) {
    if (blob_done_ < blob_bytes_[blob_]) return State::kNeedMore;
    ++blob_;
    blob_done_ = 0;
  }
  return State::kComplete;
}

FrameReader::State FrameReader::read_from(int fd) {
  while (true) {
    char* into = nullptr;
    size_t room = 0;
    if (length_done_ < 4) {
      into = length_ + length_done_;
      room = 4 - length_done_;
    } else if (!have_header_) {
      into = header_text_.data() + header_bytes_;
      room = header_text_.size() - header_bytes_;
    } else {
      std::string& blob = frame_.blobs[blob_];
      // The claim of a size alone takes no memory: blobs grow as bytes arrive.
      const size_t want = std::min(blob_bytes_[blob_], blob_done_ + (size_t{4} << 20));
      if (blob.capacity() < want)
        blob.reserve(std::min(blob_bytes_[blob_], std::max(want, 2 * blob.capacity())));
      if (blob.size() < want) blob.resize(want);
      into = blob.data() + blob_done_;
      room = want - blob_done_;
    }
    const ssize_t n = recv(fd, into, room, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return State::kNeedMore;
    if (n <= 0) {
      closed_ = true;
      return State::kNeedMore;
    }
    const size_t got = static_cast<size_t>(n);
    if (length_done_ < 4) {
      length_done_ += got;
      if (length_done_ < 4) continue;
      uint32_t bytes = 0;
      memcpy(&bytes, length_, 4);
      if (bytes == 0 || bytes > limits_.header_bytes)
        return refuse(concat("a frame's header claims ", bytes, " bytes"));
      header_text_.resize(bytes);
      header_bytes_ = 0;
      continue;
    }
    if (!have_header_) {
      header_bytes_ += got;
      if (header_bytes_ < header_text_.size()) continue;
    } else {
      blob_done_ += got;
      if (blob_done_ < blob_bytes_[blob_]) continue;
    }
    const State state = advance();
    if (state != State::kNeedMore) return state;
  }
}

Frame FrameReader::take() {
  Frame taken = std::move(frame_);
  *this = FrameReader(limits_);
  return taken;
}

std::string encode_header(nlohmann::json header, const std::vector<std::string_view>& blobs) {
  auto& sizes = header["blobs"] = nlohmann::json::array();
  for (const auto& blob : blobs) sizes.push_back(blob.size());
  const std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const uint32_t bytes = static_cast<uint32_t>(text.size());
  std::string out(reinterpret_cast<const char*>(&bytes), 4);
  return out + text;
}

}  // namespace bicrl
