#include "common/config/config_diff.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>

#include "common/error.h"

namespace bicrl {
namespace {

using FlatConfig = std::vector<std::pair<std::string, std::string>>;

void flatten(const YAML::Node& node, const std::string& key, FlatConfig& flat) {
  const auto below = [&](const std::string& name) { return key.empty() ? name : key + "." + name; };
  if (node.IsMap() && node.size() > 0) {
    for (const auto& entry : node) flatten(entry.second, below(entry.first.as<std::string>()), flat);
  } else if (node.IsSequence() && node.size() > 0 && node[0].IsMap()) {
    for (size_t i = 0; i < node.size(); ++i) flatten(node[i], below(std::to_string(i)), flat);
  } else {
    YAML::Emitter out;
    out << YAML::Flow << node;
    flat.emplace_back(key, out.c_str());
  }
}

FlatConfig flat_config(const std::string& yaml) {
  try {
    const YAML::Node root = YAML::Load(yaml);
    if (!root.IsMap()) throw InputError("a kept configuration is no YAML mapping");
    FlatConfig flat;
    flatten(root, "", flat);
    return flat;
  } catch (const YAML::Exception& error) {
    throw InputError(concat("a kept configuration cannot be read: ", error.what()));
  }
}

bool passed_over(const std::string& key, const std::vector<std::string>& ignored) {
  return std::any_of(ignored.begin(), ignored.end(),
                     [&](const std::string& name) { return key == name || key.starts_with(name + "."); });
}

}  // namespace

std::vector<ConfigChange> config_changes(const std::string& before, const std::string& after,
                                         const std::vector<std::string>& ignored) {
  const FlatConfig old_keys = flat_config(before);
  std::map<std::string, std::string> rest(old_keys.begin(), old_keys.end());
  std::vector<ConfigChange> changes;
  for (const auto& [key, value] : flat_config(after)) {
    const auto found = rest.find(key);
    const std::string old = found == rest.end() ? "(absent)" : found->second;
    if (found != rest.end()) rest.erase(found);
    if (old != value && !passed_over(key, ignored)) changes.push_back({key, old, value});
  }
  for (const auto& [key, value] : old_keys)
    if (rest.contains(key) && !passed_over(key, ignored)) changes.push_back({key, value, "(absent)"});
  return changes;
}

}  // namespace bicrl
