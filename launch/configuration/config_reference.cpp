#include "launch/configuration/config_reference.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "common/config/config.h"
#include "common/config/config_keys.h"
#include "common/error.h"
#include "launch/configuration/config_descriptions.h"
#include "launch/configuration/config_documents.h"

namespace bicrl {
namespace {

// A section of a document with its keys in the order in which the program reads them.
struct ReferenceSection {
  struct Key {
    std::string name;
    ConfigKey read;
  };
  std::string path;  // empty at the root
  std::vector<Key> keys;
  std::vector<std::pair<std::string, std::unique_ptr<ReferenceSection>>> sections;

  ReferenceSection& child(const std::string& name) {
    for (auto& [known, section] : sections)
      if (known == name) return *section;
    auto made = std::make_unique<ReferenceSection>();
    made->path = path.empty() ? name : path + "." + name;
    sections.emplace_back(name, std::move(made));
    return *sections.back().second;
  }

  void add(const std::string& name, const ConfigKey& read) {
    if (std::ranges::find(keys, name, &Key::name) == keys.end()) keys.push_back({name, read});
  }

  // Equal texts: the same keys, types, defaults and ranges.
  std::string signature() const {
    std::string text;
    for (const auto& [name, read] : keys)
      text += concat(name, "|", read.type, "|", read.fallback, "|", read.range, "\n");
    for (const auto& [name, section] : sections) text += concat(name, "{\n", section->signature(), "}\n");
    return text;
  }
};

// "stages.0.update.sft" to {"stages[]", "update", "sft"}.
std::vector<std::string> reference_parts(const std::string& path) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    if (!parts.empty() && part.find_first_not_of("0123456789") == part.npos)
      parts.back() += "[]";
    else
      parts.push_back(part);
    begin = end + 1;
  }
  return parts;
}

ReferenceSection read_document(const ConfigDocumentKind& kind) {
  ReferenceSection root;
  for (const std::string& yaml : kind.examples) {
    ConfigKeyLog log;
    kind.read({.example = yaml, .path = {}, .overrides = {}});
    for (const ConfigKey& key : log.keys()) {
      std::vector<std::string> parts = reference_parts(key.path);
      const std::string name = parts.back();
      parts.pop_back();
      ReferenceSection* section = &root;
      for (const std::string& part : parts) section = &section->child(part);
      section->add(name, key);
    }
  }
  return root;
}

// Finds descriptions, and knows which were never needed.
class Descriptions {
 public:
  Descriptions() {
    for (const ConfigDescription& description : config_descriptions())
      BICRL_CHECK(by_path_.emplace(description.path, &description).second, "two descriptions of ",
                  description.path);
  }

  // What the keys of stages and of the warm-up have in common is described once.
  // Null if there is none.
  const ConfigDescription* of(const ConfigDocumentKind& kind, const std::string& path) {
    static const std::string kOfStages = "stages[].update.", kOfWarmUp = "warm_up.update.";
    std::vector<std::string> candidates = {concat(kind.name, " ", kind.variant, ": ", path),
                                           concat(kind.name, ": ", path), path};
    if (path.starts_with(kOfStages)) candidates.push_back(kOfWarmUp + path.substr(kOfStages.size()));
    for (const std::string& candidate : candidates)
      if (const auto found = by_path_.find(candidate); found != by_path_.end()) {
        used_.insert(candidate);
        return found->second;
      }
    return nullptr;
  }

  void note_missing(const ConfigDocumentKind& kind, const std::string& path) {
    problems_ += concat("\n  ", kind.name, " ", kind.variant, ": ", path, " has no description");
  }

  void require_complete() {
    for (const auto& [path, description] : by_path_)
      if (!used_.contains(path)) problems_ += concat("\n  ", path, " is described, and no document has it");
    if (!problems_.empty()) throw Error("launch/configuration/config_descriptions.cpp:" + problems_);
  }

 private:
  std::map<std::string, const ConfigDescription*, std::less<>> by_path_;
  std::set<std::string, std::less<>> used_;
  std::string problems_;
};

