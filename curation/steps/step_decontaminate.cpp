// Step `decontaminate`: drops records whose task is one of an evaluation's, however it is written.
//   against: files of the evaluation's tasks; otherwise: files that are read where none of those is there
//   shapes: ignore | match; similarity: of trees, at most
#include <map>
#include <optional>

#include "common/error.h"
#include "common/hash.h"
#include "common/log.h"
#include "curation/code/code_likeness.h"
#include "curation/code/code_questions.h"
#include "curation/entry_file.h"
#include "curation/form.h"
#include "curation/input_path.h"

namespace bicrl::curation {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

class Decontaminate : public Step {
 public:
  Decontaminate(const ConfigSection& p, const StepEnvironment& environment)
      : environment_(environment), questions_(environment) {
    InputFiles files = inputs_or_others(p, "against", environment.config_folder);
    files_ = std::move(files.found);
    missing_ = std::move(files.missing);
    if (files_.empty()) p.reject_later("against", "name at least one file of an evaluation's tasks");
    match_shapes_ = p.choice("shapes", "ignore", {"ignore", "match"}) == "match";
    most_similarity_ = p.real("similarity", 0.9, 0, 1);
  }

  void take(Record record, Outlet& out) override {
    if (!known_) {
      known_ = portraits_of_evaluation();
      log_info("decontaminate: ", known_->size(), " evaluation tasks");
      for (const std::string& note : notes()) log_warning("decontaminate: ", note);
    }
    if (record.pytorch_code.empty()) return out.drop(record.id, "has no task's code");
    ask(questions_, std::move(record));
  }
  size_t waiting() const override { return questions_.waiting(); }
  size_t most_waiting() const override { return questions_.most_waiting(); }
  void advance(Outlet& out, Milliseconds patience) override {
    questions_.advance(patience, [&](Record record, const std::vector<nlohmann::json>& answers) {
      decide(std::move(record), portrait_of(record.id, answers[0], answers[1]), out);
    });
  }

  Json inputs() const override {
    Json hashes = questions_.inputs();
    for (const fs::path& file : files_) hashes[file.string()] = hash_file(file).hex;
    return hashes;
  }
  Json card() const override {
    Json files = Json::array();
    for (const fs::path& file : files_)
      files.push_back(concat(file.filename().string(), " ", hash_file(file).hex));
    Json card = {
        {"against", files}, {"shapes", match_shapes_ ? "match" : "ignore"}, {"similarity", most_similarity_}};
    std::vector<std::string> said = notes();
    if (known_) {
      card["evaluation_tasks"] = known_->size();
      said.insert(said.begin(), concat(known_->size(), " evaluation tasks"));
    }
    if (!said.empty()) card["notes"] = said;
    return card;
  }

 private:
  // Of an evaluation's file that is not there: its tasks may be among the data.
  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    std::string read;
    for (const fs::path& file : files_) read += (read.empty() ? "" : ", ") + file.string();
    for (const std::string& file : missing_)
      notes.push_back(concat(file, " is not here: its tasks may be among these data; only those of ", read,
                             " are kept apart"));
    return notes;
  }

  void ask(CodeQuestions& questions, Record record) const {
    std::vector<nlohmann::json> requests;
    for (const char* kind : {"tree", "function"})
      requests.push_back({{"kind", kind}, {"code", record.pytorch_code}, {"shapes", match_shapes_}});
    questions.ask(std::move(record), std::move(requests));
  }

  std::vector<CodePortrait> portraits_of_evaluation() const {
    CodeQuestions questions(environment_);
    std::vector<CodePortrait> found;
    const auto take = [&](Record record, const std::vector<nlohmann::json>& answers) {
      found.push_back(portrait_of(record.id, answers[0], answers[1]));
      if (found.back().features.empty())
        refuse(record.provenance.file, static_cast<size_t>(record.provenance.entry),
               concat("its code cannot be parsed: ", answers[0].dump()));
    };
    for (const fs::path& file : files_) {
      std::string form;
      const auto take_entry = [&](size_t number, const nlohmann::json& entry) {
        if (form.empty()) form = detect_form(entry, file.string());
        ask(questions, task_of(form_named(form), file, number, entry));
        while (questions.waiting() > questions.most_waiting()) questions.advance(Milliseconds(200), take);
      };
      const auto broken = [&](size_t number, const std::string& reason) { refuse(file, number, reason); };
      read_entry_file(file, *environment_.services, {.take = take_entry, .broken = broken});
    }
    while (questions.waiting() > 0) questions.advance(Milliseconds(200), take);
    return found;
  }

  static Record task_of(const Form& form, const fs::path& file, size_t number, const nlohmann::json& entry) {
    Record record;
    try {
      record = form.read(is_table(file) ? without_empty_fields(entry) : entry);
    } catch (const InputError& error) {
      refuse(file, number, error.what());
    }
    if (record.pytorch_code.empty()) refuse(file, number, "has no task's code");
    record.id =
        concat(file.stem().string(), " ", record.name.empty() ? concat("entry ", number) : record.name);
    record.provenance.file = file.string();
    record.provenance.entry = static_cast<int64_t>(number);
    return record;
  }

  // A task that is not known would protect nothing.
  [[noreturn]] static void refuse(const fs::path& file, size_t number, const std::string& reason) {
    throw InputError(
        concat(file.string(), ", entry ", number, ": ", reason, "; an evaluation's tasks must all be known"));
  }

  void decide(Record record, const CodePortrait& portrait, Outlet& out) const {
    if (portrait.features.empty()) return out.drop(record.id, "cannot be parsed");
    for (const CodePortrait& known : *known_)
      if (const std::string why = likeness(portrait, known, most_similarity_); !why.empty())
        return out.drop(record.id, "in the evaluation", concat(known.id, ": ", why));
    out.pass(std::move(record));
  }

  const StepEnvironment& environment_;
  std::vector<fs::path> files_;
  std::vector<std::string> missing_;
  bool match_shapes_ = false;
  double most_similarity_ = 0.9;
  CodeQuestions questions_;
  std::optional<std::vector<CodePortrait>> known_;
};

const StepRegistration kDecontaminateRegistered("decontaminate", "drops tasks that an evaluation has, too",
                                                [](const ConfigSection& p, const StepEnvironment& e) {
                                                  return std::make_unique<Decontaminate>(p, e);
                                                });

}  // namespace
}  // namespace bicrl::curation
