#include "sandbox/verifier/grading.h"

#include <algorithm>
#include <span>

#include "common/error.h"
#include "sandbox/oracle/rearrangement.h"
#include "sandbox/recorder/trace/host_layout.h"
#include "sandbox/verifier/secret.h"

namespace bicrl {
namespace {

// Half of a plan are trials, half the same test inputs without launches.
size_t trials_of(const std::vector<RunRequest>& plan) { return plan.size() / 2; }

// An element that no kernel wrote is a fill, an upload or a copy of an input: no answer, unless it is exactly
// what the reference says.
std::string unearned_elements(const OutputLayout& layout, const CallOutcome& call,
                              const TestInput& test_input) {
  if (call.writers.empty()) return {};
  std::vector<uint8_t> by_kernel(call.writers.size());
  for (size_t e = 0; e < by_kernel.size(); ++e)
    by_kernel[e] = call.writers[e] == static_cast<char>(ElementWriter::kKernel);
  const uint64_t unearned = unwritten_differences(layout, call.outputs, test_input.expected, by_kernel);
  if (unearned == 0) return {};
  return concat(unearned, " of ", by_kernel.size(), " elements were written by no kernel");
}

// An output that is correct on every test input although no kernel runs was not computed by one. (Where zeros
// are cleared by the host part, one test input may hold nothing else.) `runs`: those without launches, on
// `test_inputs`.
std::string correct_without_kernels(const OutputLayout& layout, std::span<const RunOutcome> runs,
                                    const std::vector<const TestInput*>& test_inputs,
                                    const OracleAnswers& answers, TolerancePolicy policy) {
  for (size_t i = 0; i < layout.leaves.size(); ++i) {
    const OutputLayout::Leaf& leaf = layout.leaves[i];
    if (leaf.bytes == 0 || answers.trivial_outputs[i]) continue;
    bool always = true;
    for (size_t trial = 0; always && trial < runs.size(); ++trial) {
      const std::string_view bytes = runs[trial].first.outputs.substr(leaf.offset_bytes, leaf.bytes);
      always = !compare_leaf(leaf, bytes, test_inputs[trial]->expected[i], policy).fault_class;
    }
    if (always) return concat("output ", i, " is right without any kernel");
  }
  return {};
}

// An output that is correct on every test input although kernels only copy was laid out or cast by the
// framework.
std::string correct_by_copies(const OutputLayout& layout, const std::vector<RunRequest>& plan,
                              const std::vector<RunOutcome>& runs,
                              const std::vector<const TestInput*>& test_inputs, const OracleAnswers& answers,
                              TolerancePolicy policy) {
  const auto right = [&](size_t trial, uint32_t i) {
    const auto& known = runs[trial].copied_leaves;
    if (std::find(known.begin(), known.end(), i) == known.end()) return false;
    const OutputLayout::Leaf& leaf = layout.leaves[i];
    const std::string_view bytes = runs[trial].copied.substr(leaf.offset_bytes, leaf.bytes);
    return !compare_leaf(leaf, bytes, test_inputs[plan[trial].test_input]->expected[i], policy).fault_class;
  };
  for (uint32_t i = 0; i < layout.leaves.size(); ++i) {
    if (layout.leaves[i].bytes == 0 || answers.trivial_outputs[i]) continue;
    bool always = true;
    for (size_t trial = 0; always && trial < trials_of(plan); ++trial) always = right(trial, i);
    if (always)
      return concat("output ", i,
                    " is what the framework lays out or casts; kernels only copy what goes into it");
  }
  return {};
}

// Where layout is all of the work, the framework's copies must not do it, whatever kernels make of the values
// before and undo afterwards.
std::string moved_by_copies(const Trace& trace, const OracleAnswers& answers) {
  const uint64_t moved = elements_moved_by_host(trace);
  const auto& leaves = trace.output_layout().leaves;
  for (size_t i = 0; i < leaves.size(); ++i)
    if (2 * moved >= leaves[i].numel() && leaves[i].numel() > 0 && !answers.trivial_outputs[i] &&
        only_rearranges(trace.inputs, leaves[i], i, answers.test_inputs))
      return concat("output ", i,
                    " has elements of the inputs at other places, and the framework's copies put ", moved,
                    " elements there");
  return {};
}

// A run's calls against the reference: the first that is wrong decides.
struct RunComparison {
  Comparison compared;
  size_t incorrect_call = 0;  // from 1; 0: none
};

RunComparison compare_calls(const OutputLayout& layout, const RunRequest& request, const RunOutcome& run,
                            const std::vector<const TestInput*>& test_inputs, TolerancePolicy policy) {
  RunComparison result;
  const auto compare = [&](const CallOutcome& call, uint32_t test_input, size_t number) {
    const Comparison compared =
        compare_outputs(layout, call.outputs, test_inputs[test_input]->expected, policy);
    result.compared.max_error_ratio = std::max(result.compared.max_error_ratio, compared.max_error_ratio);
    result.compared.fault_class = compared.fault_class;
    if (compared.fault_class) result.incorrect_call = number;
  };
  compare(run.first, request.test_input, 1);
  for (size_t k = 0; k < run.repeats.size() && result.incorrect_call == 0; ++k)
    compare(run.repeats[k], request.repeat_inputs[run.first_repeat + k], run.first_repeat + k + 2);
  return result;
}

// How answers differ in an order of the work of streams that a device may choose; empty: not at all.
std::string differs_in_other_order(const OutputLayout& layout, const RunRequest& request,
                                   const RunOutcome& run, const std::vector<const TestInput*>& test_inputs,
                                   TolerancePolicy policy) {
  for (const ReorderedCall& reordered : run.reordered) {
    const size_t repeat = run.first_repeat + reordered.call;  // from 1
    const uint32_t test_input = reordered.call == 0 ? request.test_input : request.repeat_inputs[repeat - 1];
    if (compare_outputs(layout, reordered.outputs, test_inputs[test_input]->expected, policy).fault_class)
      return reordered.call == 0 ? reordered.message
                                 : concat("at call ", repeat + 1, " of forward: ", reordered.message);
  }
  return {};
}

// Of the call that has writers, on the test input that it had.
std::string unearned_elements(const OutputLayout& layout, const RunRequest& request, const RunOutcome& run,
                              const std::vector<const TestInput*>& test_inputs) {
  std::string reason = unearned_elements(layout, run.first, *test_inputs[request.test_input]);
  for (size_t k = 0; k < run.repeats.size() && reason.empty(); ++k)
    reason =
        unearned_elements(layout, run.repeats[k], *test_inputs[request.repeat_inputs[run.first_repeat + k]]);
  return reason;
}

}  // namespace

std::vector<RunRequest> plan_runs(size_t trials, size_t test_inputs, size_t repeats, bool watch_reads) {
  std::vector<RunRequest> runs;
  const size_t shadowed = secret_number() % trials;
  for (size_t i = 0; i < trials; ++i) {
    RunRequest& run = runs.emplace_back();
    run.test_input = static_cast<uint32_t>(i);
    for (size_t k = 0; k < repeats; ++k)
      run.repeat_inputs.push_back(static_cast<uint32_t>((i + 1 + k) % test_inputs));
    run.seed = secret_number();
    run.shadows = i == shadowed;
    run.warps_apart = i != shadowed;
  }
  for (const size_t behind : {1, 2, 3})
    if (behind < trials) runs[(shadowed + behind) % trials].watch_reads = watch_reads;
  for (size_t i = 0; i < trials; ++i)
    runs.push_back({.test_input = static_cast<uint32_t>(i),
                    .repeat_inputs = {},
                    .seed = secret_number(),
                    .skip_launches = true});
  return runs;
}

Grade grade_runs(const Trace& trace, const std::vector<RunRequest>& plan, const std::vector<RunOutcome>& runs,
                 const std::vector<const TestInput*>& test_inputs, const OracleAnswers& answers,
                 TolerancePolicy policy) {
  const OutputLayout& layout = trace.output_layout();
  const size_t trials = trials_of(plan);
  Grade grade;
  for (const RunOutcome& run : runs)
    if (run.fault) {
      grade.fault = run.fault;
      return grade;
    }
  grade.graded = true;
  std::string failed_on;
  bool keeps_state = true;
  for (size_t i = 0; i < trials; ++i) {
    const auto [compared, incorrect_call] = compare_calls(layout, plan[i], runs[i], test_inputs, policy);
    grade.max_error_ratio = std::max(grade.max_error_ratio, compared.max_error_ratio);
    if (incorrect_call == 0) {
      ++grade.trials_passed;
      continue;
    }
    keeps_state = keeps_state && incorrect_call > 1;
    failed_on += concat(failed_on.empty() ? "" : ", ", test_inputs[i]->kind);
    if (incorrect_call > 1) failed_on += concat(" at call ", incorrect_call, " of forward");
    if (!grade.fault.is(FaultClass::kNonFinite)) grade.fault = Fault::of_program(*compared.fault_class, "");
  }
  if (grade.fault) {
    grade.fault.reason =
        concat(grade.trials_passed, " of ", trials, " trials are right; wrong on: ", failed_on);
    if (keeps_state) grade.fault.reason += "; the first call is right, so something is kept from it";
    return grade;
  }
  for (size_t i = 0; i < trials; ++i)
    if (std::string reason = differs_in_other_order(layout, plan[i], runs[i], test_inputs, policy);
        !reason.empty()) {
      Grade race;
      race.fault = Fault::of_program(FaultClass::kRace, std::move(reason));
      return race;
    }
  std::string dead;
  for (size_t i = 0; i < trials && dead.empty(); ++i)
    dead = unearned_elements(layout, plan[i], runs[i], test_inputs);
  if (dead.empty())
    dead = correct_without_kernels(layout, std::span(runs).subspan(trials), test_inputs, answers, policy);
  if (dead.empty()) dead = correct_by_copies(layout, plan, runs, test_inputs, answers, policy);
  if (dead.empty()) dead = moved_by_copies(trace, answers);
  if (!dead.empty()) grade.fault = Fault::of_program(FaultClass::kDeadKernel, std::move(dead));
  return grade;
}

}  // namespace bicrl
