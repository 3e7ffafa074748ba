// Ctrl-C, SIGTERM and SIGUSR1 ask a run to stop after the step in progress.
#pragma once
#include <string>

namespace bicrl {

// The first signal writes `announcement` to stderr at once, as the step may take long; empty: nothing (of
// several ranks one speaks). A second one ends the process; SIGINT and SIGTERM count as the first behind
// SIGUSR1.
void install_stop_handler(const std::string& announcement);
bool stop_requested();

}  // namespace bicrl
