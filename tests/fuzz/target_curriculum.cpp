// The saved state of a curriculum, restored and gone on with.
#include "common/json.h"
#include "tasks/curriculum.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bicrl;
  static const std::vector<Task> kTasks = [] {
    std::vector<Task> tasks;
    for (int i = 0; i < 7; ++i) {
      tasks.emplace_back().id = std::to_string(i);
      tasks.back().level = i % 3;
    }
    return tasks;
  }();
  const std::string_view text = fuzz::as_text(data, size);
  for (const bool by_level : {false, true}) {
    const auto curriculum =
        by_level ? make_level_curriculum(kTasks, 0.5, 4) : make_sequential_curriculum(kTasks);
    if (!fuzz::accepts([&] { curriculum->restore(parse_json(text, "fuzz.json")); })) continue;
    const auto saved = curriculum->state();
    const auto twin = by_level ? make_level_curriculum(kTasks, 0.5, 4) : make_sequential_curriculum(kTasks);
    twin->restore(saved);
    BICRL_CHECK(twin->state() == saved, text);
    for (int step = 0; step < 20; ++step) {
      std::vector<TaskOutcome> outcomes;
      for (const Task* task : curriculum->next(2)) outcomes.push_back({task->id, 1.0});
      curriculum->observe(outcomes);
      BICRL_CHECK(!curriculum->position().empty());
    }
  }
  return 0;
}
