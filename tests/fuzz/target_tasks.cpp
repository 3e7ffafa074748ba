// A task file: a JSON list or JSON lines.
#include "tasks/task_set.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bicrl;
  TaskSet set;
  if (!fuzz::accepts([&] { set = parse_task_set(fuzz::as_text(data, size), "fuzz.json"); })) return 0;
  BICRL_CHECK(!set.tasks.empty() || !set.errors.empty());
  for (const EntryError& error : set.errors)
    BICRL_CHECK(error.entry > 0 && !error.reason.empty(), error.message());
  if (set.tasks.empty()) return 0;
  // What was accepted is written and read back as it was, in both forms.
  for (const std::string& text : {tasks_to_json(set.tasks), tasks_to_json_lines(set.tasks)}) {
    const TaskSet again = parse_task_set(text, "again.json");
    BICRL_CHECK(again.errors.empty(), again.errors[0].message());
    BICRL_CHECK(again.tasks == set.tasks, text);
  }
  return 0;
}
