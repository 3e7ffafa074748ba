// The version and commit of this program. Written by cmake/WriteProgramVersion.cmake.
#pragma once
#include <string_view>

namespace bicrl {

struct ProgramVersion {
  std::string_view version;  // "0.1.0"
  std::string_view commit;   // "96ff9038abcd", with " with changes" behind it; empty where it is not known
};
extern const ProgramVersion kProgramVersion;

}  // namespace bicrl
