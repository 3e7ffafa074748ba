// A task: a PyTorch module to be rewritten as a CUDA program, and what is known about it.
#pragma once
#include <string>
#include <vector>

namespace bicrl {

enum class Stage { kInfilling, kEndToEnd };

std::string to_string(Stage stage);          // "infilling", "end_to_end"
Stage parse_stage(const std::string& text);  // throws InputError

// A correct program of a task beside its cuda_code.
struct KnownProgram {
  std::string technique;  // a short signature of how it computes: "kernels=1 map=warp width=4"; may be empty
  std::string cuda_code;
  // As in Task: all empty without a scaffold.
  std::string prefix;
  std::string middle;
  std::string suffix;

  bool has_scaffold() const { return !middle.empty() || !suffix.empty(); }
  bool operator==(const KnownProgram&) const = default;
};

struct Task {
  std::string id;  // unique within its set
  // Name of the file that a run read it from, which its id then begins with ("kernel_infilling:74"), so that
  // ids of several files do not collide. Empty for synthesised tasks and for files read by themselves.
  std::string source{};
  int level = 0;             // difficulty as published; 0 where unknown
  std::string pytorch_code;  // defines Model, get_inputs(), get_init_inputs()
  std::string cuda_code;     // a known program in the published form; empty if there is none
  // Scaffold of the infilling form: prefix + middle + suffix == cuda_code. All empty without one.
  std::string prefix;
  std::string middle;
  std::string suffix;
  // Operators that a synthesised task is composed of, in order; empty for published tasks.
  std::vector<std::string> composition;
  // JSON, a list of smaller sizes at which programs are judged if the task is too large, each {name of a
  // constant of pytorch_code: value}; empty: they are found.
  std::string reduced_sizes{};
  // Further known correct programs, from expensive to cheap; empty where cuda_code is.
  std::vector<KnownProgram> alternatives;

  bool has_scaffold() const { return !middle.empty() || !suffix.empty(); }
  // Sets `source`, and the id to "source:id".
  void qualify(const std::string& file_name);
  std::string published_id() const;  // as its file has it
  bool operator==(const Task&) const = default;
};

// Of all fields of all tasks, in their order.
std::string hash_of(const std::vector<Task>& tasks);

}  // namespace bicrl
