// What a policy answered, without the tasks' code, which `load` takes from its `tasks`: lines of `bicrl
// generate`, and a run's samples.jsonl and texts/*.jsonl.gz with their verdicts.
#include "common/error.h"
#include "curation/form.h"

namespace bicrl::curation {
namespace {

class ResponsesForm : public Form {
 public:
  std::vector<std::string> fields() const override {
    return {"task_id", "sample", "text", "program", "finish", "tokens"};
  }

  Record read(const nlohmann::json& entry) const override {
    Record record;
    record.task_id = text_of(entry, "task_id");
    record.answer.program = text_of(entry, "program");
    if (record.answer.program.empty()) record.answer.response = text_of(entry, "text");
    keep_labels(entry, {"finish"}, record);
    keep_figures(entry, {"sample"}, record);
    if (const auto tokens = entry.find("tokens"); tokens != entry.end() && tokens->is_array())
      record.figures["response_tokens"] = static_cast<double>(tokens->size());
    return record;
  }

  nlohmann::ordered_json write(const Record& record, const WritingOptions&) const override {
    const auto sample = record.figures.find("sample");
    return {{"task_id", record.task_id},
            {"sample", sample == record.figures.end() ? 0 : static_cast<int64_t>(sample->second)},
            {"text", record.answer.response},
            {"program", needed(record.answer.program, "a program")},
            {"finish", label_of(record, "finish")},
            {"tokens", nlohmann::ordered_json::array()}};
  }
};

class EpisodesForm : public Form {
 public:
  std::vector<std::string> fields() const override {
    return {"task", "sample", "phase", "step", "text", "verdict", "reward"};
  }

  Record read(const nlohmann::json& entry) const override {
    Record record;
    const std::string phase = text_of(entry, "phase");
    if (phase != to_string(Stage::kEndToEnd))
      throw EntryWithoutUse(concat("is of the phase '", phase, "', whose responses are no whole programs"));
    record.task_id = text_of(entry, "task");
    keep_figures(entry, {"sample", "step", "reward"}, record);
    read_response(text_of(entry, "text"), record.answer);
    if (!record.answer.program.empty()) record.answer.response.clear();
    // Null: the response was not verified. Tables have no field of that value.
    if (const auto verdict = entry.find("verdict"); verdict != entry.end() && !verdict->is_null())
      record.verdict = settled(verdict_from_json(*verdict));
    record.labels["phase"] = phase;
    return record;
  }

  nlohmann::ordered_json write(const Record&, const WritingOptions&) const override {
    throw InputError("episodes are a run's own; the form 'responses' can be written");
  }
};

const FormRegistration kResponses("responses", std::make_unique<ResponsesForm>());
const FormRegistration kEpisodes("episodes", std::make_unique<EpisodesForm>());

}  // namespace
}  // namespace bicrl::curation
