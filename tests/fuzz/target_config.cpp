// Configuration: a YAML document, then overrides of the command line, each in a part of its own.
#include "common/config/config.h"
#include "reward/client/verifier_client.h"
#include "tasks/curriculum.h"
#include "tasks/synthetic/synthesiser.h"
#include "tests/fuzz/fuzz_target.h"

namespace bicrl::fuzz {
namespace {

// Every accessor, and the sections that read themselves without touching files.
void read_everything(const ConfigSection& root) {
  root.integer("steps", 3, 0, 1000);
  root.integer("wide", 0);
  root.real("rate", 0.5, 0, 1);
  root.real("any", 0);
  root.boolean("verbose", false);
  root.text("name", "x");
  root.choice("kind", "a", {"a", "b"});
  root.texts("names");
  root.integers("levels", {1}, -5, 5);
  VerifierClientOptions::from_config(root.section("verifier"));
  SynthesisOptions::from_config(root.section("tasks").section("synthetic"));
  for (const ConfigSection& stage : root.sections("stages")) {
    stage.required_text("name");
    CurriculumSettings::from_config(stage.section("curriculum"));
  }
}

std::string resolved(const std::string& yaml, const std::vector<std::string>& overrides) {
  const auto document = ConfigDocument::from_text(yaml, "fuzz.yaml", overrides);
  read_everything(document.root());
  document.finish();
  return document.resolved_yaml();
}

}  // namespace
}  // namespace bicrl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bicrl;
  auto parts = fuzz::split_parts(fuzz::as_text(data, size), 6);
  const std::string yaml = parts[0];
  parts.erase(parts.begin());
  std::string first;
  if (!fuzz::accepts([&] { first = fuzz::resolved(yaml, parts); })) return 0;
  // What a run keeps reads back as the same configuration.
  BICRL_CHECK(fuzz::resolved(first, {}) == first, first);
  return 0;
}
