#include "trainer/evaluation/suite_settings.h"

#include "trainer/inputs/existing_path.h"

namespace bicrl {
namespace {

void read_stock(const ConfigSection& stock, SuiteSettings& s) {
  s.device = stock.text("device", s.device);
  const bool is_gpu = s.device.starts_with("cuda:") && s.device.size() > 5 &&
                      s.device.find_first_not_of("0123456789", 5) == std::string::npos;
  if (!is_gpu && s.device != "cpu") stock.reject("device", "must be cpu or cuda:NUMBER");
  s.precision = stock.choice("precision", s.precision, {"fp32", "fp16", "bf16"});
  s.tolerance = stock.real("tolerance", s.tolerance, 0, 1);
  s.correctness_trials = static_cast<int>(stock.integer("correctness_trials", s.correctness_trials, 1, 1000));
  s.timing_trials = static_cast<int>(stock.integer("timing_trials", s.timing_trials, 1, 100'000));
  s.timeout_s = stock.real("timeout_s", s.timeout_s, 1, 86'400);
  s.build_jobs = static_cast<int>(stock.integer("build_jobs", s.build_jobs, 0, 256));
  s.memory_bytes = static_cast<uint64_t>(stock.integer("memory_gib", 64, 1, 1 << 14)) << 30;
}

}  // namespace

SuiteSettings SuiteSettings::from_config(const ConfigSection& root,
                                         const std::filesystem::path& config_folder) {
  const ConfigSection suite = root.section("suite");
  SuiteSettings s;
  suite.choice("name", "kernelbench", {"kernelbench"});
  s.level = suite.integer("level", s.level, 1, 1000);
  s.results = suite.text("results", "");
  if (const std::string programs = suite.text("programs", ""); !programs.empty()) {
    s.programs = existing_path(suite, "programs", programs, config_folder);
    for (const char* key :
         {"policy", "rollout", "stage", "samples_per_task", "seed", "threads_per_rank", "responses"})
      root.refuse_without_effect(key, "with `suite.programs`, which are graded as they are");
  }
  if (suite.choice("protocol", "native", {"native", "kernelbench"}) == "native") {
    suite.refuse_without_effect("stock", "with `protocol: native`");
    return s;
  }
  s.protocol = SuiteProtocol::kKernelBench;
  read_stock(suite.section("stock"), s);
  root.refuse_without_effect("measure_time", "with `suite.protocol: kernelbench`, which always measures");
  return s;
}

}  // namespace bicrl
