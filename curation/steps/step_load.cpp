// Step `load`: records from data files, of one form or of the one that the first entry of a known form has.
// Records of an earlier step come before them.
//   source, files (also folders and patterns), otherwise: files that are read where none of those is there,
//   form, licence, limit tasks: files with the code of tasks, for entries that name theirs without it
#include <algorithm>
#include <set>
#include <unordered_map>

#include "common/error.h"
#include "common/hash.h"
#include "common/log.h"
#include "curation/entry_file.h"
#include "curation/form.h"
#include "curation/input_path.h"
#include "curation/inputs/answered_run.h"
#include "curation/inputs/task_index.h"
#include "curation/step.h"

namespace bicrl::curation {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kEpisodes = "episodes";
constexpr size_t kMostWithoutForm = 100;  // entries at a file's beginning that may be broken

class Load : public Step {
 public:
  Load(const ConfigSection& p, const StepEnvironment& environment) : environment_(environment) {
    InputFiles files = inputs_or_others(p, "files", environment.config_folder);
    if (files.found.empty()) p.reject_later("files", "name at least one file");
    files_ = std::move(files.found);
    std::string stand_ins;
    for (const fs::path& file : files_)
      if (files.stand_in) stand_ins += concat(stand_ins.empty() ? "; read instead: " : ", ", file.string());
    for (const std::string& file : files.missing) {
      notes_.push_back(concat(file, " is not here", stand_ins));
      log_info("load: ", notes_.back());
    }
    source_ = p.text("source", files_.empty() ? "" : files_.front().stem().string());
    std::vector<std::string> forms = form_names();
    forms.push_back("auto");
    form_ = p.choice("form", "auto", forms);
    licence_ = p.text("licence", "");
    limit_ = p.integer("limit", 0, 0);
    task_files_ = input_paths(p, "tasks", environment.config_folder);
  }

  void take(Record record, Outlet& out) override {
    ids_.insert(record.id);
    note_task(record);
    out.pass(std::move(record));
  }

  void finish(Outlet& out) override {
    for (const fs::path& file : task_files_) read_tasks(file);
    for (const fs::path& file : files_) load_file(file, out);
    if (loaded_ == 0)
      throw InputError(concat("load: no entry of ", files_.front().string(),
                              files_.size() > 1 ? " and the other files" : "", " makes a record",
                              first_without_use_.empty() ? "" : ": the first " + first_without_use_,
                              first_broken_.empty() ? "" : "; the first broken one is " + first_broken_));
  }

  Json inputs() const override {
    Json hashes = Json::object();
    for (const fs::path& file : files_) hashes[file.string()] = hash_file(file).hex;
    for (const fs::path& file : task_files_) hashes[file.string()] = hash_file(file).hex;
    for (const fs::path& file : files_)
      if (const fs::path run = run_file_of(file); !run.empty()) hashes[run.string()] = verifier_of_run(run);
    return hashes;
  }
  Json card() const override {
    Json card = {{"sources", sources_}};
    if (!notes_.empty()) card["notes"] = notes_;
    return card;
  }

 private:
  struct Progress {
    std::string form;
    std::string verifier;  // of a run's answers
    int64_t entries = 0, broken = 0, without_use = 0;
    std::string first_broken;
    std::set<std::string> licences;
  };

  void read_tasks(const fs::path& file) {
    std::string form;
    const auto take = [&](size_t, const nlohmann::json& entry) {
      if (form.empty()) form = detect_form(entry, file.string());
      Record task = form_named(form).read(is_table(file) ? without_empty_fields(entry) : entry);
      const std::string id = task.task_id;
      if (!id.empty()) tasks_.add(file, id, std::move(task));
    };
    const auto broken = [&](size_t number, const std::string& reason) {
      throw InputError(concat(file.string(), ": entry ", number, ": ", reason));
    };
    read_entry_file(file, *environment_.services, {.take = take, .broken = broken});
  }

  // Of an entry that names its task by an id of `tasks` alone.
  void add_task(Record& record) const {
    if (!record.pytorch_code.empty() || task_files_.empty()) return;
    const Record& task = tasks_.find(record.task_id);
    record.pytorch_code = task.pytorch_code;
    record.reduced_sizes = task.reduced_sizes;
    record.level = task.level;
    record.name = task.name;
    record.operators = task.operators;
  }

