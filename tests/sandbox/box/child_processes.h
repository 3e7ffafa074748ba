// The processes below the test's own, for tests that kill or count them. Free functions; a process that ends
// while it is looked at is left out.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace bicrl::testing {

std::vector<pid_t> descendants();
// Those of them that have the text in their command line, whose words a space parts.
std::vector<pid_t> descendants_with(const std::string& text);

}  // namespace bicrl::testing
