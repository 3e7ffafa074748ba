// A share of right programs goes through compute-sanitizer: which, and what becomes of what it says; and on
// machines with a GPU, what its tools say of the corpora beside the PTX interpreter.
#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "common/clock.h"
#include "tests/sandbox/gpu/gpu_programs.h"
#include "tests/sandbox/service/service_support.h"
#include "tests/sandbox/verifier/corpus.h"

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;

// The PTX interpreter with tools whose reports the test sets.
class Sanitizing : public Backend {
 public:
  Sanitizing(std::unique_ptr<Backend> machine, SanitizerReport& says, std::atomic<int>& asked)
      : machine_(std::move(machine)), says_(says), asked_(asked), features_(machine_->features()) {
    features_.sanitizes = true;
  }
  const BackendFeatures& features() const override { return features_; }
  RunResult run(const RunPlan& plan, std::stop_token stop) override { return machine_->run(plan, stop); }
  SanitizerReport sanitize(const RunPlan&, const std::vector<std::string>& tools, std::stop_token) override {
    CHECK(tools == testing::all_tools());
    ++asked_;
    return says_;
  }

 private:
  std::unique_ptr<Backend> machine_;
  SanitizerReport& says_;
  std::atomic<int>& asked_;
  BackendFeatures features_;
};

struct Share {
  SanitizerReport says;
  std::atomic<int> asked = 0;
  std::unique_ptr<Pipeline> pipeline;

  explicit Share(double share) {
    testing::box_host();
    PipelineOptions options;
    options.python = testing::test_python();
    options.oracle.cpu_s = 3600;
    options.sanitizer_share = share;
    options.backend = [this](const BackendSetting& setting) {
      return std::make_unique<Sanitizing>(ptx_backend()(setting), says, asked);
    };
    pipeline = std::make_unique<Pipeline>(options);
  }
};

// What the tools say of each program that comes to be run, right or wrong, before its verdict. A backend has
// one program under them at a time, so there are several.
class Watching : public Backend {
 public:
  explicit Watching(std::vector<std::unique_ptr<Backend>> paths) : paths_(std::move(paths)) {
    for (auto& path : paths_) idle_.push_back(path.get());
  }
  const BackendFeatures& features() const override { return paths_.front()->features(); }
  RunResult run(const RunPlan& plan, std::stop_token stop) override {
    Backend* path = nullptr;
    {
      std::unique_lock lock(mutex_);
      freed_.wait(lock, [this] { return !idle_.empty(); });
      path = idle_.back();
      idle_.pop_back();
    }
    SanitizerReport said = path->sanitize(plan, testing::all_tools(), stop);
    {
      const std::lock_guard lock(mutex_);
      said_[std::this_thread::get_id()] = std::move(said);
      idle_.push_back(path);
    }
    freed_.notify_one();
    return path->run(plan, stop);
  }
  // Of the calling thread's last verification.
  std::optional<SanitizerReport> take() {
    const std::lock_guard lock(mutex_);
    auto node = said_.extract(std::this_thread::get_id());
    if (node.empty()) return std::nullopt;
    return std::move(node.mapped());
  }

 private:
  std::vector<std::unique_ptr<Backend>> paths_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<Backend*> idle_;
  std::map<std::thread::id, SanitizerReport> said_;
};

std::string ending_of(const Verdict& verdict) { return verdict.correct ? "correct" : verdict.fault_class; }

std::string tools_in(const SanitizerReport& said) {
  std::set<std::string> tools;
  for (const SanitizerFinding& found : said.findings) tools.insert(found.tool);
  std::string text;
  for (const std::string& tool : tools) text += concat(text.empty() ? "" : "+", tool);
  return text.empty() ? "nothing" : text;
}

}  // namespace

TEST_CASE("findings of compute-sanitizer in a correct program are reported and leave it correct") {
  const testing::CorpusEntry right = testing::corpus_entry("honest", "softmax_block");
  Share all(1);
  all.says.findings = {{"racecheck", "Error: Race reported between Write access", "softmax", 2}};
  const Verdict verdict = all.pipeline->verify(right.request);
  CHECK(verdict.correct);
  CHECK_THAT(verdict.diagnostics, ContainsSubstring("compute-sanitizer finds racecheck: Error: Race reported "
                                                    "between Write access in softmax (2 reports)"));
  all.says = {};
  CHECK_THAT(all.pipeline->verify(right.request).diagnostics,
             ContainsSubstring("compute-sanitizer finds nothing"));
  // A tool that fails is no program's fault.
  all.says.problem = "compute-sanitizer memcheck: Error: Device not supported";
  const Verdict untouched = all.pipeline->verify(right.request);
  CHECK(untouched.correct);
  CHECK(untouched.diagnostics.find("compute-sanitizer") == std::string::npos);
  CHECK(all.asked == 3);
  // A wrong program has its verdict.
  CHECK(!all.pipeline->verify(testing::corpus_entry("hacks", "attention_unscaled").request).correct);
  CHECK(all.asked == 3);
}

