// Differences between two configuration documents, key by key: what a resumed run shows before it refuses.
#pragma once
#include <string>
#include <vector>

namespace bicrl {

struct ConfigChange {
  std::string key;            // "stages.0.update.learning_rate"
  std::string before, after;  // as YAML; "(absent)" if the document lacks the key
};

// In the order of the keys of `after`, then those that only `before` has. A key that equals one of `ignored`,
// or lies below it, is passed over. Throws InputError if a text is no YAML mapping.
std::vector<ConfigChange> config_changes(const std::string& before, const std::string& after,
                                         const std::vector<std::string>& ignored);

}  // namespace bicrl
