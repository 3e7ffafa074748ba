// Checks behind a launch that its kernel could be started.
#pragma once

namespace bicrl::gpu {

// Throws Error, naming the kernel, if the last launch of this thread could not be started. What a kernel does
// wrong later is reported by the next call that waits for it.
void check_launch(const char* kernel);

}  // namespace bicrl::gpu
