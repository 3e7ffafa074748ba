#include "trainer/experience/grading_basis.h"

#include <algorithm>
#include <chrono>

#include "common/host_name.h"
#include "common/log.h"

namespace bicrl {
namespace {

// A connection that nobody refuses takes so long to be given up.
constexpr double kDescriptionPatience_s = 20;

std::string ask_verifiers(VerifierClient& verifier, const VerifierClientOptions& options,
                          const std::string& clock) {
  const auto patience = std::chrono::milliseconds(
      static_cast<int64_t>(1000 * std::min(kDescriptionPatience_s, options.deadline_s)));
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
  if (basis.empty())
    throw Error(concat("no verifier answers on host ", host_name(), ": ", silent,
                       ": is one started (`bicrl verifier`), and is the way to it open?"),
                ExitCode::kUnavailable);
  if (!silent.empty())
    log_warning("a verifier does not answer on host ", host_name(),
                ", so whether it grades like the others is not known: ", silent);
  return basis;
}

}  // namespace

std::string common_grading_basis(VerifierClient& verifier, const VerifierClientOptions& options,
                                 ControlPlane& control, const std::string& clock) {
  std::string basis;  // empty where another rank of the host asks
  on_all_ranks(control, [&] {
    if (control.local_rank() == 0) basis = ask_verifiers(verifier, options, clock);
  });
  const std::vector<std::string> found = control.all_gather(basis);
  // Hosts may have been answered by different servers. Rank 0 is the first of its host.
  for (size_t rank = 1; rank < found.size(); ++rank)
    if (!found[rank].empty() && found[rank] != found.front())
      throw SharedError(concat("the verifiers do not grade alike: rank 0 has met (", found.front(),
                               "), rank ", rank, " (", found[rank], "); start them with equal settings"),
                        ExitCode::kUsage);
  return found.front();
}

}  // namespace bicrl
