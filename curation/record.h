// A record of curated data: a task, perhaps an answer to it and the verdict on that, and where all of it
// comes from. One JSON object on a line of a step's output. Plain values.
#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tasks/chat_template.h"
#include "tasks/task.h"
#include "verdict/verdict.h"

namespace bicrl::curation {

// The entry that a record was loaded from, or what composed it.
struct Origin {
  std::string source;   // name of the source in the pipeline
  std::string file;     // its file's name
  std::string form;     // of the file's entries (curation/form.h), or "synthesised"
  int64_t entry = 0;    // counted from 1; 0: no file's
  std::string content;  // hash of the entry
  bool operator==(const Origin&) const = default;
};

// What was published or made, step by step from the file to this record.
struct Provenance : Origin {
  std::string licence;
  std::vector<uint64_t> seeds;  // of the steps that drew something for it, the first one's first
  std::string verifier;         // all that the verdict depends on beside task and program
  // Of a record of another pipeline that was loaded: where that one had it from, the first origin first.
  std::vector<Origin> earlier;
  bool operator==(const Provenance&) const = default;
};

// An answer: the program, or a conversation whose last turn holds it.
struct Answer {
  std::string program;
  // Scaffold of the infilling form: prefix + middle + suffix == program. All empty without one.
  std::string prefix, middle, suffix;
  std::string reasoning;
  std::string prompt, response;
  std::vector<ChatMessage> messages;
  bool has_scaffold() const { return !middle.empty() || !suffix.empty(); }
};

struct Record {
  std::string id;       // unique among the records of a step
  std::string parent;   // id of the record that it was made from; empty: it was loaded or composed
  std::string task_id;  // records that answer the same task share it
  std::string name;     // of the task, as published
  int level = 0;        // difficulty as published; 0 where unknown
  std::string pytorch_code;
  std::vector<std::string> operators;  // that the task is composed of; empty where unknown
  std::string reduced_sizes;           // of the task, given by hand, as in Task
  Answer answer;
  std::optional<Verdict> verdict;             // without what differs from run to run, see settled()
  std::map<std::string, double> figures;      // "published_speedup", "reasoning_tokens"
  std::map<std::string, std::string> labels;  // "difficulty", "repo_name"
  Provenance provenance;

  Task task() const;  // for prompts, the answer as its known program
  // Gives the task another code. What was said of the one before goes: the verdict, reduced sizes given by
  // hand, figures but for numbers of tokens, conversations that show it, and copies of it that a form keeps
  // as labels. The program and its reasoning part stay.
  void change_code(std::string code);
  // The task that this one is a variant of; the task itself if it is none's. Variants share it with the
  // original.
  const std::string& original_task() const;
};

// The label of a variant's original task.
inline constexpr const char* kOriginalTask = "original_task";

// The verdict without times that it took, and without figures of inputs that no two verifications share.
Verdict settled(Verdict verdict);

nlohmann::ordered_json to_json(const Record& record);  // fields without a value are left out
std::string to_line(const Record& record);
Record record_from_json(const nlohmann::json& json);  // throws InputError naming the field
Record record_from_line(std::string_view line);

// A named value of a record: one of those below, which no figure or label stands in for; else the figure or
// label of that name. Nothing if it has none.
//   correct, compiled, outcome, fault_class, clock, speedup, pass_rate, level,
//   operators (their number), source, licence, name, program_lines, has_scaffold, task (its id),
//   original_task
using RecordValue = std::variant<bool, double, std::string>;
std::optional<RecordValue> value_of(const Record& record, const std::string& name);
const std::vector<std::string>& value_names();
bool is_built_in(const std::string& name);  // one of the above
// Throws InputError naming a figure or label that no step could reach by its name. A variant's original task
// is a label and a value alike.
void refuse_built_in_names(const Record& record);
std::string to_string(const RecordValue& value);

}  // namespace bicrl::curation
