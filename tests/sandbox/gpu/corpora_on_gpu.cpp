// The corpora on a GPU: every program's verdict on the GPU path is of a class that its file names, and its
// plain runs answer on the device as they do on the PTX interpreter, bit for bit where PTX promises it. For
// machines with a GPU; BICRL_CORPUS takes programs whose names hold it, BICRL_PRINT_CORPUS says more.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <regex>
#include <thread>

#include "common/clock.h"
#include "sandbox/recorder/trace/element_types.h"
#include "tasks/task_set.h"
#include "tests/sandbox/gpu/gpu_programs.h"
#include "tests/sandbox/service/service_support.h"
#include "tests/sandbox/verifier/corpus.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

// Why PTX lets two devices answer otherwise; empty: it does not.
std::string freedom(const std::vector<DeviceModule>& modules) {
  static const std::pair<const char*, std::regex> kFreedoms[] = {
      {"approximate", std::regex(R"(\.approx|\.full|\btanh\.|\bex2\.|\blg2\.|\brsqrt\.)")},
      {"atomics of floats", std::regex(R"((atom|red)\.[^;]*\.(f16|bf16|f32|f64))")},
      {"order of atomics", std::regex(R"((atom|red)\.)")},
      {"matrices", std::regex(R"(\b(wmma|mma)\.)")},
      {"clocks", std::regex(R"(%(clock|globaltimer|smid|nsmid|gridid|warpid))")}};
  static const std::regex kProduct(R"(\bmul\.(ftz\.)?f(32|64)\b)"),
      kSum(R"(\b(add|sub)\.(ftz\.)?f(32|64)\b)");
  std::string found;
  for (const DeviceModule& module : modules) {
    // Line by line: the expressions are not made for megabytes.
    bool product = false, sum = false;
    for (size_t begin = 0; begin < module.ptx->size();) {
      const size_t end = std::min(module.ptx->find('\n', begin), module.ptx->size());
      const std::string line = module.ptx->substr(begin, end - begin);
      begin = end + 1;
      if (line.find('.') == std::string::npos) continue;
      for (const auto& [name, expression] : kFreedoms)
        if (found.find(name) == std::string::npos && std::regex_search(line, expression))
          found += concat(found.empty() ? "" : ", ", name);
      product = product || std::regex_search(line, kProduct);
      sum = sum || std::regex_search(line, kSum);
    }
    // Without a rounding modifier the assembler may contract the two.
    if (product && sum && found.find("contraction") == std::string::npos)
      found += concat(found.empty() ? "" : ", ", "contraction");
  }
  return found;
}

struct Difference {
  uint64_t elements = 0, unequal = 0;
  double largest = 0;  // of |a - b|, in the leaf's largest magnitude
};

void compare_leaf(const OutputLayout::Leaf& leaf, std::string_view a, std::string_view b,
                  Difference& difference) {
  double scale = 0, most = 0;
  bool wild = false;
  const size_t size = element_bytes(leaf.dtype);
  with_element_type(leaf.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto value = [](const char* at) { return element_value(load_element<T>(at)); };
    for (size_t i = 0; i < leaf.numel(); ++i) {
      const char *x = a.data() + i * size, *y = b.data() + i * size;
      ++difference.elements;
      const double p = value(x), q = value(y);
      if (std::isfinite(p)) scale = std::max(scale, std::abs(p));
      if (memcmp(x, y, size) == 0 || (std::isnan(p) && std::isnan(q))) continue;
      ++difference.unequal;
      if (!std::isfinite(p) || !std::isfinite(q))
        wild = true;
      else
        most = std::max(most, std::abs(p - q));
    }
  });
  if (wild) most = INFINITY;
  if (most > 0) difference.largest = std::max(difference.largest, scale > 0 ? most / scale : INFINITY);
}

// The GPU path, whose plain runs it lets the PTX interpreter make as well.
class Comparing : public Backend {
 public:
  struct Found {
    Difference difference;
    std::string freedom, faults;
    int runs = 0;
  };
  Comparing(std::unique_ptr<Backend> path, std::unique_ptr<Backend> machine)
      : path_(std::move(path)), machine_(std::move(machine)) {}
  const BackendFeatures& features() const override { return path_->features(); }

