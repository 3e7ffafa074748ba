// The last lines of a process's output, as a report on its end quotes them. Pure function.
#pragma once
#include <string>

namespace bicrl {

// The end of it, such as of a traceback: short enough to fit into any report uncut, in whole lines where
// there are some.
std::string last_lines(const std::string& output);

}  // namespace bicrl
