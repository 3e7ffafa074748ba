// Step `write`: a data file in a published form, of all records that have what the form needs; every record
// is passed on.
//   file, form, stage, prompt_style, reasoning, reasoning_opening, reasoning_closing, when: conditions
#include <memory>

#include "common/error.h"
#include "common/hash.h"
#include "curation/entry_file.h"
#include "curation/form.h"
#include "curation/selection/condition.h"
#include "curation/selection/known_values.h"
#include "curation/step.h"
#include "curation/step_output.h"

namespace bicrl::curation {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

class Write : public Step {
 public:
  Write(const ConfigSection& p, const StepEnvironment& environment) : environment_(environment) {
    file_ = p.required_text("file");
    const std::vector<std::string> forms = form_names();
    p.required_text("form");
    form_ = p.choice("form", forms.front(), forms);
    options_.stage = parse_stage(p.choice("stage", "end_to_end", {"infilling", "end_to_end"}));
    options_.style = parse_prompt_style(p.choice("prompt_style", "published", prompt_style_names()));
    if (p.boolean("reasoning", true)) {
      options_.reasoning_opening = p.text("reasoning_opening", options_.reasoning_opening);
      options_.reasoning_closing = p.text("reasoning_closing", options_.reasoning_closing);
    } else {
      for (const char* key : {"reasoning_opening", "reasoning_closing"})
        p.refuse_without_effect(key, "with 'reasoning: false'");
      options_.reasoning_opening = options_.reasoning_closing = "";
    }
    for (const ConfigSection& condition : p.sections("when"))
      conditions_.push_back(Condition::from_config(condition));
    known_.expect(conditions_);
  }

  void take(Record record, Outlet& out) override {
    known_.see(record);
    bool wanted = true;
    for (const Condition& condition : conditions_) wanted = wanted && !condition.objection(record);
    if (wanted) write(record);
    out.pass(std::move(record));
  }

  void finish(Outlet&) override {
    known_.warn("write");
    open();
    if (!as_lines()) lines_->add(written_ > 0 ? "\n]" : "[]");
    hash_ = lines_->commit();
    if (!is_table(path())) return;
    const fs::path table = path();
    remove_unfinished(table);
    environment_.services->tables().write(lines_path(), table);
    fs::remove(lines_path());
    hash_ = hash_file(table);
  }

  std::vector<fs::path> outputs() const override { return {path()}; }
  Json card() const override {
    Json entry = {{"file", file_.string()}, {"form", form_},        {"records", written_},
                  {"left_out", left_out_},  {"bytes", hash_.bytes}, {"hash", hash_.hex}};
    if (!why_.empty()) entry["why_left_out"] = why_;
    return {{"files", Json::array({entry})}};
  }

 private:
  fs::path path() const { return file_.is_absolute() ? file_ : environment_.directory / file_; }
  bool as_lines() const { return is_table(file_) || file_.extension() == ".jsonl"; }
  fs::path lines_path() const { return is_table(file_) ? path().string() + ".lines" : path().string(); }

  void open() {
    if (lines_) return;
    if (path().has_parent_path()) make_folders(path().parent_path(), system_files());
    lines_ = std::make_unique<LineFile>(lines_path());
  }

  // What a form needs and a record lacks is no fault of the record: it stays for other files.
  void write(const Record& record) {
    Json entry;
    try {
      entry = form_named(form_).write(record, options_);
    } catch (const InputError& error) {
      ++left_out_;
      const std::string why = error.what();
      if (why_.empty()) why_ = concat(record.id, ": ", why);
      return;
    }
    open();
    const std::string text = entry.dump(as_lines() ? -1 : 2, ' ', false, Json::error_handler_t::replace);
    // A list's commas stand at line ends, before the next entry.
    if (as_lines())
      lines_->add(text);
    else
      lines_->add(concat(written_ > 0 ? ",\n" : "[\n", text));
    ++written_;
  }

  const StepEnvironment& environment_;
  fs::path file_;
  std::string form_;
  WritingOptions options_;
  std::vector<Condition> conditions_;
  KnownValues known_;
  std::unique_ptr<LineFile> lines_;
  int64_t written_ = 0, left_out_ = 0;
  std::string why_;
  FileHash hash_;
};

const StepRegistration kWriteRegistered("write", "a data file in a published form",
                                        [](const ConfigSection& p, const StepEnvironment& e) {
                                          return std::make_unique<Write>(p, e);
                                        });

}  // namespace
}  // namespace bicrl::curation
