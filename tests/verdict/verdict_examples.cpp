#include "tests/verdict/verdict_examples.h"

namespace bicrl::testing {

Verdict full_verdict(bool correct) {
  Verdict v;
  v.request_id = "step 3 / task 7 / 11";
  v.outcome = Outcome::kGraded;
  v.fault_class = correct ? "" : "wrong_value";
  v.reached = "compare";
  v.compiled = true;
  v.correct = correct;
  v.trials = 5;
  v.trials_passed = correct ? 5 : 4;
  v.max_error_ratio = 3.25;
  v.tolerance = "tf32";
  v.graded_at = kReducedSize;
  v.candidate_ms = 0.1;
  v.eager_ms = 1.0 / 3.0;
  v.candidate_spread_ms = 0.01;
  v.eager_spread_ms = 0.02;
  v.torch_compile_ms = 0.2;
  v.roofline_fraction = 0.5;
  v.clock = "model";
  v.device = "h100, tables 1";
  v.costed_at = kOwnSize;
  v.costed_size = "64x128, 128";
  v.counters = "{\"launches\": 1}";
  v.measurement = "{\"pairs\": 16}";
  v.diagnostics = "line 1\n\"line\" 2 \u00b5";
  v.compile_ms = 50;
  v.record_ms = 2;
  v.run_ms = 3;
  v.total_ms = 70.5;
  v.lane_operations = int64_t{1} << 40;
  v.cached = true;
  v.backend = "ptx";
  return v;
}

}  // namespace bicrl::testing