  void load_file(const fs::path& file, Outlet& out) {
    Progress progress;
    if (const fs::path run = run_file_of(file); !run.empty()) progress.verifier = verifier_of_run(run);
    int64_t last = 0;
    const auto broken = [&](size_t number, const std::string& reason) {
      last = static_cast<int64_t>(number);
      ++progress.entries;
      if (++progress.broken == 1) progress.first_broken = concat("entry ", number, ": ", reason);
      if (first_broken_.empty())
        first_broken_ = concat(file.filename().string(), ", ", progress.first_broken);
      out.drop(concat(source_, " entry ", number), "broken entry",
               concat(file.filename().string(), ": ", reason));
    };
    const auto take_entry = [&](size_t number, const nlohmann::json& row) {
      if (limit_ > 0 && loaded_ >= limit_) return;
      last = std::max(last, static_cast<int64_t>(number));
      const nlohmann::json entry = is_table(file) ? without_empty_fields(row) : row;
      Record record;
      std::vector<Record> further;
      try {
        record = record_of(entry, static_cast<int64_t>(number), file, progress);
        further = further_of(entry, record, progress);
      } catch (const EntryWithoutUse& reason) {
        ++progress.entries;
        ++progress.without_use;
        if (first_without_use_.empty()) first_without_use_ = reason.what();
        return out.drop(concat(source_, " entry ", number), "no whole program",
                        concat(file.filename().string(), ": ", reason.what()));
      } catch (const InputError& error) {
        return broken(number, error.what());
      }
      ++progress.entries;
      ++loaded_;
      // An error of a later step is not the entry's.
      out.pass(std::move(record));
      for (Record& each : further) out.pass(std::move(each));
    };
    std::vector<std::pair<size_t, nlohmann::json>> waiting;  // for the first entry that has a form
    std::string why_no_form;
    const auto take = [&](size_t number, const nlohmann::json& row) {
      if (!progress.form.empty()) return take_entry(number, row);
      if (limit_ > 0 && loaded_ >= limit_) return;
      waiting.emplace_back(number, row);
      progress.form = form_of(row, file, waiting.size(), why_no_form);
      if (progress.form.empty()) return;
      for (const auto& [first, entry] : waiting) take_entry(first, entry);
      waiting.clear();
    };
    read_entry_file(file, *environment_.services, {.take = take, .broken = broken});
    if (!waiting.empty()) refuse_without_form(why_no_form);
    before_ += last;
    const bool is_full = limit_ > 0 && loaded_ >= limit_;
    // A rank of a run may have generated nothing in a step, or answers to tasks of another file alone.
    const bool may_lack_records = is_full || (files_.size() > 1 && file.extension() == ".gz");
    if (progress.entries == 0 && !may_lack_records)
      throw InputError(concat(file.string(), ": holds no entry"));
    if (progress.entries > 0 && progress.broken == progress.entries && !may_lack_records)
      throw InputError(concat(file.string(), ": each of its ", progress.entries,
                              " entries is broken; the first: ", progress.first_broken));
    note_source(file, progress);
  }

  void note_source(const fs::path& file, const Progress& progress) {
    const FileHash hash = hash_file(file);
    Json licences = progress.licences.empty() ? Json("none stated") : Json(progress.licences);
    sources_.push_back({{"source", source_},
                        {"file", file.filename().string()},
                        {"form", progress.form},
                        {"licence", licences.size() == 1 && licences.is_array() ? licences[0] : licences},
                        {"entries", progress.entries},
                        {"broken", progress.broken},
                        {"bytes", hash.bytes},
                        {"hash", hash.hex}});
    if (progress.without_use > 0) sources_.back()["without_use"] = progress.without_use;
  }

  [[noreturn]] static void refuse_without_form(const std::string& why) {
    throw InputError(concat(why, "; the key 'form' names the one that is meant"));
  }

  // The form of an entry, the last of so many; empty if it has none and a later one may have. `why_no_form`
  // is said of the first. A file of other columns is one mistake, not one for each entry.
  std::string form_of(const nlohmann::json& entry, const fs::path& file, size_t entries,
                      std::string& why_no_form) const {
    if (form_ == "auto") {
      try {
        return detect_form(entry, file.string());
      } catch (const InputError& error) {
        if (why_no_form.empty()) why_no_form = error.what();
        if (is_table(file) || entries == kMostWithoutForm) refuse_without_form(why_no_form);
        return "";
      }
    }
    if (!is_table(file)) return form_;
    std::string missing;
    for (const std::string& field : form_named(form_).fields())
      if (!entry.contains(field)) missing += (missing.empty() ? "" : ", ") + field;
    if (missing.empty()) return form_;
    std::string columns;
    for (const auto& [name, value] : entry.items()) columns += (columns.empty() ? "" : ", ") + name;
    throw InputError(concat(file.string(), ": the form '", form_, "' needs the columns ", missing,
                            ", and the file has ", columns));
  }

