// Time for which a process was kept from running by others: on a busy machine, that is not its own fault.
#pragma once

namespace bicrl {

// How many times a limit a box may take on the clock. What it does within the limit is bounded by its CPU
// time; a sleeper has to end some time.
inline constexpr double kBusyMachineFactor = 6;

// Seconds in which the process's first thread could have run and no processor was free. 0 if the system does
// not report it, or the process is gone. Pure reading; thread-safe.
double processor_wait_s(int pid);

}  // namespace bicrl