// "1 to 1000000" to "1 to 1,000,000".
std::string with_separators(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    const auto is_digit = [&](size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
    size_t begin = i, end = i + 1;
    while (begin > 0 && is_digit(begin - 1)) --begin;
    while (is_digit(end)) ++end;
    const bool is_integer =
        is_digit(i) && (begin == 0 || text[begin - 1] == ' ') && (end == text.size() || text[end] == ' ');
    if (is_integer && end - begin > 4 && end - i > 1 && (end - i - 1) % 3 == 0) out += ',';
  }
  return out;
}

std::string code(const std::string& text) { return "`" + text + "`"; }

// The name by which a page's links find a heading.
std::string anchor(const std::string& heading) {
  std::string name;
  for (const char c : heading) {
    if (c == ' ') name += '-';
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_') name += c;
    if (c >= 'A' && c <= 'Z') name += static_cast<char>(c - 'A' + 'a');
  }
  return name;
}

std::string range_text(const ConfigKey& key) {
  if (key.type != "choice") return with_separators(key.range);
  std::string out;
  for (size_t begin = 0; begin < key.range.size();) {
    const size_t end = std::min(key.range.find(", ", begin), key.range.size());
    out += (out.empty() ? "" : ", ") + code(key.range.substr(begin, end - begin));
    begin = end + 2;
  }
  return out;
}

class ReferencePage {
 public:
  std::string write() {
    text_ =
        "# Configuration reference\n\n"
        "<!-- Generated by `bicrl config --reference`. Change launch/configuration/config_descriptions.cpp "
        "instead. -->\n\n"
        "The keys of the YAML files for training, evaluation, generation, verifiers and rewards: type,\n"
        "default, range and meaning. [curation.md](curation.md) describes the pipelines of `bicrl curate`.\n"
        "[training.md](training.md) explains how the keys work together, and how to override them.\n"
        "`[]` stands for each item of a list: `stages[].steps` is `stages.0.steps` on the command line.\n"
        "`bicrl config CONFIG` prints a file's values, and where each comes from.\n";
    for (const ConfigDocumentKind& kind : config_document_kinds()) {
      text_ += concat("\n## ", kind.title, "\n\n", kind.introduction, "\n");
      write_section(kind, read_document(kind));
    }
    descriptions_.require_complete();
    return text_;
  }

 private:
  void write_section(const ConfigDocumentKind& kind, const ReferenceSection& section) {
    const std::string signature = section.signature();
    // A section of one key is shorter than a reference to another one.
    const auto known = printed_.find(signature);
    if (known != printed_.end() && (section.keys.size() > 1 || !section.sections.empty())) {
      write_heading(kind, section);
      text_ += concat("\nThe same keys as ", known->second, ".\n");
      return;
    }
    const std::string heading = kind.heading_prefix + code(section.path);
    printed_.emplace(signature, concat("[", heading, "](#", anchor(heading), ")"));
    if (!section.keys.empty()) {
      write_heading(kind, section);
      text_ += "\n| key | type | default | range | meaning |\n|---|---|---|---|---|\n";
      for (const auto& [name, read] : section.keys) write_key(kind, section, name, read);
    }
    for (const auto& [name, child] : section.sections) write_section(kind, *child);
  }

  void write_heading(const ConfigDocumentKind& kind, const ReferenceSection& section) {
    if (section.path.empty()) return;
    text_ += concat("\n### ", kind.heading_prefix, code(section.path), "\n");
  }

  void write_key(const ConfigDocumentKind& kind, const ReferenceSection& section, const std::string& name,
                 const ConfigKey& read) {
    const std::string path = section.path.empty() ? name : section.path + "." + name;
    const ConfigDescription* found = descriptions_.of(kind, path);
    if (!found && !kind.open_section.empty() && section.path == kind.open_section) return;
    if (!found) return descriptions_.note_missing(kind, path);
    const ConfigDescription& description = *found;
    const std::string fallback = !description.fallback.empty() ? std::string(description.fallback)
                                 : read.fallback.empty()       ? "required"
                                 : read.fallback == "\"\""     ? "none"
                                                               : code(read.fallback);
    const std::string range = !description.range.empty() ? std::string(description.range) : range_text(read);
    text_ += concat("| ", code(name), " | ", read.type, " | ", fallback, " | ", range, " | ",
                    description.text, " |\n");
  }

  std::string text_;
  Descriptions descriptions_;
  std::map<std::string, std::string> printed_;  // by signature: what to call the section
};

}  // namespace

std::string config_reference() { return ReferencePage().write(); }

}  // namespace bicrl
