// Step `fit_to_time`: enlarges tasks until eager PyTorch takes a given time, and drops those that cannot be.
//   least_ms, most_ms; most_gib: of inputs, outputs and parameters
//   clock: model (of a device: bandwidth_gb_s, tflops, launch_us) | measured (the box's own processor)
#include "curation/code/question_step.h"

namespace bicrl::curation {
namespace {

using Json = nlohmann::ordered_json;

class FitToTime : public QuestionStep {
 public:
  FitToTime(const ConfigSection& p, const StepEnvironment& environment) : QuestionStep(environment) {
    least_ms_ = p.real("least_ms", 1, 0, 1e9);
    most_ms_ = p.real("most_ms", 100, 0, 1e9);
    if (most_ms_ <= least_ms_) p.reject("most_ms", "is above least_ms");
    most_gib_ = p.real("most_gib", 16, 1e-6, 1e6);
    if (p.choice("clock", "model", {"model", "measured"}) == "measured") {
      for (const char* key : {"bandwidth_gb_s", "tflops", "launch_us"})
        p.refuse_without_effect(key, "with 'clock: measured'");
      clock_ = {{"kind", "measured"}};
    } else {  // an H100's memory, its fp32 cores, and a launch from PyTorch
      clock_ = {{"kind", "model"},
                {"bandwidth_gb_s", p.real("bandwidth_gb_s", 3350, 1e-3, 1e9)},
                {"tflops", p.real("tflops", 67, 1e-6, 1e9)},
                {"launch_us", p.real("launch_us", 4, 0, 1e6)}};
    }
  }

  Json card() const override { return {{"clock", clock_}, {"enlarged", enlarged_}}; }

 protected:
  nlohmann::json request_for(const Record&) const override {
    return {{"kind", "time"},
            {"least_ms", least_ms_},
            {"most_ms", most_ms_},
            {"clock", clock_},
            {"most_bytes", static_cast<int64_t>(most_gib_ * 1073741824.0)}};
  }
  Decision decide(Record record, const nlohmann::json& answer) override {
    if (answer.contains("unfit"))
      return {
          {}, answer.at("unfit").get<std::string>(), concat(answer.at("milliseconds").get<double>(), " ms")};
    const std::string code = answer.at("code").get<std::string>();
    if (code != record.pytorch_code) {
      ++enlarged_;
      record.change_code(code);
    }
    record.figures["eager_ms"] = answer.at("milliseconds").get<double>();
    return {{std::move(record)}};
  }

 private:
  double least_ms_ = 1, most_ms_ = 100, most_gib_ = 16;
  nlohmann::json clock_;
  int64_t enlarged_ = 0;
};

const StepRegistration kFitToTimeRegistered("fit_to_time",
                                            "enlarges tasks until eager PyTorch takes a given time",
                                            [](const ConfigSection& p, const StepEnvironment& e) {
                                              return std::make_unique<FitToTime>(p, e);
                                            });

}  // namespace
}  // namespace bicrl::curation
