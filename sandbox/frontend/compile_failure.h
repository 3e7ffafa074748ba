// Classifies a failed compilation of the host part as a fault of the program.
#pragma once
#include <string>
#include <string_view>

#include "sandbox/frontend/installed_api.h"
#include "verdict/fault/fault.h"

namespace bicrl {

// A fault of the program: kFrameworkFallback if it uses a tensor operator that the host part's headers do not
// offer, kUnsupported if another name, header or conversion of an installed API is missing there (the reason
// names it), else kCompile. The first line that explains the failure decides: what else is wrong may follow
// from it. The reason: what is missing, then the first errors without paths, bounded.
Fault classify_compile_failure(std::string_view compiler_output, const InstalledApi& api);

}  // namespace bicrl
