#include "trainer/experience/grading_basis.h"

#include <algorithm>
#include <chrono>

#include "common/log.h"

namespace bicrl {
namespace {

constexpr double kPatience_s = 60;

std::string ask_verifiers(VerifierClient& verifier, const VerifierClientOptions& options,
                          const std::string& clock) {
  const auto patience =
      std::chrono::milliseconds(static_cast<int64_t>(1000 * std::min(kPatience_s, options.deadline_s)));
  std::string basis, asked_first;
  std::string silent;
  for (const Result<VerifierDescription>& answer : verifier.describe(patience)) {
    if (!answer.ok()) {
      silent += concat(silent.empty() ? "" : "; ", answer.reason());
      continue;
    }
    if (const std::string problem = verifier_problem(answer.value(), options.protocol); !problem.empty())
      throw InputError(concat("the verifier ", answer.value().address, " cannot be used: ", problem));
    if (!clock.empty() && answer.value().clock != clock)
      throw InputError(concat("the verifier ", answer.value().address, " has the clock '",
                              answer.value().clock, "', and the reward file accepts '", clock, "'"));
    const std::string found = grading_basis(answer.value(), options.protocol);
    if (basis.empty()) {
      basis = found;
      asked_first = answer.value().address;
    } else if (basis != found) {
      throw InputError(concat("the verifiers do not grade alike: ", asked_first, " has (", basis, "), ",
                              answer.value().address, " has (", found, "); start them with equal settings"));
    }
  }
  if (basis.empty()) throw Error(concat("no verifier answers: ", silent), ExitCode::kUnavailable);
  if (!silent.empty())
    log_warning("a verifier does not answer, so whether it grades like the others is not known: ", silent);
  return basis;
}

}  // namespace

std::string common_grading_basis(VerifierClient& verifier, const VerifierClientOptions& options,
                                 ControlPlane& control, const std::string& clock) {
  std::string basis;
  on_rank_zero(control, [&] { basis = ask_verifiers(verifier, options, clock); });
  return control.all_gather(basis).front();
}

}  // namespace bicrl
