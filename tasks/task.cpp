#include "tasks/task.h"

#include "common/error.h"
#include "common/hash.h"

namespace bicrl {

std::string to_string(Stage stage) { return stage == Stage::kInfilling ? "infilling" : "end_to_end"; }

Stage parse_stage(const std::string& text) {
  if (text == "infilling") return Stage::kInfilling;
  if (text == "end_to_end") return Stage::kEndToEnd;
  throw InputError(concat("stage: '", text, "' is neither 'infilling' nor 'end_to_end'"));
}

void Task::qualify(const std::string& file_name) {
  BICRL_CHECK(source.empty(), "task ", id, " is of ", source, " already");
  source = file_name;
  id = concat(file_name, ":", id);
}

std::string Task::published_id() const { return source.empty() ? id : id.substr(source.size() + 1); }

std::string hash_of(const std::vector<Task>& tasks) {
  std::string hashes;
  for (const Task& t : tasks) {
    hashes +=
        hash_hex({t.id, std::to_string(t.level), t.pytorch_code, t.cuda_code, t.prefix, t.middle, t.suffix});
    if (!t.reduced_sizes.empty()) hashes += hash_hex(t.reduced_sizes);
    for (const std::string& part : t.composition) hashes += hash_hex(part);
    for (const KnownProgram& p : t.alternatives)
      hashes += hash_hex({p.technique, p.cuda_code, p.prefix, p.middle, p.suffix});
  }
  return hash_hex(hashes);
}

}  // namespace bicrl
