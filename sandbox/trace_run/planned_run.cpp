#include "sandbox/trace_run/planned_run.h"

#include <optional>
#include <set>
#include <utility>

namespace bicrl {
namespace {

using nlohmann::json;

// Repeats beyond the certain ones are executed up to outputs that fit well.
constexpr uint64_t kCheapOutputBytes = 32u << 20;

}  // namespace

json to_json(const ptx::KernelFault& fault) {
  return {{"class", to_string(fault.fault_class)}, {"message", fault.message}, {"kernel", fault.kernel}};
}

PlannedRun::PlannedRun(TraceRun& run, const Trace& trace, const json& asked, PlannedRunOptions options)
    : run_(run),
      trace_(trace),
      asked_(asked),
      options_(std::move(options)),
      report_{{"lane_operations", 0}, {"changed_inputs", json::array()}, {"calls", 0}} {}

void PlannedRun::first_call() {
  auto fault = run_.run(options_.inputs(asked_.at("test_input").get<size_t>()));
  if (!fault) report_["changed_inputs"] = run_.changed_inputs();
  store(std::move(fault), trace_.output_layout());
  if (options_.follow_copies && !failed()) store_copied();
}

void PlannedRun::repeats() {
  const json& test_inputs = asked_.at("repeat_inputs");
  if (test_inputs.empty() || failed()) return;
  report_["first_repeat"] = begin_ = end_ = run_.first_repeat();
  std::set<uint32_t> overwritten;
  while (!failed() && end_ < trace_.repeats.size() && goes_on()) {
    auto fault = run_.repeat(end_, options_.inputs(test_inputs.at(end_).get<size_t>()));
    store(std::move(fault), trace_.repeats[end_++].returned.layout);
    // Behind each: the last may be on the inputs of the first, and give its answer once more.
    if (!failed()) overwritten.merge(run_.overwritten_outputs(answers_.front()));
  }
  if (end_ > begin_ && !failed()) report_["overwritten_outputs"] = overwritten;
}

// Whether another repeat is executed behind those before it.
bool PlannedRun::goes_on() const {
  const size_t done = end_ - begin_;
  if (done < kCertainRepeats) return true;
  const uint64_t output_bytes = (done + 2) * trace_.output_layout().total_bytes;
  return options_.is_cheap() && output_bytes <= kCheapOutputBytes && run_.has_room(end_);
}

void PlannedRun::store(std::optional<ptx::KernelFault> fault, const OutputLayout& layout) {
  std::vector<std::byte> outputs(layout.total_bytes);
  std::vector<uint8_t> writers(options_.has_shadows ? layout.numel() : 0);
  if (!fault) fault = run_.store_outputs(outputs.data(), writers.data());
  options_.write(outputs.data(), outputs.size());
  options_.write(writers.data(), writers.size());
  report_["calls"] = report_["calls"].get<size_t>() + 1;
  if (fault) report_fault(*fault, /*of_all_calls=*/false);
  if (answers_.empty() || options_.keep_answers) answers_.push_back(std::move(outputs));
}

void PlannedRun::store_copied() {
  const OutputLayout& layout = trace_.output_layout();
  std::vector<std::byte> outputs(layout.total_bytes);
  json leaves = json::array();
  for (size_t i = 0; i < layout.leaves.size(); ++i)
    if (run_.store_copied_output(i, outputs.data() + layout.leaves[i].offset_bytes)) leaves.push_back(i);
  if (!leaves.empty()) options_.write(outputs.data(), outputs.size());
  report_["copied"] = std::move(leaves);
}

void PlannedRun::report_fault(const ptx::KernelFault& fault, bool of_all_calls) {
  report_["fault"] = to_json(fault);
  report_["fault"]["line"] = fault.source_line;
  report_["fault"]["of_all_calls"] = of_all_calls;
}

}  // namespace bicrl
