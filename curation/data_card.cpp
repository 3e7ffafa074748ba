#include "curation/data_card.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>

#include "common/error.h"
#include "common/hash.h"
#include "curation/record.h"

namespace bicrl::curation {
namespace {

using Json = nlohmann::ordered_json;

// Values of which the card counts how often each occurs; others are texts of a single record.
constexpr const char* kCounted[] = {"source",  "licence",     "level", "operators",   "correct",
                                    "outcome", "fault_class", "clock", "has_scaffold"};
// Labels with more values than this are ids or names, and those with longer ones or several lines are texts.
constexpr size_t kMostClasses = 24;
constexpr size_t kMostBytesOfClass = 200;
constexpr const char* kMeasured[] = {"speedup", "pass_rate", "program_lines"};

class Distributions {
 public:
  void add(const Record& record) {
    ++records_;
    for (const char* name : kCounted)
      if (const auto value = value_of(record, name)) count(name, to_string(*value));
    for (const auto& [name, text] : record.labels) count(name, text);
    for (const char* name : kMeasured)
      if (const auto value = value_of(record, name)) numbers_[name].push_back(std::get<double>(*value));
    for (const auto& [name, number] : record.figures) numbers_[name].push_back(number);
  }

  Json classes() const {
    Json json = Json::object();
    for (const auto& [name, counts] : classes_) json[name] = counts;
    return json;
  }
  Json quantiles() {
    Json json = Json::object();
    for (auto& [name, values] : numbers_) {
      std::sort(values.begin(), values.end());
      const auto at = [&values = values](double share) {
        return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
      };
      json[name] = {{"records", values.size()}, {"least", at(0)}, {"p10", at(0.1)},
                    {"p50", at(0.5)},           {"p90", at(0.9)}, {"most", at(1)}};
    }
    return json;
  }
  int64_t records() const { return records_; }

 private:
  // Values of a label that turns out to have no classes are forgotten at once: they may be whole programs.
  void count(const std::string& name, const std::string& text) {
    if (without_classes_.contains(name)) return;
    std::map<std::string, int64_t>& counts = classes_[name];
    const bool is_text = text.size() > kMostBytesOfClass || text.find('\n') != text.npos;
    if (!is_text) ++counts[text];
    if (!is_text && counts.size() <= kMostClasses) return;
    classes_.erase(name);
    without_classes_.insert(name);
  }

