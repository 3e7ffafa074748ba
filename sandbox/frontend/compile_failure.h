// What a failed compilation of the host part says about a candidate.
#pragma once
#include <string>
#include <string_view>

#include "sandbox/frontend/installed_api.h"

namespace bicrl {

// "framework_fallback" if the program uses a tensor operator that the host part's headers do not offer,
// "unsupported" if another name, header or conversion of an installed API is missing there (`reason` names
// it), else "compile". The first line that explains the failure decides: what else is wrong may follow from
// it.
struct CompileFailure {
  std::string fault_class;
  std::string reason;  // what is missing, first errors, paths removed, bounded
};
CompileFailure classify_compile_failure(std::string_view compiler_output, const InstalledApi& api);

}  // namespace bicrl
