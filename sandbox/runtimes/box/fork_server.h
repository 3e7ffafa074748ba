// Fork server for a warm program that is no interpreter, the counterpart of zygote.py. It forks a confined
// child for each request of the server's Zygote (sandbox/box/zygote.h). The program runs no foreign code
// itself, and is not reachable from its children.
#pragma once

namespace bicrl::box {

constexpr int kChannelFd = 3;  // of a child, to the server

// Says that the program is warm, serves until the server is gone, and then ends the process. Returns in each
// child alone, confined and with the first frame still to come. The descriptors to serve are named by the
// environment (BICRL_CONTROL_FD, BICRL_FILTER_FD), as Zygote sets it.
void serve_forks();

}  // namespace bicrl::box
