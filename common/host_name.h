#pragma once
#include <string>

namespace bicrl {

// The name of this machine, or of the container that takes itself for one.
std::string host_name();

}  // namespace bicrl
