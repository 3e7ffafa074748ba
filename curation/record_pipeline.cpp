#include "curation/record_pipeline.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "common/clock.h"
#include "common/config/config_diff.h"
#include "common/config/spelling.h"
#include "common/error.h"
#include "common/files/files.h"
#include "common/log.h"
#include "curation/data_card.h"
#include "curation/step_output.h"

namespace bicrl::curation {
namespace {

namespace fs = std::filesystem;

constexpr Milliseconds kNoWait{0};
constexpr Milliseconds kWait{200};
constexpr double kReportSeconds = 10;

// They decide where a verdict is made and how long it may take, not what it says: that is in the ledger's
// keys.
const std::vector<std::string> kFreeKeys = {
    "curation.directory",      "boxes.concurrent",        "verifier.addresses",
    "verifier.access",         "verifier.max_in_flight",  "verifier.deadline_s",
    "verifier.attempt_s",      "verifier.max_attempts",   "verifier.backoff_s",
    "verifier.max_backoff_s",  "verifier.server.workers", "verifier.memory_verdicts",
    "verifier.server.listen",  "verifier.server.access",  "verifier.server.metrics_listen",
    "verifier.server.drain_s", "verifier.server.queue",   "verifier.server.scratch"};

// The embedded verifier's settings that verdicts may depend on. Its description leaves some of them out: the
// limits of a run, and those of the reference.
std::string verifier_settings(const std::string& yaml) {
  std::string text;
  for (const ConfigChange& setting : config_changes("{}", yaml, kFreeKeys))
    if (setting.key.starts_with("verifier.server.")) text += concat(setting.key, ": ", setting.after, "\n");
  return text;
}

Record read_record(const std::string& line, const fs::path& file, int64_t number) try {
  return record_from_line(line);
} catch (const InputError& error) {
  throw InputError(concat(file.string(), ":", number, ": ", error.what()));
}

// Files of a folder of a run whose number, before the first dash, is above `index`.
void remove_from(const fs::path& folder, size_t index) {
  std::error_code none;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (strtoull(entry.path().filename().c_str(), nullptr, 10) > index) found.push_back(entry.path());
  for (const fs::path& file : found) fs::remove(file, none);
}

std::string numbered(size_t index, const std::string& name) {
  char number[16];
  snprintf(number, sizeof number, "%02zu-", index + 1);
  return number + name;
}

}  // namespace

// The steps of one pass, from the first that has not come to its end.
class Pipeline::Run {
 public:
  Run(Pipeline& pipeline, size_t first, size_t last) : pipeline_(pipeline) {
    for (size_t index = first; index <= last; ++index) links_.push_back(std::make_unique<Link>(*this, index));
    for (size_t i = 0; i + 1 < links_.size(); ++i) links_[i]->next = links_[i + 1].get();
  }

  void feed(Record record) { links_.front()->feed(std::move(record)); }

  // Step after step comes to its end; those behind go on meanwhile.
  void finish() {
    for (auto& link : links_) {
      link->drain(0);
      link->step.finish(*link);
      link->commit();
    }
  }

 private:
  struct Link : Outlet {
    Link(Run& run, size_t number)
        : run(run),
          index(number),
          name(run.pipeline_.steps_[number].name),
          step(*run.pipeline_.steps_[number].step),
          records(run.pipeline_.output_of(number, "records")),
          audit(run.pipeline_.output_of(number, "audit")) {}

    void pass(Record record) override {
      run.check_stop();
      // Lists of decisions and parents name records by their ids.
      if (!ids.insert(record.id).second)
        throw InputError(concat("step ", index + 1, " (", name, "): two records have the id '", record.id,
                                "'; load or make one of them under another name"));
      ++counts.out;
      records.add(to_line(record));
      if (next) next->feed(std::move(record));
    }
    void drop(const std::string& id, const std::string& reason, const std::string& detail) override {
      run.check_stop();
      ++counts.reasons[reason];
      audit.add(audit_line(id, name, reason, detail));
    }

