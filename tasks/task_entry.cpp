#include "tasks/task_entry.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/error.h"
#include "common/json.h"

namespace bicrl {
namespace {

using nlohmann::json;

// Thrown and caught within this file only: parsing one entry stops at its first fault.
struct EntryFault {
  FieldError error;
};

[[noreturn]] void fail(const std::string& field, const std::string& reason) {
  throw EntryFault{FieldError{field, reason}};
}

std::optional<int64_t> whole_number(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::string text_field(const json& entry, const char* field, bool required) {
  const auto found = entry.find(field);
  if (found == entry.end()) {
    if (required) fail(field, "is missing");
    return {};
  }
  if (!found->is_string()) fail(field, concat("must be a string, found ", found->type_name()));
  std::string text = found->get<std::string>();
  if (text.find('\0') != std::string::npos) fail(field, "holds a NUL character");
  return text;
}

std::string code_field(const json& entry, const char* field, bool required) {
  std::string text = text_field(entry, field, required);
  if (required && text.find_first_not_of(" \t\r\n") == std::string::npos) fail(field, "is empty");
  return text;
}

std::string id_field(const json& entry, const char* field) {
  const auto found = entry.find(field);
  if (found == entry.end()) fail(field, "is missing");
  if (found->is_number_integer()) return found->dump();
  if (!found->is_string()) fail(field, concat("must be an integer or a string, found ", found->type_name()));
  const std::string id = text_field(entry, field, true);
  if (id.empty()) fail(field, "is empty");
  for (unsigned char c : id) {
    if (c < 0x20 || c == 0x7F) fail(field, "holds a control character");
  }
  return id;
}

int64_t integer_field(const json& entry, const char* field, int64_t min, int64_t max) {
  const auto found = entry.find(field);
  if (found == entry.end()) fail(field, "is missing");
  std::optional<int64_t> value;
  if (found->is_number_integer()) value = found->get<int64_t>();
  if (found->is_string()) value = whole_number(found->get<std::string>());
  if (!value || *value < min || *value > max)
    fail(field, concat("must be an integer in [", min, ", ", max, "], found ", json_excerpt(*found)));
  return *value;
}

constexpr int64_t kMaxLevel = 1000;

void check_scaffold(const std::string& whole, const std::string& cuda_code) {
  if (whole == cuda_code) return;
  size_t same = 0;
  while (same < whole.size() && same < cuda_code.size() && whole[same] == cuda_code[same]) ++same;
  fail("cuda_code", concat("is not prefix + middle + suffix: they differ from byte ", same, " (",
                           cuda_code.size(), " against ", whole.size(), " bytes)"));
}

// For whatever has the scaffold's fields beside its cuda_code: a task, an alternative.
template <typename Program>
void read_scaffold(const json& entry, Program& program) {
  program.prefix = text_field(entry, "prefix", true);
  program.middle = code_field(entry, "middle", true);
  program.suffix = text_field(entry, "suffix", true);
  check_scaffold(program.prefix + program.middle + program.suffix, program.cuda_code);
}

bool names_scaffold(const json& entry) {
  return entry.contains("prefix") || entry.contains("middle") || entry.contains("suffix");
}

void read_composition(const json& entry, Task& task) {
  const auto found = entry.find("composition");
  if (found == entry.end()) return;
  if (!found->is_array()) fail("composition", concat("must be a list, found ", found->type_name()));
  for (const auto& name : *found) {
    if (!name.is_string()) fail("composition", concat("must hold strings, found ", json_excerpt(name)));
    task.composition.push_back(name.get<std::string>());
  }
}

void read_reduced_sizes(const json& entry, Task& task) {
  const auto found = entry.find("reduced_sizes");
  if (found == entry.end()) return;
  const Result<std::string> sizes = reduced_sizes_of(*found);
  if (!sizes) fail("reduced_sizes", sizes.reason());
  task.reduced_sizes = sizes.value();
}

KnownProgram parse_alternative(const json& entry) {
  if (!entry.is_object()) fail("", concat("must be an object, found ", entry.type_name()));
  KnownProgram program;
  program.technique = text_field(entry, "technique", false);
  program.cuda_code = code_field(entry, "cuda_code", true);
  if (names_scaffold(entry)) read_scaffold(entry, program);
  return program;
}

void read_alternatives(const json& entry, Task& task) {
  const auto found = entry.find("alternatives");
  if (found == entry.end()) return;
  if (!found->is_array()) fail("alternatives", concat("must be a list, found ", found->type_name()));
  if (!found->empty() && task.cuda_code.empty())
    fail("alternatives", "stand beside a cuda_code, and there is none");
  for (size_t i = 0; i < found->size(); ++i) {
    try {
      task.alternatives.push_back(parse_alternative((*found)[i]));
    } catch (const EntryFault& fault) {
      const std::string at = concat("alternatives[", i, "]");
      fail(fault.error.field.empty() ? at : concat(at, ".", fault.error.field), fault.error.reason);
    }
  }
}

// The names that the verifier and the prompts rely on; whether they work is for the oracle to find out.
void check_module(const Task& task, const char* field) {
  for (const char* needed : {"class Model", "def get_inputs", "def get_init_inputs"}) {
    if (task.pytorch_code.find(needed) == std::string::npos)
      fail(field, concat("does not contain '", needed, "'"));
  }
}

Task parse(const json& entry) {
  if (!entry.is_object()) fail("", concat("must be an object, found ", entry.type_name()));
  Task task;
  const TaskForm form = detect_task_form(entry);
  if (form == TaskForm::kKernelBench) {
    task.level = static_cast<int>(integer_field(entry, "level", 0, kMaxLevel));
    task.id = concat("level_", task.level, "_problem_", integer_field(entry, "problem_id", 0, INT32_MAX));
    text_field(entry, "name", true);
  } else {
    task.id = id_field(entry, entry.contains("idx") && !entry.contains("id") ? "idx" : "id");
    if (entry.contains("level")) task.level = static_cast<int>(integer_field(entry, "level", 0, kMaxLevel));
  }
  // KernelBench's data set on the hub has a column of another name.
  const char* module = !entry.contains("pytorch_code") && entry.contains("code") ? "code" : "pytorch_code";
  task.pytorch_code = code_field(entry, module, true);
  check_module(task, module);
  task.cuda_code = code_field(entry, "cuda_code", form == TaskForm::kInfilling);
  if (form == TaskForm::kInfilling) read_scaffold(entry, task);
  read_composition(entry, task);
  read_reduced_sizes(entry, task);
  read_alternatives(entry, task);
  return task;
}

// Ids that were published as integers are written as integers again.
nlohmann::ordered_json id_value(const std::string& id) {
  const auto number = whole_number(id);
  if (number && std::to_string(*number) == id) return *number;
  return id;
}

nlohmann::ordered_json alternative_to_entry(const KnownProgram& program) {
  nlohmann::ordered_json entry;
  if (!program.technique.empty()) entry["technique"] = program.technique;
  entry["cuda_code"] = program.cuda_code;
  if (program.has_scaffold()) {
    entry["prefix"] = program.prefix;
    entry["middle"] = program.middle;
    entry["suffix"] = program.suffix;
  }
  return entry;
}

}  // namespace

TaskForm detect_task_form(const json& entry) {
  if (entry.contains("problem_id")) return TaskForm::kKernelBench;
  if (names_scaffold(entry)) return TaskForm::kInfilling;
  return TaskForm::kEndToEnd;
}

Result<std::string> reduced_sizes_of(const json& field) {
  const auto must = [](const char* wanted, const json& found) {
    return Result<std::string>::failure(concat("must ", wanted, ", found ", json_excerpt(found)));
  };
  if (!field.is_array() || field.empty()) return must("be a list that is not empty", field);
  for (const auto& sizes : field) {
    if (!sizes.is_object()) return must("hold objects", sizes);
    for (const auto& size : sizes)
      if (!size.is_number_integer() || size < 1) return must("give whole numbers from 1 on", size);
  }
  return field.dump();
}

std::variant<Task, FieldError> parse_task_entry(const json& entry) {
  try {
    return parse(entry);
  } catch (const EntryFault& fault) {
    return fault.error;
  }
}

nlohmann::ordered_json task_to_entry(const Task& task) {
  nlohmann::ordered_json entry;
  const bool infilling = task.has_scaffold();
  entry[infilling ? "id" : "idx"] = id_value(task.published_id());
  if (!infilling) {
    entry["level"] = std::to_string(task.level);  // a string in the published end-to-end form
  } else if (task.level != 0) {
    entry["level"] = task.level;
  }
  entry["pytorch_code"] = task.pytorch_code;
  entry["cuda_code"] = task.cuda_code;
  if (infilling) {
    entry["prefix"] = task.prefix;
    entry["middle"] = task.middle;
    entry["suffix"] = task.suffix;
  }
  if (!task.composition.empty()) entry["composition"] = task.composition;
  if (!task.reduced_sizes.empty()) entry["reduced_sizes"] = nlohmann::ordered_json::parse(task.reduced_sizes);
  for (const KnownProgram& program : task.alternatives)
    entry["alternatives"].push_back(alternative_to_entry(program));
  return entry;
}

}  // namespace bicrl
