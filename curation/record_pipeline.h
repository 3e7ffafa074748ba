// Runs the steps of a pipeline. And how this room works.
//
// Records (record.h) stream through all steps in one pass: each step (step.h) hands on what it passes at
// once, and writes it to DIR/records/NN-NAME.jsonl, and a decision on each record that it drops to
// DIR/audit/. A file gets its name when its step has come to its end; DIR/state.json then says so, and the
// next start begins behind it if all of its files are as it left them. What takes long (samples, verdicts,
// runs of references) lies in DIR/ledger.jsonl (ledger.h) the moment it is known, so that a pipeline that is
// killed at any moment goes on without doing it again and ends with the same bytes. services.h is what steps
// need of the world outside, form.h the published forms that they read and write, data_card.h what the end
// says of the data.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "curation/pipeline_state.h"
#include "curation/step.h"

namespace bicrl::curation {

// Ctrl-C, SIGTERM: everything until then is kept.
class Interrupted : public Error {
 public:
  explicit Interrupted(const std::string& message) : Error(message, ExitCode::kInterrupted) {}
};

// Not thread-safe.
class Pipeline {
 public:
  // Reads the sections `curation` and `steps`; makes no file and starts nothing. `services` outlive it.
  Pipeline(const ConfigSection& root, const std::filesystem::path& config_folder, Services& services);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;  // its steps refer to it
  Pipeline& operator=(const Pipeline&) = delete;

  // Takes every step that has not come to its end under this configuration, and writes the data card. `only`:
  // takes the step of that name or number alone, on the output of the one before it. Throws InputError if
  // that is not there, Interrupted when a stop was asked for, Error if a file cannot be written.
  void run(const std::string& resolved_yaml, const std::string& only = "");

  const std::filesystem::path& directory() const { return environment_.directory; }
  size_t size() const { return steps_.size(); }
  // The data card of a pipeline whose steps have all come to their end, else the records of the last that
  // has.
  std::filesystem::path result() const;
  // A line for each step that has come to its end.
  std::string table() const;

 private:
  struct NamedStep {
    std::string name;
    std::unique_ptr<Step> step;
  };
  class Run;
  void add_step(const ConfigSection& section);
  std::filesystem::path output_of(size_t index, const char* folder) const;
  size_t index_of(const std::string& name_or_number) const;
  size_t first_to_take(const std::string& resolved_yaml) const;
  // Why a finished step does not stand any more; empty if it does.
  std::string damage_of(size_t index) const;
  bool has_finished() const;
  void forget_from(size_t index);
  void take(size_t first, size_t last);
  void write_card() const;

  StepEnvironment environment_;
  std::vector<NamedStep> steps_;
  std::unique_ptr<Ledger> ledger_;
  PipelineState state_;
  std::string yaml_;
};

}  // namespace bicrl::curation
