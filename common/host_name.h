// The name by which ranks and messages know this host. Thread-safe.
#pragma once
#include <string>

namespace bicrl {

// That of the machine, or of the container that takes itself for one.
std::string host_name();

}  // namespace bicrl
