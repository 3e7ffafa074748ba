// The kinds of YAML documents that the program reads, each with its reader and with examples that reach every
// branch of it. A new key in a branch of its own needs an example; tests/document_check.py reports one that
// lacks it.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "common/config/config.h"

namespace bicrl {

// A file with overrides, or an example.
struct ConfigSource {
  std::string example;  // YAML; used if there is no path
  std::filesystem::path path;
  std::vector<std::string> overrides;

  bool is_file() const { return !path.empty(); }
  ConfigDocument load() const;
};

struct ConfigDocumentKind {
  std::string name;  // as in launch/configuration/config_descriptions.cpp, and for `bicrl config --of`
  std::string variant = "";         // of reward files: the rule
  std::string title;                // of its chapter in the reference
  std::string heading_prefix = "";  // of its sections
  std::string introduction;
  // Also holds keys of other documents: those without a description are left out.
  std::string open_section = "";
  std::vector<std::string> examples;
  // Reads every key with the program's own reader. Throws InputError for a file that the program refuses;
  // paths that an example names need not exist.
  void (*read)(const ConfigSource& source) = nullptr;
};

std::vector<ConfigDocumentKind> config_document_kinds();

}  // namespace bicrl
