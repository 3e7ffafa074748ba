// What a launch function does behind its launch.
#pragma once

namespace bicrl::gpu {

// Throws Error, naming the kernel, if the last launch of this thread could not be started. What a kernel does
// wrong later is told by the next call that waits for it.
void check_launch(const char* kernel);

}  // namespace bicrl::gpu
