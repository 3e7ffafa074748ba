#include "tests/sandbox/verifier/clocked_backend.h"

#include <atomic>

namespace bicrl::testing {
namespace {

class Clocked : public Backend {
 public:
  Clocked(std::unique_ptr<Backend> machine, MadeUpTimes times)
      : machine_(std::move(machine)), times_(std::move(times)), features_(machine_->features()) {
    features_.clock_device = "a made-up device, windows 1";
  }
  const BackendFeatures& features() const override { return features_; }
  RunResult run(const RunPlan& plan, std::stop_token stop) override { return machine_->run(plan, stop); }

  TimingResult time(const TimingPlan& plan, std::stop_token stop) override {
    RunPlan runs{plan.trace, plan.modules, plan.test_inputs, {}};
    // Of test inputs whose keys are not told apart, the machine would take the first for all.
    for (size_t i = 0; i < runs.test_inputs.size(); ++i) {
      runs.test_inputs[i].key = concat("timed ", windows_, " ", i);
      runs.runs.push_back({.test_input = static_cast<uint32_t>(i), .repeat_inputs = {}, .seed = i + 1});
    }
    ++windows_;
    const RunResult ran = machine_->run(runs, stop);
    TimingResult result;
    for (size_t i = 0; i < ran.runs.size() && !result.end; ++i)
      result.end = plan.check(i, ran.runs[i].first.outputs);
    if (!result.end) times_(plan, result);
    return result;
  }

 private:
  std::unique_ptr<Backend> machine_;
  const MadeUpTimes times_;
  BackendFeatures features_;
  std::atomic<int> windows_ = 0;
};

}  // namespace

std::unique_ptr<Backend> clocked(std::unique_ptr<Backend> machine, MadeUpTimes times) {
  return std::make_unique<Clocked>(std::move(machine), std::move(times));
}

}  // namespace bicrl::testing