  int64_t records_ = 0;
  std::set<std::string> without_classes_;
  std::map<std::string, std::map<std::string, int64_t>> classes_;
  std::map<std::string, std::vector<double>> numbers_;
};

Distributions read_distributions(const std::filesystem::path& records) {
  std::ifstream lines(records);
  if (!lines) throw InputError(concat("cannot read ", records.string()));
  Distributions found;
  for (std::string line; std::getline(lines, line);) found.add(record_from_line(line));
  return found;
}

// What the steps' own cards hold under `key`, all of it.
Json gathered(const std::vector<FinishedStep>& steps, const char* key) {
  Json all = Json::array();
  for (const FinishedStep& step : steps)
    if (step.card.is_object() && step.card.contains(key))
      for (const Json& item : step.card[key]) all.push_back(item);
  return all;
}

Json step_entry(const FinishedStep& step) {
  Json entry = {{"step", step.name}, {"in", step.counts.in}, {"out", step.counts.out}};
  if (!step.counts.reasons.empty()) entry["dropped"] = step.counts.reasons;
  if (step.card.is_object())
    for (const auto& [key, value] : step.card.items())
      if (key != "sources" && key != "files" && key != "versions") entry[key] = value;
  return entry;
}

std::string plain(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

// A Markdown table of objects that may lack some of the columns.
std::string markdown_table(const Json& rows, const std::vector<std::string>& columns) {
  std::string text = "|", rule = "|";
  for (const std::string& column : columns) {
    text += concat(" ", column, " |");
    rule += "---|";
  }
  text += "\n" + rule + "\n";
  for (const Json& row : rows) {
    text += "|";
    for (const std::string& column : columns)
      text += concat(" ", row.contains(column) ? plain(row[column]) : "", " |");
    text += "\n";
  }
  return text;
}

std::string reasons_text(const std::map<std::string, int64_t>& reasons) {
  std::vector<std::pair<int64_t, std::string>> by_count;
  for (const auto& [reason, count] : reasons) by_count.emplace_back(-count, reason);
  std::sort(by_count.begin(), by_count.end());
  std::string text;
  for (const auto& [count, reason] : by_count) text += concat(text.empty() ? "" : ", ", reason, " ", -count);
  return text;
}

// What steps say in words: a line each.
std::string notes_text(const Json& steps) {
  std::string text;
  for (size_t i = 0; i < steps.size(); ++i)
    for (const Json& note : steps[i].value("notes", Json::array()))
      text += concat("- step ", i + 1, " ", plain(steps[i]["step"]), ": ", plain(note), "\n");
  return text.empty() ? "" : "\n" + text;
}

// A line for each version, with the steps that depend on it.
std::string versions_text(const Json& versions) {
  std::vector<std::pair<std::string, std::string>> lines;  // a version, and its steps
  for (const auto& [step, of_step] : versions.items())
    for (const auto& [name, value] : of_step.items()) {
      const std::string version = concat(name, ": `", plain(value), "`");
      auto line = std::ranges::find(lines, version, &std::pair<std::string, std::string>::first);
      if (line == lines.end()) line = lines.insert(lines.end(), {version, ""});
      line->second += (line->second.empty() ? "" : ", ") + step;
    }
  std::string text;
  for (const auto& [version, steps] : lines) text += concat("- ", version, " (", steps, ")\n");
  return text;
}

}  // namespace

DataCard make_data_card(const PipelineState& state, const std::string& yaml,
                        const std::filesystem::path& records) {
  Distributions distributions = read_distributions(records);
  DataCard card;
  card.json["records"] = distributions.records();
  card.json["records_hash"] = state.steps.back().records_hash;
  card.json["configuration_hash"] = hash_hex(yaml);
  card.json["steps"] = Json::array();
  for (const FinishedStep& step : state.steps) card.json["steps"].push_back(step_entry(step));
  card.json["sources"] = gathered(state.steps, "sources");
  card.json["files"] = gathered(state.steps, "files");
  card.json["versions"] = Json::object();
  for (size_t i = 0; i < state.steps.size(); ++i)
    if (const Json& of_step = state.steps[i].card; of_step.is_object() && of_step.contains("versions"))
      card.json["versions"][concat(i + 1, " ", state.steps[i].name)] = of_step["versions"];
  card.json["classes"] = distributions.classes();
  card.json["quantiles"] = distributions.quantiles();
  return card;
}

std::string card_text(const DataCard& card) {
  const Json& json = card.json;
  std::string text =
      concat("# Data card\n\n", plain(json["records"]), " records, hash `", plain(json["records_hash"]),
             "`.\n\n## Steps\n\n", markdown_table(json["steps"], {"step", "in", "out", "dropped"}),
             notes_text(json["steps"]));
  text += "\n## Sources\n\n" + markdown_table(json["sources"], {"source", "file", "form", "licence",
                                                                "entries", "broken", "bytes", "hash"});
  text += "\n## Files\n\n" +
          markdown_table(json["files"], {"file", "form", "records", "left_out", "bytes", "hash"});
  text += "\n## Versions\n\n";
  text += versions_text(json["versions"]);
  text += "\n## Distributions\n\n| value | records |\n|---|---|\n";
  for (const auto& [name, counts] : json["classes"].items())
    for (const auto& [value, count] : counts.items())
      text += concat("| ", name, ": ", value.empty() ? "(none)" : value, " | ", plain(count), " |\n");
  Json rows = Json::array();
  for (const auto& [name, quantiles] : json["quantiles"].items()) {
    Json row = {{"figure", name}};
    row.update(quantiles);
    rows.push_back(row);
  }
  text += "\n" + markdown_table(rows, {"figure", "records", "least", "p10", "p50", "p90", "most"});
  return text;
}

std::string step_table(const std::vector<FinishedStep>& steps) {
  std::string text = "     step                   in      out  left\n";
  char line[96];
  for (size_t i = 0; i < steps.size(); ++i) {
    const StepCounts& counts = steps[i].counts;
    snprintf(line, sizeof line, "%3zu  %-16s %8lld %8lld  ", i + 1, steps[i].name.c_str(),
             static_cast<long long>(counts.in), static_cast<long long>(counts.out));
    text += line + (counts.reasons.empty() ? std::string("-") : reasons_text(counts.reasons)) + "\n";
  }
  return text;
}

}  // namespace bicrl::curation
