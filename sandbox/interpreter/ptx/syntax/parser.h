// Reads PTX text (see module.h). The text may be hostile: whatever it is, reading takes time in proportion to
// its length and bounded memory (parse_state.h has the limits), and ends in a Module or a reason.
#pragma once
#include <string_view>

#include "common/error.h"
#include "sandbox/interpreter/ptx/syntax/module.h"

namespace bicrl::ptx {

// The module, or why there is none: "PTX line 12: unsupported: .texref". What the parser knows nothing of are
// opcodes: any instruction whose operands have a known form is kept as it is. Pure function.
Result<Module> parse_module(std::string_view text);

}  // namespace bicrl::ptx
