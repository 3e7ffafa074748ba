#include "tests/sandbox/verifier/own_size_backend.h"

namespace bicrl::testing {
namespace {

class OwnSizes : public Backend {
 public:
  OwnSizes(std::unique_ptr<Backend> machine, MadeUpJudge judge)
      : machine_(std::move(machine)), judge_(std::move(judge)), features_(machine_->features()) {
    features_.judges_own_sizes = true;
  }
  const BackendFeatures& features() const override { return features_; }
  RunResult run(const RunPlan& plan, std::stop_token stop) override { return machine_->run(plan, stop); }
  RunResult check_launches(const Trace& trace, const std::vector<DeviceModule>& modules,
                           std::stop_token stop) override {
    return machine_->check_launches(trace, modules, stop);
  }
  SampleResult sample_blocks(const SamplePlan& plan, std::stop_token stop) override {
    return machine_->sample_blocks(plan, stop);
  }
  TimingResult time(const TimingPlan& plan, std::stop_token stop) override {
    return machine_->time(plan, stop);
  }
  OwnSizeResult judge_own_size(const OwnSizePlan& plan, std::stop_token) override { return judge_(plan); }

 private:
  const std::unique_ptr<Backend> machine_;
  const MadeUpJudge judge_;
  BackendFeatures features_;
};

}  // namespace

std::unique_ptr<Backend> judging_own_sizes(std::unique_ptr<Backend> machine, MadeUpJudge judge) {
  return std::make_unique<OwnSizes>(std::move(machine), std::move(judge));
}

}  // namespace bicrl::testing
