#include "curation/record.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/json.h"
#include "curation/turns.h"
#include "tasks/task_entry.h"

namespace bicrl::curation {
namespace {

using Json = nlohmann::ordered_json;

// The two visitors of the fields below: one writes what is not empty, one reads what is there.
class FieldWriter {
 public:
  void field(const char* name, const std::string& value) {
    if (!value.empty()) json_[name] = value;
  }
  template <class Number>
  void field(const char* name, Number value) {
    if (value != 0) json_[name] = value;
  }
  void field(const char* name, const std::vector<std::string>& value) {
    if (!value.empty()) json_[name] = value;
  }
  template <class Value>
  void field(const char* name, const std::map<std::string, Value>& value) {
    if (!value.empty()) json_[name] = value;
  }
  void field(const char* name, const std::vector<ChatMessage>& value) {
    if (!value.empty()) json_[name] = turns_to_json(value);
  }
  void field(const char* name, const std::vector<uint64_t>& value) {
    if (!value.empty()) json_[name] = value;
  }
  void field(const char* name, const std::vector<Origin>& value);
  void sizes(const char* name, const std::string& value) {
    if (!value.empty()) json_[name] = Json::parse(value);
  }
  Json take() { return std::move(json_); }

 private:
  Json json_ = Json::object();
};

class FieldReader {
 public:
  FieldReader(const nlohmann::json& json, std::string path) : json_(json), path_(std::move(path)) {
    if (!json.is_object()) throw InputError(concat("record: ", path_, " is no object"));
  }
  void field(const char* name, std::string& value) {
    read(name, value, &nlohmann::json::is_string, "a text");
  }
  template <class Number>
  void field(const char* name, Number& value) {
    read(name, value, &nlohmann::json::is_number_integer, "an integer");
  }
  void field(const char* name, std::vector<std::string>& value) {
    for (const nlohmann::json& item : list(name)) value.push_back(text(item, name));
  }
  void field(const char* name, std::map<std::string, double>& value) {
    for (const auto& [key, item] : object(name)) {
      if (!item.is_number()) refuse(name, "an object of numbers", item);
      value[key] = item.get<double>();
    }
  }
  void field(const char* name, std::map<std::string, std::string>& value) {
    for (const auto& [key, item] : object(name)) value[key] = text(item, name);
  }
  void field(const char* name, std::vector<ChatMessage>& value) {
    if (const auto found = json_.find(name); found != json_.end()) value = turns_of(*found, name);
  }
  void field(const char* name, std::vector<uint64_t>& value) {
    for (const nlohmann::json& item : list(name)) {
      if (!item.is_number_integer()) refuse(name, "a list of integers", item);
      value.push_back(item.get<uint64_t>());
    }
  }
  void field(const char* name, std::vector<Origin>& value);
  void sizes(const char* name, std::string& value) {
    const auto found = json_.find(name);
    if (found == json_.end()) return;
    const Result<std::string> sizes = reduced_sizes_of(*found);
    if (!sizes) throw InputError(concat("record: field '", path_, name, "' ", sizes.reason()));
    value = sizes.value();
  }

