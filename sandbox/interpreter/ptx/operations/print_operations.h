// printf and failed assertions. Handlers of Operation for calls of functions that the device runtime has:
// arguments and results are the call's, in the lanes' own memory.
#pragma once
#include "sandbox/interpreter/ptx/execution/warp_group.h"

namespace bicrl::ptx {

// vprintf(format, values): lane by lane into the grid's printer; the result is the number of values. Texts
// are read like any other memory: beyond a buffer is a fault, and so is what was never written.
void print(WarpGroup& warp_group, const Operation& op);

// __assertfail(message, file, line, function, bytes of a character): ends the launch and says which assertion
// failed where. Its texts are those that the module has from the start, and not what memory holds by now, so
// that no data can be leaked that way.
void fail_assertion(WarpGroup& warp_group, const Operation& op);

}  // namespace bicrl::ptx