  RunResult run(const RunPlan& plan, std::stop_token stop) override {
    RunResult result = path_->run(plan, stop);
    if (result.fault || result.runs.size() < plan.runs.size() || result.runs.back().fault) return result;
    RunPlan plain{plan.trace, plan.modules, plan.test_inputs, {}};
    std::vector<size_t> numbers;
    for (size_t i = 0; i < plan.runs.size(); ++i) {
      const RunRequest& run = plan.runs[i];
      if (run.shadows || run.watch_reads || run.count || run.skip_launches) continue;
      plain.runs.push_back(run);
      numbers.push_back(i);
    }
    if (numbers.empty()) return result;
    const RunResult ours = machine_->run(plain, stop);
    Found found;
    found.freedom = freedom(plan.modules);
    for (size_t k = 0; k < numbers.size() && k < ours.runs.size(); ++k) {
      const RunOutcome &here = ours.runs[k], &there = result.runs[numbers[k]];
      ++found.runs;
      if (here.fault) found.faults += to_string(here.fault.fault_class) + " on the PTX interpreter; ";
      if (here.fault) continue;
      if (here.changed_inputs != there.changed_inputs) found.faults += "other inputs have changed; ";
      for (const auto& leaf : plan.trace->output_layout().leaves)
        compare_leaf(leaf, here.first.outputs.substr(leaf.offset_bytes, leaf.bytes),
                     there.first.outputs.substr(leaf.offset_bytes, leaf.bytes), found.difference);
    }
    const std::lock_guard lock(mutex_);
    last_by_thread_[std::this_thread::get_id()] = found;
    return result;
  }

  // Of the calling thread's last verification.
  std::optional<Found> take() {
    const std::lock_guard lock(mutex_);
    const auto at = last_by_thread_.find(std::this_thread::get_id());
    if (at == last_by_thread_.end()) return std::nullopt;
    Found found = at->second;
    last_by_thread_.erase(at);
    return found;
  }

 private:
  std::unique_ptr<Backend> path_, machine_;
  std::mutex mutex_;
  std::map<std::thread::id, Found> last_by_thread_;
};

struct Setting {
  Comparing* comparing = nullptr;
  std::unique_ptr<Pipeline> pipeline;
};

Setting make_setting(double compile_s, double record_s, uint64_t lane_operations, double run_s, int workers) {
  Setting setting;
  PipelineOptions options;
  options.python = testing::test_python();
  options.compile.cpu_s = compile_s;
  options.record.wall_s = record_s;
  options.execute.lane_operations = lane_operations;
  options.oracle.cpu_s = 3600;
  options.oracle.concurrent = std::max(options.oracle.concurrent, workers);
  options.backend = [&setting, run_s](const BackendSetting& given) -> std::unique_ptr<Backend> {
    auto path = gpu_backend({.processes = 6, .run_s = run_s}, InstrumentedRuns::kRequired)(given);
    auto comparing = std::make_unique<Comparing>(std::move(path), ptx_backend()(given));
    setting.comparing = comparing.get();
    return comparing;
  };
  setting.pipeline = std::make_unique<Pipeline>(options);
  return setting;
}

struct Seen {
  Verdict verdict;
  std::optional<Comparing::Found> found;
};

std::string ended_in(const Verdict& verdict) {
  if (!judges_program(verdict.outcome)) return to_string(verdict.outcome);
  return verdict.correct ? "correct" : verdict.fault_class;
}

// Verifies what the time allows, on as many threads as there are cores but one.
std::vector<std::optional<Seen>> verify_all(const std::vector<testing::CorpusEntry>& entries,
                                            uint64_t lane_operations, double seconds) {
  const int workers = std::max(2, static_cast<int>(std::thread::hardware_concurrency()) - 1);
  const Stopwatch clock;
  Setting patient = make_setting(600, 600, lane_operations, 10, workers);
  Setting impatient = make_setting(6, 3, uint64_t{1} << 28, 1, workers);
  std::vector<std::optional<Seen>> seen(entries.size());
  std::atomic<size_t> next = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < workers; ++i)
    threads.emplace_back([&] {
      for (size_t k; (k = next++) < entries.size();) {
        if (clock.seconds() > seconds) return;
        Setting& setting = entries[k].endless() ? impatient : patient;
        Seen one{setting.pipeline->verify(entries[k].request), std::nullopt};
        one.found = setting.comparing->take();
        seen[k] = std::move(one);
      }
    });
  threads.clear();
  return seen;
}