 private:
  template <class Value>
  void read(const char* name, Value& value, bool (nlohmann::json::*is)() const noexcept, const char* wanted) {
    const auto found = json_.find(name);
    if (found == json_.end()) return;
    if (!((*found).*is)()) refuse(name, wanted, *found);
    value = found->template get<Value>();
  }
  const nlohmann::json& list(const char* name) const {
    static const nlohmann::json kNone = nlohmann::json::array();
    const auto found = json_.find(name);
    if (found == json_.end()) return kNone;
    if (!found->is_array()) refuse(name, "a list", *found);
    return *found;
  }
  std::map<std::string, nlohmann::json> object(const char* name) const {
    const auto found = json_.find(name);
    if (found == json_.end()) return {};
    if (!found->is_object()) refuse(name, "an object", *found);
    return found->get<std::map<std::string, nlohmann::json>>();
  }
  std::string text(const nlohmann::json& item, const char* name) const {
    if (!item.is_string()) refuse(name, "texts", item);
    return item.get<std::string>();
  }
  [[noreturn]] void refuse(const char* name, const char* wanted, const nlohmann::json& found) const {
    throw InputError(
        concat("record: field '", path_, name, "' must be ", wanted, ", found ", json_excerpt(found)));
  }
  const nlohmann::json& json_;
  std::string path_;
};

// Every field of each part, in the order of a line.
template <class Visitor, class RecordType>
void visit_record(Visitor& visitor, RecordType& r) {
  visitor.field("id", r.id);
  visitor.field("parent", r.parent);
  visitor.field("task_id", r.task_id);
  visitor.field("name", r.name);
  visitor.field("level", r.level);
  visitor.field("operators", r.operators);
  visitor.field("pytorch_code", r.pytorch_code);
  visitor.sizes("reduced_sizes", r.reduced_sizes);
  visitor.field("figures", r.figures);
  visitor.field("labels", r.labels);
}

template <class Visitor, class AnswerType>
void visit_answer(Visitor& visitor, AnswerType& a) {
  visitor.field("program", a.program);
  visitor.field("prefix", a.prefix);
  visitor.field("middle", a.middle);
  visitor.field("suffix", a.suffix);
  visitor.field("reasoning", a.reasoning);
  visitor.field("prompt", a.prompt);
  visitor.field("response", a.response);
  visitor.field("messages", a.messages);
}

template <class Visitor, class OriginType>
void visit_origin(Visitor& visitor, OriginType& o) {
  visitor.field("source", o.source);
  visitor.field("file", o.file);
  visitor.field("form", o.form);
  visitor.field("entry", o.entry);
  visitor.field("content", o.content);
}

template <class Visitor, class ProvenanceType>
void visit_provenance(Visitor& visitor, ProvenanceType& p) {
  visit_origin(visitor, p);
  visitor.field("licence", p.licence);
  visitor.field("seeds", p.seeds);
  visitor.field("verifier", p.verifier);
  visitor.field("earlier", p.earlier);
}

void FieldWriter::field(const char* name, const std::vector<Origin>& value) {
  for (const Origin& origin : value) {
    FieldWriter writer;
    visit_origin(writer, origin);
    json_[name].push_back(writer.take());
  }
}

void FieldReader::field(const char* name, std::vector<Origin>& value) {
  for (const nlohmann::json& item : list(name)) {
    FieldReader reader(item, concat(path_, name, "."));
    visit_origin(reader, value.emplace_back());
  }
}

// Of one seed, as records had it before they had a list.
void read_single_seed(const nlohmann::json& provenance, std::vector<uint64_t>& seeds) {
  const auto seed = provenance.find("seed");
  if (seeds.empty() && seed != provenance.end() && seed->is_number_integer())
    seeds.push_back(seed->get<uint64_t>());
}

// A verdict's fields that have another value than one of which nothing is known.
Json verdict_to_json(const Verdict& verdict) {
  static const nlohmann::json kUnknown = bicrl::to_json(Verdict{});
  const nlohmann::json all = bicrl::to_json(verdict);
  Json known = Json::object();
  for (const auto& [name, value] : all.items())
    if (name == "outcome" || value != kUnknown[name]) known[name] = value;
  return known;
}

Verdict read_verdict(const nlohmann::json& json) {
  nlohmann::json all = bicrl::to_json(Verdict{});
  if (!json.is_object()) throw InputError("record: field 'verdict' is no object");
  all.update(json);
  return verdict_from_json(all);
}

double line_count(const std::string& text) {
  return static_cast<double>(std::ranges::count(text, '\n')) + (text.empty() || text.back() == '\n' ? 0 : 1);
}

using Getter = std::function<std::optional<RecordValue>(const Record&)>;

// Of a record's verdict; nothing without one.
template <class Get>
Getter of_verdict(Get get) {
  return [get](const Record& r) -> std::optional<RecordValue> {
    return r.verdict ? std::optional<RecordValue>(get(*r.verdict)) : std::nullopt;
  };
}

std::optional<RecordValue> known(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<RecordValue>(text);
}

// An incorrect program has none above 0. Of a correct one that was not timed none is known.
std::optional<RecordValue> speedup_of(const Verdict& verdict) {
  if (!verdict.correct) return 0.0;
  const double speedup = verdict.speedup();
  return speedup > 0 ? std::optional<RecordValue>(speedup) : std::nullopt;
}

const std::vector<std::pair<std::string, Getter>>& getters() {
  static const std::vector<std::pair<std::string, Getter>> kGetters = {
      {"correct", of_verdict([](const Verdict& v) { return v.correct; })},
      {"compiled", of_verdict([](const Verdict& v) { return v.compiled; })},
      {"outcome", of_verdict([](const Verdict& v) { return to_string(v.outcome); })},
      {"fault_class", of_verdict([](const Verdict& v) { return v.fault_class; })},
      {"clock", of_verdict([](const Verdict& v) { return v.clock; })},
      {"speedup", [](const Record& r) { return r.verdict ? speedup_of(*r.verdict) : std::nullopt; }},
      {"pass_rate", of_verdict([](const Verdict& v) { return v.pass_rate(); })},
      {"has_scaffold", [](const Record& r) { return RecordValue(r.answer.has_scaffold()); }},
      {"program_lines", [](const Record& r) { return RecordValue(line_count(r.answer.program)); }},
      {"level",
       [](const Record& r) {
         return r.level ? std::optional<RecordValue>(static_cast<double>(r.level)) : std::nullopt;
       }},
      {"operators",
       [](const Record& r) {
         return r.operators.empty() ? std::nullopt
                                    : std::optional<RecordValue>(static_cast<double>(r.operators.size()));
       }},
      {"source", [](const Record& r) { return known(r.provenance.source); }},
      {"licence", [](const Record& r) { return known(r.provenance.licence); }},
      {"name", [](const Record& r) { return known(r.name); }},
      {"task", [](const Record& r) { return known(r.task_id); }},
      {"original_task", [](const Record& r) { return known(r.original_task()); }},
  };
  return kGetters;
}

}  // namespace

Task Record::task() const {
  Task task;
  task.id = task_id;
  task.level = level;
  task.pytorch_code = pytorch_code;
  task.cuda_code = answer.program;
  task.prefix = answer.prefix;
  task.middle = answer.middle;
  task.suffix = answer.suffix;
  task.composition = operators;
  task.reduced_sizes = reduced_sizes;
  return task;
}

void Record::change_code(std::string code) {
  pytorch_code = std::move(code);
  reduced_sizes.clear();  // they name constants by their places in it
  verdict.reset();
  provenance.verifier.clear();
  answer.prompt.clear();
  answer.response.clear();
  answer.messages.clear();
  std::erase_if(figures, [](const auto& figure) { return !figure.first.ends_with("_tokens"); });
  for (const char* copy : {"python_code", "triton_code", "original_triton_code", "ground_truth"})
    labels.erase(copy);
}

const std::string& Record::original_task() const {
  const auto found = labels.find(kOriginalTask);
  return found == labels.end() ? task_id : found->second;
}

Verdict settled(Verdict verdict) {
  verdict.request_id.clear();
  verdict.counters.clear();
  verdict.measurement.clear();
  verdict.diagnostics.clear();
  verdict.max_error_ratio = 0;
  verdict.compile_ms = verdict.record_ms = verdict.run_ms = verdict.total_ms = 0;
  verdict.lane_operations = 0;
  verdict.cached = false;
  return verdict;
}

Json to_json(const Record& record) {
  FieldWriter fields, answer, provenance;
  visit_record(fields, record);
  visit_answer(answer, record.answer);
  visit_provenance(provenance, record.provenance);
  Json json = fields.take();
  if (Json part = answer.take(); !part.empty()) json["answer"] = std::move(part);
  if (record.verdict) json["verdict"] = verdict_to_json(*record.verdict);
  json["provenance"] = provenance.take();
  return json;
}

std::string to_line(const Record& record) {
  return to_json(record).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Record record_from_json(const nlohmann::json& json) {
  Record record;
  FieldReader fields(json, "");
  visit_record(fields, record);
  if (record.id.empty()) throw InputError("record: field 'id' is missing or empty");
  if (const auto part = json.find("answer"); part != json.end()) {
    FieldReader reader(*part, "answer.");
    visit_answer(reader, record.answer);
  }
  if (const auto part = json.find("provenance"); part != json.end()) {
    FieldReader reader(*part, "provenance.");
    visit_provenance(reader, record.provenance);
    read_single_seed(*part, record.provenance.seeds);
  }
  if (const auto part = json.find("verdict"); part != json.end()) record.verdict = read_verdict(*part);
  return record;
}

Record record_from_line(std::string_view line) {
  const auto json = try_parse_json(line);
  if (!json) throw InputError(concat("record: is not JSON: ", json.reason()));
  return record_from_json(json.value());
}

std::optional<RecordValue> value_of(const Record& record, const std::string& name) {
  for (const auto& [known_name, get] : getters())
    if (known_name == name) return get(record);
  if (const auto figure = record.figures.find(name); figure != record.figures.end()) return figure->second;
  if (const auto label = record.labels.find(name); label != record.labels.end()) return label->second;
  return std::nullopt;
}

bool is_built_in(const std::string& name) { return std::ranges::count(value_names(), name) > 0; }

void refuse_built_in_names(const Record& record) {
  for (const auto& [name, value] : record.figures)
    if (is_built_in(name))
      throw InputError(concat("the figure '", name, "' has the name of a value that every record has"));
  for (const auto& [name, value] : record.labels)
    if (is_built_in(name) && name != kOriginalTask)
      throw InputError(concat("the label '", name, "' has the name of a value that every record has"));
}

const std::vector<std::string>& value_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const auto& [name, get] : getters()) names.push_back(name);
    return names;
  }();
  return kNames;
}

std::string to_string(const RecordValue& value) {
  if (const bool* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  if (const double* number = std::get_if<double>(&value)) return concat(*number);
  return std::get<std::string>(value);
}

}  // namespace bicrl::curation
