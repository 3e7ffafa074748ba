// The sides of a window on a GPU, a process of the loader and one of the references, and what its pairs come
// to. Internal to gpu_*.cpp.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "sandbox/gpu/baseline.h"
#include "sandbox/gpu/gpu_process.h"
#include "sandbox/gpu/job_files.h"
#include "sandbox/gpu/timing/window.h"
#include "sandbox/verifier/backend.h"

namespace bicrl {

inline constexpr double kWindowRest_s = 1;  // after the first that was of no use; longer after the next
inline constexpr uint64_t kLeastFlushBytes = 32 << 20;

// A window's side in a process of the loader.
class LoaderParty : public timing::TimedParty {
 public:
  LoaderParty(GpuProcess& process, double patience_s, std::stop_token stop)
      : process_(process), patience_s_(patience_s), stop_(std::move(stop)) {}

  // `control`: the file of the plan's that says why nothing was opened.
  Fault open(const JobFiles& files, size_t plan, size_t control);
  Fault prepare(size_t test_input) override;
  Fault await_ready() override;
  Fault time(timing::TimedCall& call) override;
  Fault close();

  const std::string& untimed() const { return untimed_; }
  bool has_graph() const { return has_graph_; }
  double launch_ms() const { return launch_ms_; }
  bool reusable() const { return reusable_; }  // the process, after its end
  bool is_silent() const { return silent_; }
  bool by_stream = false;

 protected:
  Fault tell(const nlohmann::json& asked, GpuProcess::Said& answer);
  Fault read(const GpuProcess::Said& answer);
  // Of what was said when the clock was ready.
  void take_clock(const nlohmann::json& said);
  void untimed_because(const std::string& reason) { untimed_ = reason; }
  // Sends a request; an answer that opens nothing is a step that failed.
  Fault request(const JobFiles& files, size_t plan, size_t control, GpuProcess::Said& answer);
  void set_open() { open_ = true; }

 private:
  Fault end(const GpuProcess::Said& answer);
  GpuProcess& process_;
  const double patience_s_;
  const std::stop_token stop_;
  std::string untimed_;
  bool open_ = false, has_graph_ = false, silent_ = false;
  bool reusable_ = true;  // nothing has run in it
  double launch_ms_ = 0;
};

// One way to run the reference. All ways share their inputs, which the first one asks for.
class ReferenceParty : public timing::TimedParty {
 public:
  ReferenceParty(Baseline::Session& session, std::string side, bool is_first, bool by_stream)
      : session_(session), side_(std::move(side)), is_first_(is_first), by_stream_(by_stream) {}
  Fault prepare(size_t test_input) override { return is_first_ ? session_.prepare(test_input) : Fault{}; }
  Fault await_ready() override { return is_first_ ? session_.await_ready() : Fault{}; }
  Fault time(timing::TimedCall& call) override { return session_.time(side_, by_stream_, call); }

 private:
  Baseline::Session& session_;
  const std::string side_;
  const bool is_first_, by_stream_;
};

nlohmann::json describe_leaves(const InputLayout& layout);
void wait_for(double seconds, const std::stop_token& stop);
double in_tenths(double value);

// What a window's times are read with.
struct WindowBasis {
  bool by_stream = false;
  double launch_ms = 0;  // of nothing
  double floor_ms = 0;   // that the device's memory takes at least
  nlohmann::json stages_ms = {};
};
void summarise(const timing::WindowResult& window, const WindowBasis& basis, TimingResult& result);

}  // namespace bicrl
