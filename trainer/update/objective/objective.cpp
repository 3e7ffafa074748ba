#include "trainer/update/objective/objective.h"

#include <algorithm>
#include <map>

#include "common/config/config_keys.h"
#include "common/error.h"

namespace bicrl {
namespace {

constexpr const char* kDefault = "trace";

struct Registered {
  std::vector<std::string> parameters;
  ObjectiveRegistration::Factory factory;
};

// A function-local object exists before the first registration, whatever the order of the files.
std::map<std::string, Registered>& registry() {
  static std::map<std::string, Registered> objectives;
  return objectives;
}

}  // namespace

ObjectiveRegistration::ObjectiveRegistration(const std::string& name, std::vector<std::string> parameters,
                                             Factory factory) {
  const bool added = registry().try_emplace(name, std::move(parameters), std::move(factory)).second;
  BICRL_CHECK(added, "two objectives are named ", name);
}

std::vector<std::string> objective_names() {
  std::vector<std::string> names;
  for (const auto& entry : registry()) names.push_back(entry.first);
  return names;
}

std::shared_ptr<const Objective> make_objective(const ConfigSection& section) {
  const std::string name = section.choice("objective", kDefault, objective_names());
  const Registered& chosen = registry().at(name);
  for (const auto& [other, registered] : registry())
    for (const std::string& key : registered.parameters)
      if (std::ranges::find(chosen.parameters, key) == chosen.parameters.end())
        section.refuse_without_effect(key, concat("without 'objective: ", other, "'"));
  return chosen.factory(section);
}

std::shared_ptr<const Objective> default_objective() {
  static const auto objective = [] {
    const ConfigKeyLog unheard;  // else the first caller's log would list these as keys of its own document
    return make_objective(ConfigDocument::from_text("{}", "defaults").root());
  }();
  return objective;
}

}  // namespace bicrl
