// A process of ours in a box that holds a context on a GPU, and how it is spoken to: the loader, which runs
// candidates' kernels (runtimes/gpu/load_main.cpp), or the baseline, which times references
// (runtimes/baseline.py). It starts with the object and ends with it. Used by one thread at a time.
#pragma once
#include <atomic>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "common/error.h"
#include "sandbox/box/box.h"
#include "sandbox/box/process/descriptors.h"
#include "sandbox/box/python_install.h"

namespace bicrl {

class GpuProcess {
 public:
  // Starts at once; whatever fails shows in hello(). `host` outlives this. Without a device it says
  // {"devices"}, how many there are, and ends.
  GpuProcess(BoxHost& host, std::optional<int> device, uint64_t memory_bytes);
  // The same under one of compute-sanitizer's tools (sanitizer_report.h), for one request. finish() says
  // what the tool has written.
  GpuProcess(BoxHost& host, int device, uint64_t memory_bytes, const std::filesystem::path& sanitizer,
             const std::string& tool);
  // One of references (baseline.py, own_size.py), on "cuda:0" or the like; on "cpu" it needs no driver.
  GpuProcess(BoxHost& host, const PythonInstall& python, const std::string& script, const std::string& device,
             uint64_t memory_bytes);
  ~GpuProcess();
  GpuProcess(const GpuProcess&) = delete;
  GpuProcess& operator=(const GpuProcess&) = delete;

  // What the process says of its device, waited for at most so long; or in one line why it has none.
  Result<nlohmann::json> hello(double patience_s, const std::stop_token& stop);

  struct Reply {
    enum class Kind { kDone, kSilent, kGone, kCancelled };
    Kind kind = Kind::kGone;
    bool retire = false;  // of kDone: it has ended
  };
  // Files of ours that it may read and write for this request; `plan`: the number of the plan's.
  Reply ask(const std::vector<int>& files, size_t plan, double patience_s, const std::stop_token& stop);

  // The same where more is to be said than one answer: the first one.
  struct Said {
    Reply::Kind kind = Reply::Kind::kGone;
    nlohmann::json content;  // an object, of kDone
    std::vector<UniqueFd> fds = {};
  };
  Said request(const std::vector<int>& files, size_t plan, double patience_s, const std::stop_token& stop);
  Said tell(const nlohmann::json& asked, double patience_s, const std::stop_token& stop);
  bool post(const nlohmann::json& asked,
            const std::vector<int>& fds = {});  // and listen() later; false if it is gone
  Said listen(double patience_s, const std::stop_token& stop);
  // Asks for nothing more, and waits until it has ended by itself or this takes too long: what it has left in
  // the box's file for reports.
  std::string finish(double patience_s, const std::stop_token& stop);
  // Ends it. How it ended, in one line.
  std::string end();

 private:
  enum class Wait { kReadable, kSilent, kGone, kCancelled };
  Wait wait(double patience_s, const std::stop_token& stop) const;
  // `library`: the driver's; empty: there is none, and so no process.
  void start_on_gpu(BoxHost& host, const std::filesystem::path& library, BoxSpec spec);
  void start(BoxHost& host, BoxSpec spec);
  void run(BoxHost& host, BoxSpec spec, UniqueFd theirs);
  UniqueFd channel_;
  std::optional<Result<nlohmann::json>> hello_;
  BoxResult result_;
  std::atomic<bool> ended_ = false;
  std::stop_source stop_;
  std::thread box_;
};

}  // namespace bicrl
