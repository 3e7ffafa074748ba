#include "curation/step.h"

#include <map>
#include <nlohmann/json.hpp>

#include "common/error.h"

namespace bicrl::curation {
namespace {

struct Registered {
  std::string summary;
  StepFactory factory;
};

// A function-local object exists before the first registration, whatever the order of the files.
std::map<std::string, Registered>& registry() {
  static std::map<std::string, Registered> steps;
  return steps;
}

}  // namespace

nlohmann::ordered_json Step::card() const { return nullptr; }
nlohmann::ordered_json Step::inputs() const { return nlohmann::ordered_json::object(); }

StepRegistration::StepRegistration(const std::string& name, const std::string& summary, StepFactory factory) {
  const bool added = registry().emplace(name, Registered{summary, std::move(factory)}).second;
  BICRL_CHECK(added, "two steps are named ", name);
}

std::vector<StepKind> step_kinds() {
  std::vector<StepKind> kinds;
  for (const auto& [name, registered] : registry()) kinds.push_back({name, registered.summary});
  return kinds;
}

std::unique_ptr<Step> make_step(const ConfigSection& section, const StepEnvironment& environment) {
  std::vector<std::string> names;
  for (const auto& entry : registry()) names.push_back(entry.first);
  const std::string name = section.required_text("step");
  section.choice("step", names.front(), names);
  return registry().at(name).factory(section, environment);
}

}  // namespace bicrl::curation
