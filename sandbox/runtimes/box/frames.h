// Framed messages with the server, as frames.py and sandbox/box/channel.h have them: u32 little-endian JSON
// length | JSON | blobs back to back, the JSON's "blobs" giving their sizes.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace bicrl::box {

struct Message {
  nlohmann::json header;
  std::vector<std::string> blobs;
};

// False if the other side is gone. What the server sends is trusted to be well formed.
bool receive_message(int channel, Message& message);
bool send_message(int channel, nlohmann::json header, const std::vector<std::string>& blobs = {});

}  // namespace bicrl::box
