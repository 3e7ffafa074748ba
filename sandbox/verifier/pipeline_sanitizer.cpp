// A share of the correct programs runs under compute-sanitizer as well. Its findings are reported, in the
// verdict and the log, and change nothing: the PTX interpreter has looked for the same in this very program
// and is the judge (docs/verification.md says where the two differ).
#include <cstdlib>

#include "common/hash.h"
#include "common/log.h"
#include "sandbox/verifier/pipeline_job.h"

namespace bicrl {
namespace {

// The same programs in every run and on every server.
bool is_of_share(const VerificationRequest& request, double share) {
  const std::string digits = hash_hex({request.pytorch_code, request.program, "compute-sanitizer"});
  constexpr double kRange = 1ull << 32;
  return static_cast<double>(strtoul(digits.substr(0, 8).c_str(), nullptr, 16)) / kRange < share;
}

}  // namespace

std::string Pipeline::sanitized(Job& job, const SizedTask& task) {
  if (!is_of_share(job.request, options_.sanitizer_share)) return "";
  const SanitizerReport result = backend_->sanitize(task.plan, options_.sanitizer_tools, job.stop);
  // The program is right all the same.
  if (!result.problem.empty() && !job.stop.stop_requested())
    log_warning("a program for task ", job.request.task_id,
                " was not seen to the end by every tool: ", result.problem);
  if (result.findings.empty()) return result.problem.empty() ? "compute-sanitizer finds nothing" : "";
  const std::string text = sanitizer_text(result.findings);
  log_warning("compute-sanitizer finds what the PTX interpreter does not in a program for task ",
              job.request.task_id, ": ", text);
  return concat("compute-sanitizer finds ", text);
}

}  // namespace bicrl
