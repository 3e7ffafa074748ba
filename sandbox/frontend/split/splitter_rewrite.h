// From CUDA text to the text of its host part: what only a device runs loses its body, launches become calls.
#pragma once
#include <string>

#include "sandbox/frontend/device/token_text.h"

namespace bicrl {

std::string rewrite_host_text(const TokenText& source);

}  // namespace bicrl
