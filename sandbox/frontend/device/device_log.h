// Filters NVRTC's log for the candidate's author.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace bicrl {

// The first errors of a log in at most `max_bytes`: messages and lines of the candidate's text, no line of a
// header, and headers' names relative to the include folders.
std::string readable_device_log(std::string_view log, const std::vector<std::string>& include_folders,
                                size_t max_bytes = 1500);

}  // namespace bicrl
