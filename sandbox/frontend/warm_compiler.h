// Constants that a warm compiler and the server that starts it agree on; compile_server.cpp says how it
// works.
#pragma once

namespace bicrl::box {

// The file that stands for a unit's text on the compiler's command line. There is none of that name.
constexpr const char* kUnitPath = "/unit.cpp";
// The files of the first unit in the child's working folder are unit_0.s, of the second unit_1.s, and so on.

// How a program's process ends without an answer: one of its programs got SIGKILL, or could not be started.
constexpr int kKilledStatus = 9, kNoProcessStatus = 11;

}  // namespace bicrl::box