    void feed(Record record) {
      ++counts.in;
      step.take(std::move(record), *this);
      if (step.waiting() > 0) step.advance(*this, kNoWait);
      drain(step.most_waiting());
      run.report();
    }
    // Waits until no more than `most` records wait.
    void drain(size_t most) {
      while (step.waiting() > most) {
        run.check_stop();
        step.advance(*this, kWait);
        for (Link* later = next; later; later = later->next)
          if (later->step.waiting() > 0) later->step.advance(*later, kNoWait);
        run.report();
      }
    }
    void commit() {
      const FileHash hash = records.commit();
      audit.commit();
      if (run.pipeline_.ledger_) run.pipeline_.ledger_->sync();
      PipelineState& state = run.pipeline_.state_;
      BICRL_CHECK(state.steps.size() == index, state.steps.size(), " ", index);
      state.steps.push_back(
          {.name = name, .counts = counts, .records_hash = hash.hex, .inputs = step.inputs(), .card = {}});
      state.steps.back().card = run.card_of(step, state.steps.back().inputs);
      state.yaml = run.pipeline_.yaml_;
      state.save(run.pipeline_.directory() / "state.json");
    }

    Run& run;
    size_t index;
    std::string name;
    Step& step;
    LineFile records, audit;
    StepCounts counts;
    std::unordered_set<std::string> ids;  // that were passed on
    Link* next = nullptr;
  };

  // With the versions of this program and of the boxes that the step asks.
  nlohmann::ordered_json card_of(const Step& step, const nlohmann::ordered_json& inputs) const {
    nlohmann::ordered_json card = step.card();
    if (card.is_null()) card = nlohmann::ordered_json::object();
    card["versions"]["program"] = pipeline_.environment_.services->generator().version;
    if (inputs.contains("boxes")) card["versions"]["boxes"] = inputs["boxes"];
    return card;
  }
  void check_stop() {
    if (pipeline_.environment_.services->stop_requested())
      throw Interrupted(
          concat("interrupted; the same command goes on (", pipeline_.directory().string(), ")"));
  }
  void report() {
    if (since_report_.seconds() < kReportSeconds) return;
    since_report_.restart();
    std::string line;
    for (const auto& link : links_)
      line += concat(line.empty() ? "" : ", ", link->name, " ", link->counts.in, " in ", link->counts.out,
                     " out", link->step.waiting() > 0 ? concat(" (", link->step.waiting(), " waiting)") : "");
    log_info(line);
  }

  Pipeline& pipeline_;
  std::vector<std::unique_ptr<Link>> links_;
  Stopwatch since_report_;
};

Pipeline::Pipeline(const ConfigSection& root, const fs::path& config_folder, Services& services) {
  const ConfigSection section = root.section("curation");
  environment_.directory = section.required_text("directory");
  environment_.config_folder = config_folder;
  environment_.services = &services;
  for (const ConfigSection& step : root.sections("steps")) add_step(step);
  if (steps_.empty()) root.reject("steps", "a pipeline has at least one step");
}

Pipeline::~Pipeline() = default;

// Of two steps that make one file the second would leave its own alone.
void Pipeline::add_step(const ConfigSection& section) {
  NamedStep added{section.required_text("step"), make_step(section, environment_)};
  for (const fs::path& output : added.step->outputs()) {
    if (is_own_file(output, directory()))
      section.reject("file", concat("'", output.string(), "' is a file of the pipeline itself"));
    for (size_t i = 0; i < steps_.size(); ++i)
      for (const fs::path& other : steps_[i].step->outputs())
        if (fs::weakly_canonical(other) == fs::weakly_canonical(output))
          section.reject("file", concat("step ", i + 1, " (", steps_[i].name, ") makes '", output.string(),
                                        "' already"));
  }
  steps_.push_back(std::move(added));
}

fs::path Pipeline::output_of(size_t index, const char* folder) const {
  return directory() / folder / (numbered(index, steps_[index].name) + ".jsonl");
}

size_t Pipeline::index_of(const std::string& name_or_number) const {
  size_t number = 0;
  const char* end = name_or_number.data() + name_or_number.size();
  if (const auto [stop, error] = std::from_chars(name_or_number.data(), end, number);
      error == std::errc() && stop == end) {
    if (number < 1 || number > steps_.size())
      throw InputError(concat("there is no step ", number, ": the pipeline has ", steps_.size()));
    return number - 1;
  }
  std::vector<std::string> names;
  std::vector<size_t> found;
  for (size_t i = 0; i < steps_.size(); ++i) {
    names.push_back(steps_[i].name);
    if (steps_[i].name == name_or_number) found.push_back(i);
  }
  if (found.size() > 1)
    throw InputError(concat("several steps are named '", name_or_number, "': name its number"));
  if (found.size() == 1) return found.front();
  const auto nearest = nearest_spelling(name_or_number, names);
  throw InputError(concat("the pipeline has no step '", name_or_number, "'",
                          nearest ? "; did you mean " + *nearest + "?" : ""));
}

std::string Pipeline::damage_of(size_t index) const {
  for (const char* folder : {"records", "audit"})
    if (const fs::path file = output_of(index, folder); !fs::exists(file))
      return file.string() + " is not there any more";
  for (const fs::path& file : steps_[index].step->outputs())
    if (!fs::exists(file)) return file.string() + " is not there any more";
  const fs::path records = output_of(index, "records");
  if (hash_file(records).hex != state_.steps[index].records_hash)
    return records.string() + " holds other records than the step wrote";
  return "";
}

size_t Pipeline::first_to_take(const std::string& resolved_yaml) const {
  size_t standing = std::min(steps_that_stand(state_, resolved_yaml, kFreeKeys), steps_.size());
  for (size_t i = 0; i < standing; ++i) {
    const std::string whole = steps_[i].name;
    if (state_.steps[i].inputs != steps_[i].step->inputs()) {
      log_info("step ", i + 1, " (", whole,
               ") depends on a file or a version that has changed since: it is taken again");
      return i;
    }
    if (const std::string damage = damage_of(i); !damage.empty()) {
      log_warning("step ", i + 1, " (", whole, "): ", damage, ": it is taken again");
      return i;
    }
  }
  if (standing < std::min(state_.steps.size(), steps_.size()))
    log_info("the configuration has changed: steps are taken again from ", standing + 1, " (",
             steps_[standing].name, ") on");
  return standing;
}

// What later steps made of other records is of no use.
void Pipeline::forget_from(size_t index) {
  if (state_.steps.size() <= index) return;
  state_.steps.resize(index);
  state_.save(directory() / "state.json");
  for (const char* folder : {"records", "audit"}) remove_from(directory() / folder, index);
  std::error_code none;
  for (const char* card : {"card.json", "card.md"}) fs::remove(directory() / card, none);
}

void Pipeline::take(size_t first, size_t last) {
  Run run(*this, first, last);
  if (first > 0) {
    const fs::path input = output_of(first - 1, "records");
    std::ifstream lines(input);
    if (!lines) throw InputError(concat("cannot read ", input.string()));
    int64_t number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      run.feed(read_record(line, input, number));
    }
    if (const int64_t written = state_.steps[first - 1].counts.out; number != written)
      throw InputError(concat(input.string(), ": has ", number, " records, and its step wrote ", written));
  }
  run.finish();
}

