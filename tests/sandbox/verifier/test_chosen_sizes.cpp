// Programs for large tasks have a modelled time whichever reduced sizes a verification chooses, and the same.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "sandbox/cost/cost_model.h"
#include "sandbox/verifier/reduced/own_size_sample.h"
#include "tests/sandbox/oracle/oracle_support.h"
#include "tests/sandbox/service/service_support.h"
#include "tests/sandbox/verifier/large_programs.h"

namespace bicrl {
namespace {

using testing::CorpusEntry;

// What a backend counts, and what blocks it samples.
struct Counted {
  struct Launches {
    Trace trace;
    std::vector<LaunchCounters> counters;
  };
  struct Sample {
    Trace own;
    std::vector<SampledLaunch> launches;
  };
  std::map<uint64_t, Launches> by_input_bytes;
  std::vector<Sample> samples;
};

uint64_t input_bytes(const Trace& trace) {
  uint64_t bytes = 0;
  for (const InputLayout::Leaf& leaf : trace.inputs.leaves) bytes += leaf.bytes;
  return bytes;
}

class Watched : public Backend {
 public:
  Watched(std::unique_ptr<Backend> machine, Counted& counted)
      : machine_(std::move(machine)), counted_(counted) {}
  const BackendFeatures& features() const override { return machine_->features(); }
  RunResult run(const RunPlan& plan, std::stop_token stop) override {
    RunResult result = machine_->run(plan, stop);
    if (!result.fault && plan.runs.front().count)
      counted_.by_input_bytes[input_bytes(*plan.trace)] = {*plan.trace, result.runs.front().counters};
    return result;
  }
  RunResult check_launches(const Trace& trace, const std::vector<DeviceModule>& modules,
                           std::stop_token stop) override {
    return machine_->check_launches(trace, modules, stop);
  }
  SampleResult sample_blocks(const SamplePlan& plan, std::stop_token stop) override {
    SampleResult result = machine_->sample_blocks(plan, stop);
    counted_.samples.push_back({*plan.trace, result.launches});
    return result;
  }

 private:
  const std::unique_ptr<Backend> machine_;
  Counted& counted_;
};

std::string by_hand(const std::vector<const SizeVariant*>& variants) {
  nlohmann::json sizes = nlohmann::json::array();
  for (const SizeVariant* variant : variants) {
    nlohmann::json& named = sizes.emplace_back(nlohmann::json::object());
    std::string left = variant->sizes;
    while (!left.empty()) {
      const size_t equals = left.find('='), comma = left.find(", ");
      named[left.substr(0, equals)] = std::stol(left.substr(equals + 1));
      left = comma == std::string::npos ? "" : left.substr(comma + 2);
    }
  }
  return sizes.dump();
}

// All counted sizes that a verification can have.
std::vector<std::vector<CountedSize>> choices(const std::vector<CountedSize>& all) {
  std::vector<CountedSize> plain, with_long_axis;
  for (const CountedSize& size : all) (size.is_long ? with_long_axis : plain).push_back(size);
  std::vector<std::vector<CountedSize>> found;
  for (size_t i = 0; i < plain.size(); ++i)
    if (with_long_axis.empty()) {
      for (size_t j = i + 1; j < plain.size(); ++j) found.push_back({plain[i], plain[j]});
    } else {
      found.push_back(with_long_axis);
      found.back().push_back(plain[i]);
    }
  return found;
}

// Modelled, of each choice.
std::vector<double> times(const CorpusEntry& entry) {
  Counted counted;
  PipelineOptions options;
  options.python = testing::test_python();
  options.compile.cpu_s = options.record.wall_s = 600;
  options.oracle.cpu_s = 3600;
  options.execute.lane_operations = uint64_t{1} << 33;
  options.backend = [&](const BackendSetting& setting) {
    return std::make_unique<Watched>(ptx_backend()(setting), counted);
  };
  Pipeline pipeline(options);
  const auto sizes = testing::patient_oracle().reduced_sizes(entry.request.pytorch_code, "").sizes;
  REQUIRE(sizes);
  const auto& variants = sizes->variants;
  for (size_t i = 0; i < variants.size(); i += 2) {
    VerificationRequest request = entry.request;
    request.protocol.measure_time = true;
    request.reduced_sizes = by_hand({&variants[i], &variants[i + 1 < variants.size() ? i + 1 : i - 1]});
    const Verdict verdict = pipeline.verify(request);
    INFO(request.reduced_sizes << ": " << verdict.diagnostics);
    REQUIRE(verdict.correct);
  }
  std::vector<CountedSize> all;
  for (const SizeVariant& variant : variants) {
    const Counted::Launches& launches = counted.by_input_bytes.at(variant.input_bytes);
    const auto known = testing::patient_oracle().open(variant.code, 2, TaskSize::kReduced)->answers();
    REQUIRE(known);
    all.push_back({&launches.trace, launches.counters, known->reference.least_bytes, variant.lane_operations,
                   variant.is_long});
  }
  REQUIRE_FALSE(counted.samples.empty());
  const DeviceTable& device = *find_device_table(options.cost_device);
  const Trace& own = counted.samples.front().own;
  std::vector<double> found;
  for (const auto& chosen : choices(all)) {
    const Extrapolation grown =
        extrapolate({&own, {}, sizes->reference.least_bytes, sizes->lane_operations}, chosen);
    INFO(grown.reason);
    CHECK_FALSE(grown.launches.empty());
    for (const Counted::Sample& sample : counted.samples)
      CHECK(difference_at_own_size(sample.own, chosen, sample.launches).empty());
    found.push_back(model_program(grown.launches, device).modelled_ms);
  }
  return found;
}

}  // namespace

TEST_CASE("an ordinary large program has the same modelled time whichever reduced sizes are chosen") {
  testing::box_host();
  bool is_first_of_elementwise = true;
  for (const CorpusEntry& entry : testing::large_entries(testing::LargeKind::kOrdinary)) {
    if (!entry.expects("timed")) continue;
    // Those of elementwise functions differ in a line.
    const bool is_elementwise = entry.name.find("elementwise") != std::string::npos;
    if (is_elementwise && !std::exchange(is_first_of_elementwise, false)) continue;
    INFO(entry.name);
    const std::vector<double> found = times(entry);
    REQUIRE(found.size() > 1);
    const auto [least, most] = std::ranges::minmax(found);
    if (getenv("BICRL_PRINT_CORPUS"))
      printf("%s: %zu choices, %.6g to %.6g ms\n", entry.name.c_str(), found.size(), least, most);
    CHECK(most < 1.02 * least);
  }
}

}  // namespace bicrl