// How alike both paths' answers are, of all; those of right programs have to be. How many were compared.
size_t check_answers(const std::vector<testing::CorpusEntry>& entries,
                     const std::vector<std::optional<Seen>>& seen) {
  size_t done = 0, compared = 0, equal = 0, promised = 0;
  std::map<std::string, std::pair<int, double>> by_freedom;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!seen[i]) continue;
    ++done;
    const Verdict& verdict = seen[i]->verdict;
    INFO(entries[i].name << ": " << ended_in(verdict));
    if (!seen[i]->found || seen[i]->found->runs == 0) continue;
    const Comparing::Found& found = *seen[i]->found;
    ++compared;
    equal += found.difference.unequal == 0;
    promised += found.freedom.empty();
    if (found.difference.unequal > 0 || !found.faults.empty()) {
      auto& kind = by_freedom[found.freedom];
      ++kind.first;
      kind.second = std::max(kind.second, found.difference.largest);
      printf("DIFFERS %s (%s): %llu of %llu elements, by %.3g of the largest; [%s] %s\n",
             entries[i].name.c_str(), ended_in(verdict).c_str(),
             static_cast<unsigned long long>(found.difference.unequal),
             static_cast<unsigned long long>(found.difference.elements), found.difference.largest,
             found.freedom.c_str(), found.faults.c_str());
    }
    // What a wrong program answers may hang on what it should not.
    if (verdict.correct && found.freedom.empty()) CHECK(found.difference.unequal == 0);
    if (verdict.correct) CHECK(found.difference.largest <= 1e-2);
    if (verdict.correct) CHECK(found.faults.empty());
  }
  printf("%zu programs: %zu compared, %zu equal bit for bit; PTX promises it of %zu\n", done, compared, equal,
         promised);
  for (const auto& [name, kind] : by_freedom)
    printf("  %d that differ [%s], at most by %.3g\n", kind.first, name.c_str(), kind.second);
  CHECK(done > 0);
  return compared;
}

}  // namespace

TEST_CASE("the corpora have their verdicts on a GPU, and its answers are the PTX interpreter's",
          "[.][corpora_gpu]") {
  if (!testing::has_gpu()) SKIP("this machine has no GPU's driver");
  testing::box_host();
  const char* only = getenv("BICRL_CORPUS");
  const char* seconds = getenv("BICRL_CORPUS_SECONDS");
  std::vector<testing::CorpusEntry> entries;
  for (const char* folder : {"honest", "hacks", "sandbox/candidates"})
    for (auto& entry : testing::corpus(folder))
      if (!only || entry.name.find(only) != std::string::npos) entries.push_back(std::move(entry));
  // So that what time allows is a sample of all.
  if (seconds)
    std::ranges::stable_sort(entries, {}, [](const auto& e) { return std::hash<std::string>{}(e.name); });
  const auto seen = verify_all(entries, uint64_t{1} << 33, seconds ? atof(seconds) : INFINITY);
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!seen[i]) continue;
    const Verdict& verdict = seen[i]->verdict;
    INFO(entries[i].name << ": expected " << entries[i].classes << ", got " << ended_in(verdict)
                         << ", reached " << verdict.reached << ": " << verdict.diagnostics);
    CHECK(entries[i].expects(ended_in(verdict)));
    if (getenv("BICRL_PRINT_CORPUS"))
      printf("%s %s %s | %s | %.0f ms (run %.0f)\n", entries[i].expects(ended_in(verdict)) ? "ok  " : "BAD ",
             entries[i].name.c_str(), ended_in(verdict).c_str(), verdict.diagnostics.substr(0, 200).c_str(),
             verdict.total_ms, verdict.run_ms);
  }
  const size_t compared = check_answers(entries, seen);
  if (!only) CHECK(compared > 0);
}

TEST_CASE("published programs answer on a GPU as on the PTX interpreter", "[.][published_gpu]") {
  if (!testing::has_gpu()) SKIP("this machine has no GPU's driver");
  testing::box_host();
  std::vector<testing::CorpusEntry> entries;
  for (const Task& task : load_tasks(testing::published_file("infilling_tasks.json"))) {
    if (task.cuda_code.empty()) continue;
    VerificationRequest request{.request_id = task.id,
                                .task_id = task.id,
                                .pytorch_code = task.pytorch_code,
                                .program = task.cuda_code};
    request.protocol = kDefaultProtocol;
    request.protocol.tolerance = TolerancePolicy::kPublished;
    entries.push_back({task.id, "", std::move(request)});
  }
  CHECK(check_answers(entries, verify_all(entries, uint64_t{1} << 35, INFINITY)) >= 30);
}

}  // namespace bicrl
