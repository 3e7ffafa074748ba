// Two backends as one: plain runs go to a device, instrumented ones to the PTX interpreter. The interpreter
// goes first, so a program in which it finds a fault never reaches the device. Thread-safe if both are.
#pragma once
#include <memory>

#include "sandbox/verifier/backend.h"

namespace bicrl {

// What becomes of runs that are more work than the interpreter's limit.
enum class InstrumentedRuns {
  kRequired,      // the program fails, as it would without a device
  kWherePossible  // they are made on the device, and the result's note says what is not known. Runs that
                  // count fail all the same: without counters they would be of no use
};

class RoutedBackend : public Backend {
 public:
  // `interpreter` can do whatever a request may ask for.
  RoutedBackend(std::unique_ptr<Backend> device, std::unique_ptr<Backend> interpreter,
                InstrumentedRuns instrumented);
  const BackendFeatures& features() const override { return features_; }
  RunResult run(const RunPlan& plan, std::stop_token stop) override;
  SampleResult sample_blocks(const SamplePlan& plan, std::stop_token stop) override;
  RunResult check_launches(const Trace& trace, const std::vector<DeviceModule>& modules,
                           std::stop_token stop) override;
  TimingResult time(const TimingPlan& plan, std::stop_token stop) override {
    return device_->time(plan, stop);
  }
  OwnSizeResult judge_own_size(const OwnSizePlan& plan, std::stop_token stop) override {
    return device_->judge_own_size(plan, stop);
  }
  SanitizerReport sanitize(const RunPlan& plan, const std::vector<std::string>& tools,
                           std::stop_token stop) override {
    return device_->sanitize(plan, tools, stop);
  }
  std::vector<BackendDevice> devices() const override { return device_->devices(); }

 private:
  bool device_can(const RunRequest& run) const;
  std::unique_ptr<Backend> device_, interpreter_;
  InstrumentedRuns instrumented_;
  BackendFeatures features_;
};

}  // namespace bicrl