void Pipeline::run(const std::string& resolved_yaml, const std::string& only) {
  const size_t alone = only.empty() ? 0 : index_of(only);
  for (const char* folder : {"records", "audit"}) make_folders(directory() / folder, system_files());
  ledger_ = std::make_unique<Ledger>(directory() / "ledger.jsonl");
  environment_.ledger = ledger_.get();
  for (const char* file : {"state.json", "pipeline.yaml", "card.md", "card.json"})
    remove_unfinished(directory() / file);
  yaml_ = resolved_yaml;
  environment_.verifier_settings = verifier_settings(resolved_yaml);
  state_ = PipelineState::load(directory() / "state.json");
  write_file_atomically(directory() / "pipeline.yaml", resolved_yaml);
  const size_t standing = first_to_take(resolved_yaml);
  if (!only.empty()) {
    if (alone > standing)
      throw InputError(concat("step ", alone + 1, " (", steps_[alone].name, ") takes the output of step ",
                              alone, " (", steps_[alone - 1].name, "), which has not come to its end"));
    forget_from(alone);
    take(alone, alone);
  } else if (standing < steps_.size()) {
    if (standing > 0) log_info("going on behind step ", standing, " (", steps_[standing - 1].name, ")");
    forget_from(standing);
    take(standing, steps_.size() - 1);
  }
  forget_from(steps_.size());  // steps that the configuration has no more
  if (has_finished()) write_card();
}

void Pipeline::write_card() const {
  const DataCard card = make_data_card(state_, yaml_, output_of(steps_.size() - 1, "records"));
  write_file_atomically(directory() / "card.md", card_text(card));
  write_file_atomically(directory() / "card.json", card.json.dump(2) + "\n");
}

bool Pipeline::has_finished() const { return state_.steps.size() == steps_.size(); }

fs::path Pipeline::result() const {
  BICRL_CHECK(!state_.steps.empty(), "the pipeline was not run");
  return has_finished() ? directory() / "card.md" : output_of(state_.steps.size() - 1, "records");
}

std::string Pipeline::table() const { return step_table(state_.steps); }

}  // namespace bicrl::curation
