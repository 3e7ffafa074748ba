#include "launch/rank_session.h"

#include <iostream>

#include "common/error.h"
#include "common/log.h"
#include "trainer/mpi_communicator.h"

namespace bicrl {

int with_ranks(const std::function<int(Communicator&)>& work) {
  if (!MpiSession::launched_by_mpi()) {
    SingleProcessCommunicator communicator;
    return work(communicator);
  }
  MpiSession session;
  MpiCommunicator communicator(session);
  init_logging(LogLevel::kInfo, communicator.size() > 1 ? communicator.rank() : -1);
  try {
    return work(communicator);
  } catch (const InputError& error) {
    if (communicator.rank() == 0) std::cerr << "bicrl: " << error.what() << std::endl;
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    // The other ranks may be waiting in a collective.
    std::cerr << "bicrl: rank " << communicator.rank() << ": " << error.what() << std::endl;
    const auto* known = dynamic_cast<const Error*>(&error);
    MpiSession::abort(static_cast<int>(known ? known->code() : ExitCode::kFailure));
  }
}

std::unique_ptr<EmbeddedVerifier> share_embedded_verifier(const std::string& config_path,
                                                          const std::vector<std::string>& overrides,
                                                          const std::string& log_path,
                                                          Communicator& communicator,
                                                          std::vector<std::string>& addresses) {
  if (!addresses.empty()) return nullptr;
  std::unique_ptr<EmbeddedVerifier> server;
  std::string address;
  std::string failure;
  if (communicator.rank() == 0) {
    // Other ranks wait for the address, so a failure here must reach them as well.
    try {
      server = std::make_unique<EmbeddedVerifier>(config_path, overrides, log_path);
      address = server->address();
    } catch (const Error& error) {
      failure = error.what();
    }
  }
  address = communicator.all_gather(address).front();
  if (address.empty())
    throw Error(failure.empty() ? "rank 0 could not start the verifier" : failure, ExitCode::kUnavailable);
  addresses = {address};
  return server;
}

}  // namespace bicrl
