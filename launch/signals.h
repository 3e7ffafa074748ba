// Ctrl-C, SIGTERM and SIGUSR1 ask a run to stop after the step in progress.
#pragma once

namespace bicrl {

void install_stop_handler();
bool stop_requested();

}  // namespace bicrl
