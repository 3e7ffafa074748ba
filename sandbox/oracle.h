// What a task's reference answers on secret inputs: computed once per task in boxes of their own, kept in a
// bounded cache. Inputs and expected outputs stay in this process; a box that runs candidate code sees at
// most the inputs of the draws it is replayed on.
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

#include "sandbox/box/zygote.h"
#include "sandbox/trace.h"

namespace bicrl {

struct OracleOptions {
  int pool_draws = 5;                       // drawn once per task; each verification uses some, in rotation
  uint64_t max_input_bytes = 512ull << 20;  // of one draw
  uint64_t pool_bytes = 192ull << 20;       // of one task; only draws that a verification needs go beyond
  uint64_t cache_bytes = 1536ull << 20;
  uint64_t memory_bytes = 6ull << 30;  // of a reference's box
  double wall_s = 120;
  bool shifted_draws = false;
  int concurrent = 2;  // references that run at a time
};

struct OracleDraw {
  std::string family;                 // "published" or "shifted"
  std::vector<std::string> inputs;    // leaves, storage bytes
  std::vector<std::string> expected;  // leaves, contiguous
  // Largest error of the fp32 reference against fp64, as a share of 1e-2 + 1e-2 |y|; nothing if there is
  // no fp64.
  std::optional<double> reference_error;
  uint64_t bytes() const;
};

struct OracleSpec {
  nlohmann::json inputs;  // array of specs
  InputLayout layout;
  int64_t init_seed = 0;         // of the parameters, which are not secret
  uint64_t too_large_bytes = 0;  // of one draw if over the limit: there are no draws then
};

struct OracleAnswers {
  nlohmann::json returned;  // spec of the reference's answer
  std::vector<OracleDraw> draws;
  double eager_ms = 0, eager_spread_ms = 0;  // median and interquartile range
};

// Why there is no answer. `task_fault`: the task itself is at fault and asking again will not help.
struct OracleFailure {
  bool task_fault = false;
  std::string reason;
};

// A task's answers as they become known. Thread-safe.
class OracleTask {
 public:
  // Blocks until known. Null: see failure().
  std::shared_ptr<const OracleSpec> spec(std::stop_token stop = {});
  std::shared_ptr<const OracleAnswers> answers(std::stop_token stop = {});
  OracleFailure failure() const;
  // Where in the pool a verification starts.
  size_t next_rotation();

 private:
  friend class Oracle;
  void fail(bool task_fault, const std::string& reason);
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::shared_ptr<const OracleSpec> spec_;
  std::shared_ptr<const OracleAnswers> answers_;
  std::optional<OracleFailure> failure_;
  size_t rotation_ = 0;
  uint64_t bytes_ = 0;  // guarded by the oracle's mutex
};

// Thread-safe. Outlives the tasks it handed out.
class Oracle {
 public:
  Oracle(BoxHost& host, const PythonInstall& python, const OracleOptions& options);
  ~Oracle();
  // Starts the reference unless the task is known.
  std::shared_ptr<OracleTask> open(const std::string& pytorch_code, int least_draws);
  // The next open() runs the reference again: for tasks that failed by infrastructure.
  void forget(const std::string& pytorch_code);
  uint64_t cached_bytes() const;
  const Zygote& zygote() const { return zygote_; }

 private:
  struct Entry {
    std::shared_ptr<OracleTask> task;
    int least_draws = 0;
    std::list<std::string>::iterator age;
  };
  void drop(std::unordered_map<std::string, Entry>::iterator entry);
  void load(const std::shared_ptr<OracleTask>& task, const std::string& code, int least_draws,
            std::stop_token stop);
  void converse(OracleTask& task, ZygoteChild& child, const std::string& code, int least_draws,
                std::stop_token stop);
  void account(const std::shared_ptr<OracleTask>& task, uint64_t bytes);
  void worker(std::stop_token stop);

  OracleOptions options_;
  Zygote zygote_;
  mutable std::mutex mutex_;
  std::condition_variable_any work_;
  struct Job {
    std::shared_ptr<OracleTask> task;
    std::string code;
    int least_draws = 0;
  };
  std::list<Job> jobs_;
  std::unordered_map<std::string, Entry> entries_;  // by hash of the task's code
  std::list<std::string> ages_;                     // most recently used first
  uint64_t cached_bytes_ = 0;
  std::vector<std::jthread> workers_;
};

}  // namespace bicrl
