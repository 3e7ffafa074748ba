// State that a checkpoint keeps: of a curriculum, of the repair buffer, of the quarantine. Each takes the
// input for its own; what it accepts it goes on with.
#include "common/json.h"
#include "reward/quarantine.h"
#include "reward/repair_buffer.h"
#include "tasks/curriculum.h"
#include "tests/fuzz/fuzz_target.h"

namespace bicrl::fuzz {
namespace {

using nlohmann::json;

enum class Kind { kSequential, kLevel, kAdaptive };

std::unique_ptr<Curriculum> make_curriculum(Kind kind) {
  static const std::vector<Task> kTasks = [] {
    std::vector<Task> tasks;
    for (int i = 0; i < 7; ++i) {
      tasks.emplace_back().id = std::to_string(i);
      tasks.back().level = i % 3;
    }
    return tasks;
  }();
  if (kind == Kind::kAdaptive) return make_adaptive_curriculum(kTasks, 1);
  return kind == Kind::kLevel ? make_level_curriculum(kTasks, 0.5, 4) : make_sequential_curriculum(kTasks);
}

void resume_curriculum(const json& state, Kind kind) {
  const auto curriculum = make_curriculum(kind), twin = make_curriculum(kind);
  curriculum->restore(state);
  twin->restore(curriculum->state());
  BICRL_CHECK(twin->state() == curriculum->state());
  for (int step = 0; step < 20; ++step) {
    std::vector<TaskOutcome> outcomes;
    for (const Task* task : curriculum->next(2)) outcomes.push_back({task->id, 1.0, 0.5});
    curriculum->observe(outcomes);
    BICRL_CHECK(!curriculum->position().empty());
  }
}

void resume_repairs(const json& state) {
  RepairSettings settings;
  settings.probability = 1;
  settings.capacity = 3;
  settings.max_diagnostics_chars = 10;
  settings.max_program_chars = 40;
  RepairBuffer buffer(settings), twin(settings);
  buffer.restore(state);
  twin.restore(buffer.state());
  BICRL_CHECK(twin.entries() == buffer.entries());
  for (const RepairEntry& entry : buffer.entries()) {
    BICRL_CHECK(entry.attempt.program.size() <= 40, entry.attempt.program.size());
    parse_json(to_json(entry).dump(), "entry");
  }
  if (const auto drawn = buffer.draw(1)) buffer.solved(drawn->task_id);
}

void resume_quarantine(const json& state) {
  Quarantine quarantine(QuarantineSettings{}), twin(QuarantineSettings{});
  quarantine.restore(state);
  twin.restore(quarantine.state());
  BICRL_CHECK(twin.state() == quarantine.state());
  Verdict verdict;
  verdict.outcome = Outcome::kGraded;
  verdict.correct = true;
  quarantine.reason("0", "program", verdict);
  quarantine.note("0", "program", verdict);
  BICRL_CHECK(quarantine.is_solved("0"));
}

}  // namespace
}  // namespace bicrl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bicrl;
  nlohmann::json state;
  if (!fuzz::accepts([&] { state = parse_json(fuzz::as_text(data, size), "fuzz.json"); })) return 0;
  for (const auto kind : {fuzz::Kind::kSequential, fuzz::Kind::kLevel, fuzz::Kind::kAdaptive})
    fuzz::accepts([&] { fuzz::resume_curriculum(state, kind); });
  fuzz::accepts([&] { fuzz::resume_repairs(state); });
  fuzz::accepts([&] { fuzz::resume_quarantine(state); });
  return 0;
}
