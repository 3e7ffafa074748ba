// What a configuration holds that nobody has read: unknown keys, each with what was probably meant.
#include <algorithm>
#include <utility>

#include "common/config/config.h"
#include "common/config/config_node.h"
#include "common/config/spelling.h"

namespace bicrl {
namespace {

using Pointer = ConfigNode::Pointer;

// A document of another kind altogether has many unknown keys; the first ones say enough.
constexpr size_t kMaxReported = 20;

std::string listed(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

void collect_paths(const ConfigNode& node, std::vector<std::string>& paths) {
  for (const auto& [key, read] : node.reads) {
    paths.push_back(node.child_path(key));
    if (const auto* section = std::get_if<Pointer>(&read)) collect_paths(**section, paths);
    if (const auto* items = std::get_if<std::vector<Pointer>>(&read))
      for (const Pointer& item : *items) collect_paths(*item, paths);
  }
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('.') + 1); }

// What the writer of an unknown key probably meant: a neighbour's misspelling, or a key of another section.
std::string suggestion(const ConfigNode& section, const std::string& key,
                       const std::vector<std::string>& all_paths) {
  for (const auto& [before, now] : section.renamed)
    if (before == key) return concat("; it is called ", section.child_path(now), " now");
  for (const std::string& path : all_paths)
    if (path == key && key.find('.') != std::string::npos)
      return concat("; write ", path, " as nested sections");
  std::vector<std::string> here;
  for (const auto& entry : section.reads) here.push_back(entry.first);
  if (const auto nearest = nearest_spelling(key, here))
    return concat("; did you mean ", section.child_path(*nearest), "?");
  std::vector<std::string> elsewhere;
  for (const std::string& path : all_paths)
    if (nearest_spelling(key, {last_part(path)})) elsewhere.push_back(path);
  const auto exact =
      std::find_if(elsewhere.begin(), elsewhere.end(), [&](const auto& p) { return last_part(p) == key; });
  if (exact != elsewhere.end()) return concat("; did you mean ", *exact, "?");
  if (!elsewhere.empty()) return concat("; did you mean ", elsewhere[0], "?");
  return here.empty() ? "; no key is valid here" : concat("; valid here: ", listed(here));
}

void collect_unknown(const ConfigNode& node, const std::vector<std::string>& all_paths,
                     std::vector<std::string>& found) {
  for (const auto& entry : node.entries) {
    if (found.size() >= kMaxReported) return;
    const std::string& key = entry.first;
    const auto read =
        std::find_if(node.reads.begin(), node.reads.end(), [&](const auto& r) { return r.first == key; });
    if (read == node.reads.end()) {
      found.push_back(concat(entry.second->place, ": unknown key ", node.child_path(key),
                             suggestion(node, key, all_paths)));
      continue;
    }
    if (const auto* section = std::get_if<Pointer>(&read->second))
      collect_unknown(**section, all_paths, found);
    if (const auto* items = std::get_if<std::vector<Pointer>>(&read->second))
      for (const Pointer& item : *items) collect_unknown(*item, all_paths, found);
  }
}

}  // namespace

void ConfigSection::finish() const {
  std::vector<std::string> all_paths, found = std::exchange(findings_->problems, {});
  collect_paths(*node_, all_paths);
  collect_unknown(*node_, all_paths, found);
  if (found.empty()) return;
  std::string message;
  for (const auto& line : found) message += (message.empty() ? "" : "\n") + line;
  throw InputError(message);
}

}  // namespace bicrl
