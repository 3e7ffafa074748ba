// Time for which a process was kept from running by others: on a busy machine, that is not its own fault.
#pragma once

namespace bicrl {

// How many times a limit a box may take on the clock. What it does within the limit is bounded by its CPU
// time; a sleeper has to end some time.
inline constexpr double kBusyMachineFactor = 6;

// Seconds in which a thread could have run and no processor was free. A process's number is that of its first
// thread. 0 if the system does not report it, or the thread is gone. Pure reading; thread-safe.
double processor_wait_s(int thread);

}  // namespace bicrl