  Record record_of(const nlohmann::json& entry, int64_t number, const fs::path& file, Progress& progress) {
    if (!entry.is_object()) throw InputError("is no object");
    const Form& form = form_named(progress.form);
    Record record = form.read(entry);
    refuse_built_in_names(record);
    add_task(record);
    if (progress.form != "records") {
      const std::string own = !record.task_id.empty() ? record.task_id : own_id(entry, record);
      const bool names_task = !record.task_id.empty();
      record.id = own.empty() ? free_task_id(number) : concat(source_, ":", own);
      const std::string known = names_task ? "" : known_task_of(record);
      record.task_id = known.empty() ? record.id : known;
    }
    // Several answers to one task: a published set names them by the task alone.
    if (ids_.contains(record.id)) record.id = free_id(record.id, before_ + number);
    ids_.insert(record.id);
    note_task(record);
    Provenance& p = record.provenance;
    if (const Origin& before = p; before != Origin{}) p.earlier.push_back(before);
    p.source = source_;
    p.file = file.filename().string();
    p.form = progress.form;
    p.entry = number;
    if (progress.form == kEpisodes && record.verdict) p.verifier = progress.verifier;
    p.content = hash_hex(entry.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    if (!licence_.empty()) p.licence = licence_;
    if (p.licence.empty()) p.licence = form.licence();
    progress.licences.insert(p.licence.empty() ? "none stated" : p.licence);
    return record;
  }

  // Of an answer without its task's id: that of the first record with the same code.
  std::string known_task_of(const Record& record) const {
    if (record.pytorch_code.empty() || !has_answer(record.answer)) return "";
    const auto known = task_of_code_.find(hash_hex(record.pytorch_code));
    return known == task_of_code_.end() ? "" : known->second;
  }
  void note_task(const Record& record) {
    if (!record.pytorch_code.empty()) task_of_code_.emplace(hash_hex(record.pytorch_code), record.task_id);
  }
  static bool has_answer(const Answer& answer) {
    return !answer.program.empty() || !answer.response.empty() ||
           (!answer.messages.empty() && answer.messages.back().role == ChatRole::kAssistant);
  }

  // Of an entry without an id: its number, counted on over the files. It is no task's that was loaded before.
  std::string free_task_id(int64_t number) {
    while (ids_.contains(concat(source_, ":", before_ + number))) ++before_;
    return concat(source_, ":", before_ + number);
  }

  // "ID#N" with the first N from `number` on that no record has.
  std::string free_id(const std::string& id, int64_t number) const {
    while (ids_.contains(concat(id, "#", number))) ++number;
    return concat(id, "#", number);
  }

  // An entry's other programs: records that name the first as their parent.
  std::vector<Record> further_of(const nlohmann::json& entry, const Record& first, const Progress& progress) {
    std::vector<Record> further = form_named(progress.form).read_further(entry, first);
    for (size_t i = 0; i < further.size(); ++i) {
      further[i].id = free_id(first.id, static_cast<int64_t>(i) + 2);
      further[i].parent = first.id;
      ids_.insert(further[i].id);
    }
    return further;
  }

  static std::string own_id(const nlohmann::json& entry, const Record& record) {
    if (const std::string uuid = label_of(record, "uuid"); !uuid.empty()) return uuid;
    const auto id = entry.find("id");
    if (id == entry.end()) return "";
    return id->is_string() ? id->get<std::string>() : id->is_number_integer() ? id->dump() : "";
  }

  const StepEnvironment& environment_;
  std::vector<fs::path> files_;
  std::string source_, form_, licence_;
  std::vector<fs::path> task_files_;
  TaskIndex tasks_;
  std::vector<std::string> notes_;  // files that are not there
  std::string first_without_use_, first_broken_;
  int64_t limit_ = 0, loaded_ = 0;
  int64_t before_ = 0;  // numbers of entries of the files before
  std::set<std::string> ids_;
  std::unordered_map<std::string, std::string> task_of_code_;  // by the code's hash
  Json sources_ = Json::array();
};

const StepRegistration kLoadRegistered("load", "records from data files",
                                       [](const ConfigSection& p, const StepEnvironment& e) {
                                         return std::make_unique<Load>(p, e);
                                       });

}  // namespace
}  // namespace bicrl::curation
