#include "trainer/ranks/communicator.h"

#include "common/hash.h"

namespace bicrl {
namespace {

// Empty, or the code's number and the message of what `work` threw.
std::string outcome_of(const std::function<void()>& work) {
  try {
    work();
    return "";
  } catch (const Error& error) {
    return concat(static_cast<int>(error.code()), " ", error.what());
  } catch (const std::exception& error) {
    return concat(static_cast<int>(ExitCode::kFailure), " ", error.what());
  }
}

[[noreturn]] void rethrow(const std::string& outcome, const std::string& prefix) {
  const size_t space = outcome.find(' ');
  throw SharedError(prefix + outcome.substr(space + 1),
                    static_cast<ExitCode>(std::stoi(outcome.substr(0, space))));
}

}  // namespace

void on_rank_zero(Communicator& communicator, const std::function<void()>& work) {
  const std::string mine = communicator.rank() == 0 ? outcome_of(work) : "";
  const std::string outcome = communicator.all_gather(mine).front();
  if (!outcome.empty()) rethrow(outcome, "");
}

void on_every_rank(Communicator& communicator, const std::function<void()>& work) {
  const std::vector<std::string> outcomes = communicator.all_gather(outcome_of(work));
  for (size_t rank = 0; rank < outcomes.size(); ++rank)
    if (!outcomes[rank].empty())
      rethrow(outcomes[rank], outcomes.size() == 1 ? "" : concat("rank ", rank, ": "));
}

bool on_any_rank(Communicator& communicator, bool here) {
  std::vector<double> anywhere = {here ? 1.0 : 0.0};
  communicator.all_reduce(anywhere, Reduction::kMax);
  return anywhere[0] > 0;
}

void expect_equal_on_ranks(Communicator& communicator, const std::string& what, const std::string& content) {
  const std::vector<std::string> hashes = communicator.all_gather(hash_hex(content));
  for (size_t rank = 1; rank < hashes.size(); ++rank)
    if (hashes[rank] != hashes.front())
      throw SharedError(
          concat("rank ", rank, " has read another ", what, " than rank 0: do all hosts see the same files?"),
          ExitCode::kUsage);
}

}  // namespace bicrl
