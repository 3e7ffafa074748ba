// What a program's text uses: vendor libraries, device features that the host backend cannot express, and
// parts of the C++ library.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "sandbox/candidate/splitter.h"
#include "sandbox/device/token_text.h"

namespace bicrl {

void find_issues(const TokenText& source, std::vector<SplitIssue>& issues);

// Standard headers that the text needs for the names it uses with std::. `complete` is false if a name is
// not known, so that the program's own includes have to stay.
struct StandardUse {
  std::set<std::string> headers;
  std::set<std::string> macros;  // BICRL_STD_VECTOR, ...: what prelude_std.h offers
  bool complete = true;
};
StandardUse find_standard_use(const TokenText& source);

// The header in an #include line, without brackets or quotes.
std::string included_header(std::string_view line);
bool is_standard_header(const std::string& header);
// Real <cmath> comes with it.
bool needs_real_math(const std::string& header);
// Belongs to a vendor library; useless when nothing of the library is named.
bool is_library_header(const std::string& header);

}  // namespace bicrl
