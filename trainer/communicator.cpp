#include "trainer/communicator.h"

namespace bicrl {

void on_rank_zero(Communicator& communicator, const std::function<void()>& work) {
  std::string outcome;  // empty, or the code's digit and the message
  if (communicator.rank() == 0) {
    try {
      work();
    } catch (const Error& error) {
      outcome = concat(static_cast<int>(error.code()), " ", error.what());
    } catch (const std::exception& error) {
      outcome = concat(static_cast<int>(ExitCode::kFailure), " ", error.what());
    }
  }
  outcome = communicator.all_gather(outcome).front();
  if (outcome.empty()) return;
  const size_t space = outcome.find(' ');
  throw SharedError(outcome.substr(space + 1), static_cast<ExitCode>(std::stoi(outcome.substr(0, space))));
}

}  // namespace bicrl
