// The tree behind ConfigSection: what the document says, and what was read of it. Private to
// common/config/*.cpp. Sections share nodes by shared_ptr; not thread-safe.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace bicrl {

// A configuration is written by hand: what is larger is another file.
inline constexpr size_t kMaxConfigBytes = 1 << 20;

// What reading a document found, beside values.
struct ConfigFindings {
  std::vector<std::string> notes;     // for a person: keys of the file that were dropped
  std::vector<std::string> problems;  // that finish() is to report together
};

struct ConfigNode {
  enum class Kind { kAbsent, kScalar, kList, kMapping };  // a YAML null counts as absent
  using Pointer = std::shared_ptr<ConfigNode>;

  Kind kind = Kind::kAbsent;
  std::string path;   // "a.b.2.c"; empty at the root. The same spelling works as an override.
  std::string place;  // "file:line" or "command line: a.b=value"
  std::string scalar;
  bool plain = true;           // written without quotes, so that it may be a number or a boolean
  bool overridden = false;     // the command line says this, or something below
  std::vector<Pointer> items;  // kList
  std::vector<std::pair<std::string, Pointer>> entries;  // kMapping, in the document's order

  // What was read of this mapping, in reading order: a value as YAML, a section, or a list of sections.
  using Read = std::variant<std::string, Pointer, std::vector<Pointer>>;
  std::vector<std::pair<std::string, Read>> reads;
  std::vector<std::pair<std::string, std::string>>
      renamed;  // keys of earlier versions, and what they are called now

  Pointer* find(const std::string& key);
  Read* find_read(const std::string& key);
  void note(const std::string& key, Read read);
  std::string child_path(const std::string& key) const { return path.empty() ? key : path + "." + key; }
};

// Parses the document and applies the overrides. Throws InputError.
ConfigNode::Pointer load_config_tree(const std::string& yaml, const std::string& name,
                                     const std::vector<std::string>& overrides);

// Everything read of the tree, as YAML.
std::string print_config_tree(const ConfigNode& root);

// YAML spellings that read back as the same value.
std::string yaml_text(const std::string& text);
std::string yaml_real(double value);

}  // namespace bicrl
