// Programs for tasks that are too large for references on the CPU, on a machine with a GPU: correct ones,
// made for any size or for one, are correct at their own size, and incorrect ones are refused there, also
// those that only the own size shows. BICRL_CORPUS takes programs whose names hold it.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <thread>

#include "common/clock.h"
#include "sandbox/gpu/timing/statistics.h"
#include "tests/sandbox/gpu/gpu_programs.h"
#include "tests/sandbox/service/service_support.h"
#include "tests/sandbox/verifier/large_programs.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

using nlohmann::json;
using testing::CorpusEntry;
using testing::LargeKind;

std::unique_ptr<Pipeline> gpu_pipeline() {
  PipelineOptions options;
  options.python = testing::test_python();
  options.oracle.cpu_s = 600;
  options.oracle.concurrent = 4;
  options.measures_times = true;
  GpuOptions gpu{.processes = 2};
  gpu.timing.on = true;
  options.backend = gpu_backend(gpu, InstrumentedRuns::kRequired);
  return std::make_unique<Pipeline>(options);
}

// Only the own size shows it, or the program runs at no other.
bool is_as_expected(const CorpusEntry& entry, const Verdict& v) {
  if (entry.expects("specialised") || entry.expects("correct")) return v.correct && v.graded_at == kOwnSize;
  if (entry.expects("unseen") || entry.expects("unseen_paid")) return !v.correct && judges_program(v.outcome);
  return !v.correct && entry.expects(v.fault_class);
}

struct Times {
  std::vector<double> held_ms, all_ms;
};

void print(const CorpusEntry& entry, const Verdict& v, Times& times) {
  std::string stages = "-";
  if (!v.measurement.empty()) {
    const json measured = json::parse(v.measurement);
    stages = concat(measured.at("stages_ms").dump(), " window ", measured.at("window_ms").dump(),
                    " again because ", measured.at("repeated_because").dump());
    double held = 0;
    for (const auto& [name, ms] : measured.at("stages_ms").items()) held += ms.get<double>();
    times.held_ms.push_back(held);
  }
  times.all_ms.push_back(v.total_ms);
  printf("%s %s: %s | %s | %.3f ms, eager %.3f | held %s | %.0f ms (compile %.0f, record %.0f, run %.0f)\n",
         is_as_expected(entry, v) ? "ok  " : "BAD ", entry.name.c_str(),
         v.correct ? concat("correct at ", v.graded_at).c_str()
                   : concat(to_string(v.outcome), " ", v.fault_class).c_str(),
         v.diagnostics.substr(0, 300).c_str(), v.candidate_ms, v.eager_ms, stages.c_str(), v.total_ms,
         v.compile_ms, v.record_ms, v.run_ms);
}

// The names of programs in the file of BICRL_FINISHED; without one nothing is kept.
class Finished {
 public:
  explicit Finished(const char* file) : file_(file ? file : "") {
    std::ifstream known(file_);
    for (std::string name; std::getline(known, name);) names_.insert(name);
  }
  bool contains(const std::string& name) const { return names_.contains(name); }
  void add(const std::string& name) {
    const std::lock_guard lock(mutex_);
    if (!file_.empty()) std::ofstream(file_, std::ios::app) << name << "\n";
  }

 private:
  std::string file_;
  std::set<std::string> names_;  // of earlier commands
  std::mutex mutex_;
};

