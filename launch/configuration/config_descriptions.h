// The meaning of each configuration key, in one line. The only text of docs/configuration.md that is written
// by hand.
#pragma once
#include <span>
#include <string_view>

namespace bicrl {

struct ConfigDescription {
  // As in the reference: items of a list are "[]". "eval: policy.moments" holds in that document alone.
  std::string_view path;
  std::string_view text;
  // For a default that depends on other keys or on the machine; empty: the value that the program reports.
  std::string_view fallback = "";
  std::string_view range = "";  // likewise
};

std::span<const ConfigDescription> config_descriptions();

}  // namespace bicrl
