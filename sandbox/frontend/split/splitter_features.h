// Features that a program's text uses: vendor libraries, device features that the host part cannot have, and
// parts of the C++ library.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "sandbox/frontend/device/token_text.h"
#include "sandbox/frontend/split/splitter.h"

namespace bicrl {

// `sources`: all texts of a program. A name that one of them defines is no library's.
void find_issues(const std::vector<const TokenText*>& sources, std::vector<SplitIssue>& issues);

// Headers that the text needs for the names it uses. `complete` is false if a std:: name is not known, so
// that the program's own includes have to stay.
struct StandardUse {
  std::set<std::string> headers;       // of the C++ library, beyond those in the prelude
  std::set<std::string> shim_headers;  // "groups.h": device libraries, as far as host code names them
  bool standard_prelude = false;       // needs what prelude_std.h has
  bool complete = true;
};
StandardUse find_standard_use(const TokenText& source);

// The header in an #include line, without brackets or quotes.
std::string included_header(std::string_view line);

}  // namespace bicrl
