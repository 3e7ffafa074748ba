// The rewriting of device text: launches, shared memory, kernels.
#pragma once
#include <string>
#include <vector>

#include "sandbox/device/token_text.h"

namespace bicrl {

struct RewrittenText {
  std::string text;
  std::vector<std::string> kernels;
  int launch_sites = 0;
};
RewrittenText rewrite_device_text(const TokenText& source);

}  // namespace bicrl
