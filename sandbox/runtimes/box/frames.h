// The frames of sandbox/box/process/channel.h for a process in a box, which waits for each: what frames.py is
// to interpreters.
#pragma once
#include <optional>

#include "sandbox/box/process/channel.h"

namespace bicrl::box {

// Nothing if the other side is gone.
std::optional<Frame> receive_frame(int channel);
// False if the other side is gone.
bool send_frame(int channel, const nlohmann::json& header, const std::vector<std::string_view>& blobs = {});

}  // namespace bicrl::box