// Several at a time, those of one task one after the other. `before`: verified alone, so that all processes
// have started.
void check(std::vector<CorpusEntry> entries, std::optional<CorpusEntry> before = std::nullopt) {
  if (!testing::has_gpu()) SKIP("this machine has no GPU's driver");
  testing::box_host();
  if (const char* only = getenv("BICRL_CORPUS"))
    std::erase_if(entries, [&](const CorpusEntry& e) { return e.name.find(only) == std::string::npos; });
  Finished finished(getenv("BICRL_FINISHED"));
  std::erase_if(entries, [&](const CorpusEntry& e) { return finished.contains(e.name); });
  std::ranges::stable_sort(entries, {}, [](const CorpusEntry& e) { return e.request.task_id; });
  const auto pipeline = gpu_pipeline();
  std::vector<Verdict> verdicts(entries.size());
  std::atomic<size_t> next = 0;
  std::vector<std::jthread> threads;
  if (before) CHECK(is_as_expected(*before, pipeline->verify(before->request)));
  const Stopwatch clock;
  for (unsigned i = 0; i < std::max(2u, std::thread::hardware_concurrency() / 2); ++i)
    threads.emplace_back([&] {
      for (size_t k; (k = next++) < entries.size();) {
        entries[k].request.protocol.measure_time = true;
        verdicts[k] = pipeline->verify(entries[k].request);
        if (is_as_expected(entries[k], verdicts[k])) finished.add(entries[k].name);
      }
    });
  threads.clear();
  Times times;
  size_t good = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    INFO(entries[i].name << ": " << verdicts[i].fault_class << ": " << verdicts[i].diagnostics);
    print(entries[i], verdicts[i], times);
    good += is_as_expected(entries[i], verdicts[i]);
    CHECK(is_as_expected(entries[i], verdicts[i]));
  }
  printf("%zu of %zu as expected in %.1f s; device held %.0f ms, whole verification %.0f ms (medians)\n",
         good, entries.size(), clock.seconds(), times.held_ms.empty() ? 0.0 : timing::median(times.held_ms),
         times.all_ms.empty() ? 0.0 : timing::median(times.all_ms));
}

// Programs of one task, and one of another to be verified before them.
struct Group {
  std::vector<CorpusEntry> programs;
  std::optional<CorpusEntry> before;
};

Group group_of(const std::vector<LargeKind>& kinds) {
  const char* asked = getenv("BICRL_GROUP");
  const std::string task = asked ? asked : "23 ";
  Group group;
  for (const LargeKind kind : kinds)
    for (const CorpusEntry& entry : testing::large_entries(kind))
      if (entry.name.starts_with(task))
        group.programs.push_back(entry);
      else if (!group.before && kind == LargeKind::kOrdinary)
        group.before = entry;
  REQUIRE(!group.programs.empty());
  return group;
}

}  // namespace

TEST_CASE("programs in ordinary style are correct at their own size", "[.][large_gpu]") {
  check(testing::large_entries(LargeKind::kOrdinary));
}

TEST_CASE("programs that are made for one size are judged there", "[.][large_gpu]") {
  check(testing::large_entries(LargeKind::kSpecialised));
}

TEST_CASE("programs that are incorrect at their own size alone are refused there", "[.][large_gpu]") {
  check(testing::large_entries(LargeKind::kNeighbours));
}

TEST_CASE("programs that look at sizes are refused at their own", "[.][large_gpu]") {
  check(testing::hostile_large_entries());
}

TEST_CASE("a group of one task shares its test inputs and its reference at the own size", "[.][large_gpu]") {
  Group group = group_of({LargeKind::kOrdinary});
  group.programs.assign(16, group.programs.front());
  check(group.programs, group.before);
}

// Each is compiled by itself, since the device text of no two is equal.
TEST_CASE("a group of different programs shares its test inputs and its reference as well",
          "[.][large_gpu]") {
  const Group all = group_of({LargeKind::kOrdinary, LargeKind::kSpecialised, LargeKind::kNeighbours});
  std::vector<CorpusEntry> group;
  for (size_t i = 0; i < 16; ++i) {
    group.push_back(all.programs[i % all.programs.size()]);
    std::string& program = group.back().request.program;
    const size_t at = program.find("__global__");
    REQUIRE(at != std::string::npos);
    program.insert(at, concat("/* program ", i, " of the group */ "));
  }
  check(group, all.before);
}

}  // namespace bicrl