TEST_CASE("the share of programs is the same everywhere, and of the size that was asked for") {
  const testing::CorpusEntry right = testing::corpus_entry("honest", "add_relu_pybind");
  Share first(0.5), second(0.5), none(0);
  int asked = 0;
  for (int i = 0; i < 12; ++i) {
    VerificationRequest request = right.request;
    request.program += concat("\n# ", i, "\n");
    const int before = first.asked;
    CHECK(first.pipeline->verify(request).correct);
    CHECK(second.pipeline->verify(request).correct);
    CHECK(first.asked == second.asked);
    asked += first.asked - before;
  }
  CHECK(asked > 1);
  CHECK(asked < 11);
  CHECK(none.pipeline->verify(right.request).correct);
  CHECK(none.asked == 0);
}

TEST_CASE("a server that is to sanitize programs and cannot says so at its start") {
  testing::box_host();
  PipelineOptions options;
  options.python = testing::test_python();
  options.sanitizer_share = 0.1;
  CHECK_THROWS_WITH(Pipeline(options), ContainsSubstring("gpu.sanitizer.share=0"));
}

// Programs that run: faults that the PTX interpreter finds, and a sample of honest ones. A table of what both
// say. BICRL_CORPUS takes programs whose names hold it, or one of its words between commas.
TEST_CASE("compute-sanitizer and the PTX interpreter on the corpora", "[.][sanitizer_gpu]") {
  if (!testing::has_gpu()) SKIP("this machine has no GPU's driver");
  testing::box_host();
  if (find_sanitizer().empty()) SKIP(no_sanitizer());
  const char* only = getenv("BICRL_CORPUS");
  const char* seconds = getenv("BICRL_CORPUS_SECONDS");
  const int workers = std::max(2, static_cast<int>(std::thread::hardware_concurrency()) - 1);
  std::vector<testing::CorpusEntry> entries;
  for (auto& entry : testing::corpus("hacks"))
    for (const char* fault : {"race", "illegal_access", "uninitialised", "barrier"})
      if (entry.expects(fault)) {
        entries.push_back(std::move(entry));
        break;
      }
  // Kernels without end hold a place for minutes, so that others go first.
  std::ranges::stable_partition(entries, [](const auto& e) { return !e.endless(); });
  const size_t faulty = entries.size();
  for (auto& entry : testing::corpus("honest")) entries.push_back(std::move(entry));
  // So that what time allows has all faults, and a sample of honest ones.
  if (seconds)
    std::ranges::stable_sort(entries.begin() + static_cast<std::ptrdiff_t>(faulty), entries.end(), {},
                             [](const auto& e) { return std::hash<std::string>{}(e.name); });
  if (only) {
    std::vector<std::string> words;
    std::istringstream text(only);
    for (std::string word; std::getline(text, word, ',');) words.push_back(word);
    std::erase_if(entries, [&](const auto& e) {
      return std::ranges::none_of(
          words, [&](const std::string& word) { return e.name.find(word) != std::string::npos; });
    });
  }
  Watching* watching = nullptr;
  PipelineOptions options;
  options.python = testing::test_python();
  options.oracle.cpu_s = 3600;
  options.oracle.concurrent = std::max(options.oracle.concurrent, workers);
  options.backend = [&](const BackendSetting& given) -> std::unique_ptr<Backend> {
    std::vector<std::unique_ptr<Backend>> paths;
    for (int i = 0; i < std::max(1, workers / 2); ++i)
      paths.push_back(
          gpu_backend({.processes = 1, .run_s = 5, .sanitizer_s = 20}, InstrumentedRuns::kRequired)(given));
    auto one = std::make_unique<Watching>(std::move(paths));
    watching = one.get();
    return one;
  };
  Pipeline pipeline(options);
  struct Seen {
    Verdict verdict;
    std::optional<SanitizerReport> said;
  };
  std::vector<std::optional<Seen>> seen(entries.size());
  std::atomic<size_t> next = 0;
  const Stopwatch clock;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < workers; ++i)
      threads.emplace_back([&] {
        for (size_t k; (k = next++) < entries.size();) {
          if (seconds && clock.seconds() > atof(seconds)) return;
          const Stopwatch its;
          Seen one{pipeline.verify(entries[k].request), std::nullopt};
          one.said = watching->take();
          // At once, as an end from outside is to leave what was found so far.
          if (one.said) {
            printf("%s | %s | %s | %.0f s | %.120s | %.1000s\n", entries[k].name.c_str(),
                   ending_of(one.verdict).c_str(), tools_in(*one.said).c_str(), its.seconds(),
                   one.said->problem.c_str(), sanitizer_text(one.said->findings).c_str());
            fflush(stdout);
          }
          seen[k] = std::move(one);
        }
      });
  }
  std::map<std::pair<std::string, std::string>, int> table;
  int looked_at = 0, problems = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!seen[i] || !seen[i]->said) continue;
    const Verdict& verdict = seen[i]->verdict;
    const SanitizerReport& said = *seen[i]->said;
    ++looked_at;
    problems += !said.problem.empty();
    ++table[{ending_of(verdict), tools_in(said)}];
  }
  for (const auto& [key, count] : table)
    printf("TABLE %-16s %-32s %d\n", key.first.c_str(), key.second.c_str(), count);
  printf("%d programs in %.1f s, %d not seen to the end by every tool\n", looked_at, clock.seconds(),
         problems);
  CHECK(looked_at > 0);
}

}  // namespace bicrl
