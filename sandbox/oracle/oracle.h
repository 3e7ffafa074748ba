// Oracle of expected outputs: a reference's answers on secret inputs, computed once per task in boxes of
// their own, kept in a bounded cache. Inputs and expected outputs stay in this process and the executor's
// box; a box that runs candidate code sees neither.
#pragma once
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "common/lru_cache.h"
#include "common/single_flight.h"
#include "sandbox/box/zygote.h"
#include "sandbox/cost/operator_cost.h"
#include "sandbox/oracle/oracle_failure.h"
#include "sandbox/oracle/reduced_sizes.h"
#include "sandbox/recorder/trace/trace.h"
#include "sandbox/verifier/judge.h"

namespace bicrl {

struct OracleOptions {
  int pool_inputs = 8;                       // made once per task; each verification uses some, in rotation
  uint64_t max_input_bytes = 512ull << 20;   // of one test input
  uint64_t max_output_bytes = 128ull << 20;  // of one test input
  uint64_t pool_bytes = 192ull << 20;  // of one task; only test inputs that a verification needs go beyond
  uint64_t most_lane_operations = uint64_t{1} << 35;  // of a run of a candidate, as the executor counts them
  uint64_t cache_bytes = 1536ull << 20;
  uint64_t memory_bytes = 6ull << 30;  // of a reference's box
  int cpu_s = 120;                     // of a reference with all its test inputs
  bool tf32 = false;                   // allowances for products in TF32 as well
  int concurrent = 2;                  // references that run at a time
};

inline constexpr int kInputKinds = 4;
inline constexpr uint64_t kMostCostingRepeats = 65536;
// On which inputs a reference is run: those of get_inputs(), of all kinds, large ones only if an
// ordinary program's work fits the limit, or whatever that is (kOwn); those of a text that is a variant of a
// task's, of which no more test inputs are made than are asked for; or the larger ones of
// get_costing_inputs(), where a task defines them: of kind "plain", and of one kind besides.
enum class TaskSize { kGiven, kOwn, kReduced, kCosted };
constexpr int input_kinds(TaskSize size) { return size == TaskSize::kCosted ? 2 : kInputKinds; }

struct TestInput {
  std::string kind;                    // "plain", "shifted", "sparse" or "structured"
  std::vector<std::string> inputs;     // leaves, storage bytes
  std::vector<ExpectedLeaf> expected;  // leaves
  uint64_t bytes() const;
};

struct OracleSpec {
  nlohmann::json inputs;  // array of specs
  InputLayout layout;
  int64_t init_seed = 0;                    // of the parameters, which are not secret
  nlohmann::json arguments;                 // of the constructor, as sandbox/runtimes/arguments.py packs them
  std::vector<std::string> argument_bytes;  // of their tensors
  nlohmann::json parameters;  // those drawn beside what the constructor makes; for the record box
  bool has_costing_inputs = false;
  uint64_t costing_repeats = 1;   // how many times those inputs are taken for modelled times
  bool is_recorded_only = false;  // nothing runs at this size: forward is called as often as it must be
  bool ignores_mode = false;      // the reference is the same function in training mode and out of it
};

// What is wrong with a task. Those with answers can be graded, and a program's success says little.
struct InvalidTask {
  // "saturated", "fragile", "blind", "trivial" (with answers), "raises", "missing", "unsupported_type",
  // "not_finite", "random", "data_dependent", "too_large", "timeout", "crash" (without)
  std::string kind;
  std::string message;
  // A program that computes nothing is correct on every test input, so that a success says nothing.
  bool is_vacuous = false;
};

struct OracleAnswers {
  nlohmann::json returned;             // spec of the reference's answer
  std::vector<TestInput> test_inputs;  // any input_kinds() in a row, cyclically, hold each kind
  // Of each output leaf: the reference computes nothing there (the same on all test inputs, or an input).
  std::vector<bool> trivial_outputs;
  std::vector<bool> written_inputs;  // of each input leaf: the reference itself writes to it
  std::vector<bool> long_inputs;  // of each input leaf: few long slices, of which test inputs show few places
  std::vector<InvalidTask> faults;
  ReferenceLaunches reference;               // what a device would do for it
  double eager_ms = 0, eager_spread_ms = 0;  // median and interquartile range
};

// Smaller sizes of a task, or why there are none.
struct FoundSizes {
  std::shared_ptr<const ReducedSizes> sizes;
  OracleFailure failure;
};

// A task's answers as they become known. Thread-safe.
class OracleTask {
 public:
  // Blocks until known. Null: see failure().
  std::shared_ptr<const OracleSpec> spec(std::stop_token stop = {});
  std::shared_ptr<const OracleAnswers> answers(std::stop_token stop = {});
  OracleFailure failure() const;
  // Indices of the test inputs of the next verification, in rotation and in a row (cyclically); of as many
  // trials as there are kinds each has another kind. Answers are known.
  std::vector<size_t> choose(int trials);

