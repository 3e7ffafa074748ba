// Configuration: a YAML file plus `key.path=value` overrides, read through typed accessors.
//
// Reading is what declares a key: every accessor names the key, its type, its range and its default. Whatever
// was never asked for is unknown and refused by finish() with file, line and the nearest valid key. The
// resolved document (every key read, with its value) is what --dry-run prints and a run directory keeps. Not
// thread-safe: configuration is read once, at start.
//
// Overrides: a mapping merges key by key, so `a.b=1` leaves a's other keys; a list or a value replaces what
// was there (`stages.0.steps=5` reaches into one item); `a.b=~` deletes the key. An override that makes keys
// of the file idle drops them, with a note: `rollout.strategy=random` drops the file's rollout.threshold.
#pragma once
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "common/error.h"

namespace bicrl {

struct ConfigNode;
struct ConfigFindings;

// One mapping of the document. Cheap to copy; keeps the document alive. An absent section reads as empty.
// Accessors throw InputError ("file:line: key.path: ...") on a wrong type or range.
class ConfigSection {
 public:
  // Without a default the key is required.
  int64_t integer(const std::string& key, int64_t fallback, int64_t min = std::numeric_limits<int64_t>::min(),
                  int64_t max = std::numeric_limits<int64_t>::max()) const;
  double real(const std::string& key, double fallback, double min = -std::numeric_limits<double>::infinity(),
              double max = std::numeric_limits<double>::infinity()) const;
  bool boolean(const std::string& key, bool fallback) const;
  std::string text(const std::string& key, const std::string& fallback) const;
  std::string required_text(const std::string& key) const;
  std::string choice(const std::string& key, const std::string& fallback,
                     const std::vector<std::string>& allowed) const;
  std::vector<std::string> texts(const std::string& key, const std::vector<std::string>& fallback = {}) const;
  std::vector<int64_t> integers(const std::string& key, const std::vector<int64_t>& fallback, int64_t min,
                                int64_t max) const;
  // The word, which is the default and gives an empty list, or a list of at least one integer.
  std::vector<int64_t> integers_or(const std::string& key, const std::string& word, int64_t min,
                                   int64_t max) const;
  ConfigSection section(const std::string& key) const;
  std::vector<ConfigSection> sections(const std::string& key) const;  // a YAML list of mappings
  bool has(const std::string& key) const;  // present and not null; does not declare the key

  // "file:line: key.path" of a key (or of the section), for messages of checks across keys.
  std::string where(const std::string& key = "") const;
  // Throws InputError at that place.
  [[noreturn]] void reject(const std::string& key, const std::string& reason) const;
  // A key that is present and would do nothing; `when` says in which combination: "with 'kind: x'". Rejects
  // it, or drops it with a note if the file has it and an override decided: one in this section, or in
  // `decider`, the section of the key that makes it idle.
  void refuse_without_effect(const std::string& key, const std::string& when) const;
  void refuse_without_effect(const std::string& key, const std::string& when,
                             const ConfigSection& decider) const;
  // Of keys that exclude each other: drops those that the file has, with a note, if an override names another
  // one of them.
  void prefer_overridden(const std::vector<std::string>& alternatives) const;
  // Whether the command line says something here, or below.
  bool is_overridden() const;
  // A key of earlier versions: finish() refuses it with its new name.
  void renamed(const std::string& before, const std::string& now) const;
  // Has finish() reject the key together with everything else that is missing.
  void reject_later(const std::string& key, const std::string& reason) const;
  // Throws InputError that names everything of reject_later(), or every unknown key of this section and
  // below. Call when it has been read.
  void finish() const;

  ConfigSection(std::shared_ptr<ConfigNode> node, std::shared_ptr<ConfigFindings> findings)
      : node_(std::move(node)), findings_(std::move(findings)) {}

 private:
  friend class ConfigDocument;
  void drop(const std::string& key, const std::string& reason) const;

  std::shared_ptr<ConfigNode> node_;
  std::shared_ptr<ConfigFindings> findings_;  // of the whole document
};

class ConfigDocument {
 public:
  // `overrides` are "a.b.c=value" with a YAML value; a later one wins.
  static ConfigDocument from_file(const std::filesystem::path& path,
                                  const std::vector<std::string>& overrides = {});
  static ConfigDocument from_text(const std::string& yaml, const std::string& name,
                                  const std::vector<std::string>& overrides = {});
  ConfigSection root() const { return root_; }
  void finish() const { root_.finish(); }  // when everything has been read
  // Every key that was read with its resolved value, as YAML in reading order.
  std::string resolved_yaml() const;
  // What was dropped of the file, a sentence each.
  const std::vector<std::string>& notes() const;

 private:
  explicit ConfigDocument(ConfigSection root) : root_(std::move(root)) {}
  ConfigSection root_;
};

}  // namespace bicrl
