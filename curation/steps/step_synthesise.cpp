// Step `synthesise`: tasks of composed operators with known programs (tasks/synthetic/synthesiser.h), of the
// training side alone: what a run holds out for evaluation never becomes data.
//   source, programs: of a task, at most (0: tasks alone); tasks: the keys of a run's `tasks.synthetic`
#include <algorithm>

#include "curation/step.h"
#include "tasks/synthetic/synthesiser.h"

namespace bicrl::curation {
namespace {

using Json = nlohmann::ordered_json;

class Synthesise : public Step {
 public:
  explicit Synthesise(const ConfigSection& p) {
    source_ = p.text("source", "synthetic");
    programs_ = static_cast<size_t>(p.integer("programs", 1, 0, 64));
    tasks_ = SynthesisOptions::from_config(p.section("tasks"));
  }

  void take(Record record, Outlet& out) override { out.pass(std::move(record)); }

  void finish(Outlet& out) override {
    const SyntheticTasks made = synthesise(tasks_);
    for (const Task& task : made.train) add(task, out);
  }

  Json card() const override {
    const Json entry = {
        {"source", source_}, {"form", "synthesised"}, {"licence", kLicence}, {"entries", records_}};
    return {{"sources", Json::array({entry})}};
  }

 private:
  static constexpr const char* kLicence = "that of this program";

  // The plain program first, then those that compute faster; a task without a known program is a record, too.
  void add(const Task& task, Outlet& out) {
    Record plain;
    plain.task_id = concat(source_, ":", task.id);
    plain.id = plain.task_id;
    plain.level = task.level;
    plain.pytorch_code = task.pytorch_code;
    plain.operators = task.composition;
    plain.provenance.source = source_;
    plain.provenance.form = "synthesised";
    plain.provenance.licence = kLicence;
    plain.provenance.seeds = {tasks_.seed};
    if (programs_ == 0) {  // whoever asks a policy for them
      ++records_;
      return out.pass(std::move(plain));
    }
    const size_t more = std::min(programs_ - 1, task.alternatives.size());
    for (size_t i = 0; i < more; ++i) {
      const KnownProgram& known =
          task.alternatives[task.alternatives.size() - 1 - i];  // the cheapest come last
      Record record = plain;
      record.id = concat(plain.id, "#", i + 2);
      record.parent = plain.id;
      record.answer.program = known.cuda_code;
      record.answer.prefix = known.prefix;
      record.answer.middle = known.middle;
      record.answer.suffix = known.suffix;
      record.labels["technique"] = known.technique;
      faster_.push_back(std::move(record));
    }
    plain.answer.program = task.cuda_code;
    plain.answer.prefix = task.prefix;
    plain.answer.middle = task.middle;
    plain.answer.suffix = task.suffix;
    records_ += 1 + static_cast<int64_t>(more);
    out.pass(std::move(plain));
    for (Record& record : faster_) out.pass(std::move(record));
    faster_.clear();
  }

  std::string source_;
  size_t programs_ = 1;
  SynthesisOptions tasks_;
  int64_t records_ = 0;
  std::vector<Record> faster_;
};

const StepRegistration kSynthesiseRegistered("synthesise", "tasks of composed operators with known programs",
                                             [](const ConfigSection& p, const StepEnvironment&) {
                                               return std::make_unique<Synthesise>(p);
                                             });

}  // namespace
}  // namespace bicrl::curation
