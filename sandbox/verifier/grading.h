// From what a candidate's runs left to how it is graded: faults, comparison with the oracle, and whether
// kernels of its own made the answer. Pure functions.
#pragma once
#include <string>
#include <vector>

#include "sandbox/oracle/oracle.h"
#include "sandbox/verifier/backend.h"
#include "sandbox/verifier/judge.h"
#include "verdict/fault/fault.h"

namespace bicrl {

struct Grade {
  bool graded = false;  // ran to its end and was compared; else the fault is of a run
  Fault fault;          // of the program; none: correct
  int trials_passed = 0;
  double max_error_ratio = 0;
};

// What a verification runs: trials on the first of `test_inputs` test inputs, one of them, which nobody can
// foresee, with shadows, the others with warps taken apart, three of these watching what is read if asked (as
// there is a test input on which an index may be any); and then as often without launches. The repeats of a
// trial have the test inputs behind its own.
std::vector<RunRequest> plan_runs(size_t trials, size_t test_inputs, size_t repeats, bool watch_reads);

// `runs` are the outcomes of a plan_runs(), on `test_inputs`, which are of OracleAnswers::test_inputs.
Grade grade_runs(const Trace& trace, const std::vector<RunRequest>& plan, const std::vector<RunOutcome>& runs,
                 const std::vector<const TestInput*>& test_inputs, const OracleAnswers& answers,
                 TolerancePolicy policy);

}  // namespace bicrl
