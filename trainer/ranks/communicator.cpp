#include "trainer/ranks/communicator.h"

#include "common/hash.h"

namespace bicrl {
namespace {

[[noreturn]] void rethrow(const std::string& error, const std::string& prefix) {
  const size_t space = error.find(' ');
  throw SharedError(prefix + error.substr(space + 1),
                    static_cast<ExitCode>(std::stoi(error.substr(0, space))));
}

}  // namespace

std::string error_of(const std::function<void()>& work) {
  try {
    work();
    return "";
  } catch (const Error& error) {
    return concat(static_cast<int>(error.code()), " ", error.what());
  } catch (const std::exception& error) {
    return concat(static_cast<int>(ExitCode::kFailure), " ", error.what());
  }
}

void throw_first_error(const std::vector<std::string>& errors_by_rank) {
  for (size_t rank = 0; rank < errors_by_rank.size(); ++rank)
    if (!errors_by_rank[rank].empty())
      rethrow(errors_by_rank[rank], errors_by_rank.size() == 1 ? "" : concat("rank ", rank, ": "));
}

void on_rank_zero(Communicator& communicator, const std::function<void()>& work) {
  const std::string mine = communicator.rank() == 0 ? error_of(work) : "";
  const std::string error = communicator.all_gather(mine).front();
  if (!error.empty()) rethrow(error, "");
}

bool on_any_rank(Communicator& communicator, bool here) {
  std::vector<double> anywhere = {here ? 1.0 : 0.0};
  communicator.all_reduce(anywhere, Reduction::kMax);
  return anywhere[0] > 0;
}

void require_one_host(const Communicator& communicator) {
  if (communicator.hosts() == 1) return;
  throw InputError(concat(
      "the ranks run on ", communicator.hosts(),
      " hosts, and an embedded verifier serves only its own: start `bicrl verifier CONFIG "
      "listen=ADDRESS:PORT` on one or more hosts and name them in verifier.addresses=[HOST:PORT, ...]"));
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
