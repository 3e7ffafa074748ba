// Forms: what the entries of published data files look like, to records and back. A new form is one file
// curation/forms/form_NAME.cpp that derives from Form and registers itself in one line. Forms are immutable
// and may be used from any thread.
#pragma once
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/error.h"
#include "curation/record.h"
#include "tasks/prompt.h"

namespace bicrl::curation {

// How records are written that hold a program and no conversation; of loaded conversations the reasoning
// marks alone count.
struct WritingOptions {
  PromptStyle style = PromptStyle::kPublished;
  Stage stage = Stage::kEndToEnd;
  // Around the reasoning part of a response. It is left out if both are empty.
  std::string reasoning_opening = "<think>\n", reasoning_closing = "\n</think>\n\n";
};

// Thrown by Form::read: the entry is as it should be, and no record comes of it. It is not counted as broken.
class EntryWithoutUse : public InputError {
 public:
  explicit EntryWithoutUse(const std::string& reason) : InputError(reason) {}
};

class Form {
 public:
  virtual ~Form() = default;
  // Fields that every entry has; they tell forms apart. Of several forms whose fields are all there, the one
  // with most is meant.
  virtual std::vector<std::string> fields() const = 0;
  // What its publisher says of the licence; empty: nothing, or it is no publisher's form.
  virtual std::string licence() const { return ""; }
  // Fills in what an entry says; id, parent and provenance.source are the caller's. Throws InputError naming
  // the field, or EntryWithoutUse.
  virtual Record read(const nlohmann::json& entry) const = 0;
  // Further correct programs of the same task that the entry holds beside the one of `first`, each a record
  // like it with another answer.
  virtual std::vector<Record> read_further(const nlohmann::json&, const Record&) const { return {}; }
  // Throws InputError if the record lacks what the form needs.
  virtual nlohmann::ordered_json write(const Record& record, const WritingOptions& options) const = 0;
};

struct FormRegistration {
  FormRegistration(const std::string& name, std::unique_ptr<Form> form);
};

std::vector<std::string> form_names();  // sorted
const Form& form_named(const std::string& name);

// The name of the form that an entry has. Throws InputError with what the nearest form lacks; `file` is put
// in front.
std::string detect_form(const nlohmann::json& entry, const std::string& file);

// ---- For forms: fields of an entry. Each throws InputError naming the field.

const nlohmann::json& field_of(const nlohmann::json& entry, const char* field);  // of whatever type
std::string text_of(const nlohmann::json& entry, const char* field);
std::string text_or(const nlohmann::json& entry, const char* field,
                    const std::string& fallback = "");  // null: fallback
std::optional<double> number_of(const nlohmann::json& entry,
                                const char* field);  // also as text; null: nothing
// Copies texts, numbers and truth values that are there to labels and figures.
void keep_labels(const nlohmann::json& entry, const std::vector<std::string>& fields, Record& record);
void keep_figures(const nlohmann::json& entry, const std::vector<std::string>& fields, Record& record);
std::string label_of(const Record& record, const std::string& name);  // empty if it has none
// Throws InputError naming the label if it is no integer.
int64_t integer_label(const Record& record, const std::string& name);

// Throws InputError "needs WHAT, and the record has none" if the text is empty.
const std::string& needed(const std::string& text, const char* what);

// What asks for a record's task, with the chat template where its style has one. Throws InputError if the
// record has no code.
Prompt prompt_of_task(const Record& record, const WritingOptions& options);
// What a policy reads before the answer of a record without a conversation: the record's own prompt, or one
// made from its task, with the chat template where its style has one. Throws InputError if there is neither.
std::string prompt_of(const Record& record, const WritingOptions& options);
// The conversation of a record, which ends with an answer: its own, or made from its task and program. Its
// turns hold no chat template. Throws InputError if there is neither.
std::vector<ChatMessage> conversation_of(const Record& record, const WritingOptions& options);
// From a conversation what its last turn holds: reasoning between <think> and </think>, and the program. All
// behind an opening mark is reasoning if no closing one follows.
void read_response(const std::string& response, Answer& answer);

}  // namespace bicrl::curation
