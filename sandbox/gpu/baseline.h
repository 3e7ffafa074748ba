// The references' side of windows on a GPU: a process in a box of its own that runs tasks' modules in PyTorch
// and times them (runtimes/baseline.py). It starts once and stays, with the task that it had last; one that
// is lost is replaced. No candidate code runs in it, and it sees no candidate's answers. Thread-safe: one
// session at a time.
#pragma once
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "sandbox/gpu/gpu_process.h"
#include "sandbox/gpu/timing/window.h"

namespace bicrl {

struct BaselineOptions {
  std::string device = "";              // as PyTorch names it; empty: whoever asks for it has one
  uint64_t memory_bytes = 32ull << 30;  // of the host
  std::string script = "baseline.py";   // or "own_size.py", which compares programs besides
};

class Baseline {
 public:
  // Starts the process; `host` and `python` outlive this.
  Baseline(BoxHost& host, const PythonInstall& python, const BaselineOptions& options);
  size_t waiting() const;  // sessions that do not hold the process yet

  // A task's module, to be timed. Holds the process from its construction on, which waits for it. `task`: a
  // name of the task. Sessions of the task that the process had last come first, kMostInARow at most, as
  // another one would have to be made ready: else they come in their order.
  class Session {
   public:
    Session(Baseline& owner, std::stop_token stop, std::string task = "");
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    // What the process says of itself, {"architecture", "device", "torch"}; or in one line why it is of no
    // use. Another one then takes its place.
    Result<nlohmann::json> hello();
    // `files` and `plan` as of GpuProcess::request().
    Fault open(const std::vector<int>& files, size_t plan, double patience_s);
    const std::string& untimed() const { return untimed_; }   // why the module cannot be timed; else empty
    bool has_graph() const { return has_graph_; }             // all sides can be replayed from graphs
    const nlohmann::json& opened() const { return opened_; }  // what was said then,
    const std::vector<UniqueFd>& shared() const { return fds_; }  // with these descriptors
    // What only one of the scripts knows.
    Fault ask(const nlohmann::json& asked, nlohmann::json& said, const std::vector<int>& fds = {});
    Fault prepare(size_t test_input);  // begins with it
    Fault await_ready();
    // `side`: "eager" or "compile".
    Fault time(const std::string& side, bool by_stream, timing::TimedCall& call);

   private:
    Fault tell(const nlohmann::json& asked, nlohmann::json& said);
    Fault read(const GpuProcess::Said& answer, nlohmann::json& said);
    Baseline& owner_;
    const std::stop_token stop_;
    std::string untimed_;
    nlohmann::json opened_;
    std::vector<UniqueFd> fds_;
    bool holds_ = false, open_ = false, has_graph_ = false;
    bool preparing_ = false;
    bool lost_ = false;  // the process is gone, or nobody knows what it would say next
  };

 private:
  static constexpr int kMostInARow = 16;
  using Queue = std::list<std::string>;  // tasks of those who wait, in the order in which they came
  Queue::const_iterator next_in_queue() const;
  std::unique_ptr<GpuProcess> start() const;
  std::unique_ptr<GpuProcess> replace() noexcept;
  BoxHost& host_;
  const PythonInstall& python_;
  const BaselineOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  bool in_use_ = false;
  Queue queue_;
  std::string last_task_;
  int in_a_row_ = 0;  // sessions of that task
  std::unique_ptr<GpuProcess> process_;
};

}  // namespace bicrl
