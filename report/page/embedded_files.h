// The page's style sheet and script, from report.css and report.js at build time (cmake/EmbedFiles.cmake).
#pragma once
#include <string_view>

namespace bicrl::report {

struct EmbeddedFile {
  std::string_view text;
  const char* sha256_hex;
};
extern const EmbeddedFile kStyleSheet;
extern const EmbeddedFile kScript;

}  // namespace bicrl::report
