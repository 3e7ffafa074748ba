#include "sandbox/runtimes/box/frames.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace bicrl::box {
namespace {

bool read_all(int channel, char* to, size_t bytes) {
  while (bytes > 0) {
    const ssize_t n = read(channel, to, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    to += n;
    bytes -= static_cast<size_t>(n);
  }
  return true;
}

bool write_all(int channel, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = send(channel, text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

bool receive_message(int channel, Message& message) {
  uint32_t bytes = 0;
  if (!read_all(channel, reinterpret_cast<char*>(&bytes), sizeof bytes)) return false;
  std::string text(bytes, '\0');
  if (!read_all(channel, text.data(), text.size())) return false;
  message.header = nlohmann::json::parse(text);
  message.blobs.clear();
  for (const size_t size : message.header.value("blobs", std::vector<size_t>{})) {
    message.blobs.emplace_back(size, '\0');
    if (!read_all(channel, message.blobs.back().data(), size)) return false;
  }
  return true;
}

bool send_message(int channel, nlohmann::json header, const std::vector<std::string>& blobs) {
  header["blobs"] = nlohmann::json::array();
  for (const std::string& blob : blobs) header["blobs"].push_back(blob.size());
  const std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const auto bytes = static_cast<uint32_t>(text.size());
  bool sent = write_all(channel, std::string(reinterpret_cast<const char*>(&bytes), sizeof bytes) + text);
  for (const std::string& blob : blobs) sent = sent && write_all(channel, blob);
  return sent;
}

}  // namespace bicrl::box
