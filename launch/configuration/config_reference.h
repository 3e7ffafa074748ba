// The reference of all configuration keys as Markdown, made by reading example documents with the program's
// own readers: docs/configuration.md.
#pragma once
#include <string>

namespace bicrl {

// Throws Error if a key has no description, or a description no key.
std::string config_reference();

}  // namespace bicrl
