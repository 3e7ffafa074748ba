// A step of a pipeline: takes records one by one, and passes on, makes or drops some. A new step is one file
// curation/steps/step_NAME.cpp that derives from Step and registers itself in one line. Not thread-safe.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "curation/ledger.h"
#include "curation/record.h"
#include "curation/services.h"

namespace bicrl::curation {

// Where a step's records go.
class Outlet {
 public:
  virtual ~Outlet() = default;
  // On to the next step.
  virtual void pass(Record record) = 0;
  // Out of the pipeline, with one decision for the audit. `reason`: a few words, which are counted; `detail`:
  // what was found. `id` is the record's, or "SOURCE entry N" of an entry that became none.
  virtual void drop(const std::string& id, const std::string& reason, const std::string& detail = "") = 0;
};

// What a step works with; outlives it.
struct StepEnvironment {
  std::filesystem::path config_folder;  // relative input paths also count from here
  std::filesystem::path directory;      // of the run; relative output paths count from here
  std::string verifier_settings;        // of the pipeline's file, that verdicts may depend on
  Ledger* ledger = nullptr;
  Services* services = nullptr;
};

class Step {
 public:
  virtual ~Step() = default;
  // The next record. May keep it: what comes of it goes to `out` now or later, in an order that depends on
  // the records alone.
  virtual void take(Record record, Outlet& out) = 0;
  // Records that were taken and wait for a sample, a verdict or a box.
  virtual size_t waiting() const { return 0; }
  // So many may wait before the step is to be waited for.
  virtual size_t most_waiting() const { return 0; }
  // Takes in what is ready, waiting for it at most so long.
  virtual void advance(Outlet& /*out*/, Milliseconds /*patience*/) {}
  // There are no more records; nothing waits any more. Steps that make records of their own make them here.
  virtual void finish(Outlet& /*out*/) {}
  // What the data card says of it besides counts: files, hashes, versions; its sentences under `notes`. Null:
  // nothing.
  virtual nlohmann::ordered_json card() const;
  // Files that it makes beside its records. A step of which one is not there any more is taken again.
  virtual std::vector<std::filesystem::path> outputs() const { return {}; }
  // Hashes of the files that it reads, by path, and what else its records depend on: a step of which they
  // have changed is taken again.
  virtual nlohmann::ordered_json inputs() const;
};

using StepFactory =
    std::function<std::unique_ptr<Step>(const ConfigSection& parameters, const StepEnvironment& environment)>;

// A namespace-scope object of this type makes a step known.
struct StepRegistration {
  StepRegistration(const std::string& name, const std::string& summary, StepFactory factory);
};

struct StepKind {
  std::string name, summary;
};
std::vector<StepKind> step_kinds();  // by name

// Makes the step that the section's key `step` names, with the section's other keys as its parameters. Throws
// InputError with file, line and the nearest name.
std::unique_ptr<Step> make_step(const ConfigSection& section, const StepEnvironment& environment);

}  // namespace bicrl::curation