 private:
  friend class Oracle;
  void fail(OracleFailure failure);
  bool is_known() const;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::shared_ptr<const OracleSpec> spec_;
  std::shared_ptr<const OracleAnswers> answers_;
  std::optional<OracleFailure> failure_;
  size_t rotation_ = 0;
  std::stop_source stop_;
  // Guarded by the oracle's mutex.
  uint64_t bytes_ = 0;
  int users_ = 0;
};

// Thread-safe. Outlives whatever it handed out.
class Oracle {
 public:
  Oracle(BoxHost& host, const PythonInstall& python, const OracleOptions& options);
  ~Oracle();
  // Starts the reference unless the task is known. Whoever lets go of what this returns when its `user` was
  // stopped, and nobody else holds it, ends a reference that is still at work.
  std::shared_ptr<OracleTask> open(const std::string& pytorch_code, int least_inputs,
                                   TaskSize size = TaskSize::kGiven, std::stop_token user = {});
  // A run of its own that nobody else gets: test inputs that did not exist before, a kind each, of the model
  // that another run of the task made from `init_seed`.
  std::shared_ptr<OracleTask> open_fresh(const std::string& pytorch_code, int64_t init_seed, TaskSize size,
                                         std::stop_token user = {});
  // The next open() runs the reference again, unless another one has done so since: for tasks that failed by
  // infrastructure.
  void forget(const OracleTask& failed);
  // Whether the reference would clearly answer otherwise on that test input if what is unread stood out from
  // the rest: then whoever has not read it is wrong. Fails by infrastructure alone. Blocks.
  Result<bool> decides(const std::string& pytorch_code, const OracleSpec& spec, const TestInput& test_input,
                       const std::vector<InputBytes>& unread, std::stop_token stop);
  // Smaller sizes of a task: made of `by_hand` (VerificationRequest::reduced_sizes), or found. They are kept,
  // and the same for all who ask. Blocks.
  FoundSizes reduced_sizes(const std::string& pytorch_code, const std::string& by_hand,
                           std::stop_token stop = {});
  uint64_t cached_bytes() const;
  const Zygote& zygote() const { return zygote_; }

 private:
  struct Entry {
    std::shared_ptr<OracleTask> task;
    int least_inputs = 0;
    std::list<std::string>::iterator age;
  };
  struct Job {
    std::shared_ptr<OracleTask> task;
    std::string code;
    int least_inputs = 0;
    TaskSize size = TaskSize::kGiven;
    std::optional<int64_t> init_seed = {};  // of a fresh run; else a new one
  };
  class Use;
  std::shared_ptr<OracleTask> hand_out(const std::shared_ptr<OracleTask>& task, std::stop_token user);
  void let_go(const std::shared_ptr<OracleTask>& task, bool stopped);
  ChildLimits limits() const;
  FoundSizes find_sizes(const std::string& pytorch_code, const std::string& by_hand, std::stop_token stop);
  void load(const Job& job, std::stop_token server_stop);
  void drop(std::unordered_map<std::string, Entry>::iterator entry);
  void converse(OracleTask& task, ZygoteChild& child, const nlohmann::json& request, size_t kinds,
                std::stop_token stop);
  void account(const std::shared_ptr<OracleTask>& task, uint64_t bytes);
  void worker(std::stop_token stop);

  OracleOptions options_;
  Zygote zygote_;
  mutable std::mutex mutex_;
  std::condition_variable_any work_;
  std::list<Job> jobs_;
  std::unordered_map<std::string, Entry> entries_;  // by hash of the task's code and size
  std::list<std::string> ages_;                     // most recently used first
  uint64_t cached_bytes_ = 0;
  SingleFlight sizes_flights_;
  LruCache<FoundSizes> sizes_{64u << 20};
  std::vector<std::jthread> workers_;
};

}  // namespace bicrl
