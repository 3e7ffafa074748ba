#include "launch/rank_session.h"

#include <iostream>

#include "common/error.h"
#include "common/log.h"
#include "trainer/ranks/mpi_communicator.h"

namespace bicrl {
namespace {

constexpr double kPatience_s = 3;  // ranks read their files at the same time, but not equally fast

}  // namespace

int with_ranks(const std::function<int(Communicator&)>& work) {
  if (!MpiSession::launched_by_mpi()) {
    SingleProcessCommunicator communicator;
    return work(communicator);
  }
  MpiSession session;
  MpiCommunicator communicator(session);
  const auto tell = [](const std::string& message) { std::cerr << "bicrl: " << message << std::endl; };
  try {
    init_logging(LogLevel::kInfo, communicator.size() > 1 ? communicator.rank() : -1);
    return work(communicator);
  } catch (const SharedError& error) {
    if (communicator.rank() == 0) tell(error.what());
    return static_cast<int>(error.code());
  } catch (const InputError& error) {
    // Mostly every rank reads the same files and finds the same fault.
    if (communicator.all_give_up(kPatience_s)) {
      if (communicator.rank() == 0) tell(error.what());
      return static_cast<int>(error.code());
    }
    tell(concat("rank ", communicator.rank(), ": ", error.what()));
    MpiSession::abort(static_cast<int>(error.code()));
  } catch (const std::exception& error) {
    // The other ranks may be waiting in a collective.
    tell(concat("rank ", communicator.rank(), ": ", error.what()));
    const auto* known = dynamic_cast<const Error*>(&error);
    MpiSession::abort(static_cast<int>(known ? known->code() : ExitCode::kFailure));
  } catch (...) {
    tell(concat("rank ", communicator.rank(), ": an unknown exception"));
    MpiSession::abort(static_cast<int>(ExitCode::kFailure));
  }
}

std::unique_ptr<EmbeddedVerifier> share_embedded_verifier(const std::string& config_path,
                                                          const std::vector<std::string>& overrides,
                                                          const std::string& log_path,
                                                          Communicator& communicator,
                                                          std::vector<std::string>& addresses) {
  if (!addresses.empty()) return nullptr;
  require_one_host(communicator);
  std::unique_ptr<EmbeddedVerifier> server;
  on_rank_zero(communicator,
               [&] { server = std::make_unique<EmbeddedVerifier>(config_path, overrides, log_path); });
  addresses = {communicator.all_gather(server ? server->address() : "").front()};
  return server;
}

std::string note_on_unused_server(const ConfigSection& verifier, const std::vector<std::string>& addresses) {
  if (addresses.empty() || !verifier.has("server")) return "";
  return "verifier.server has no effect: the verifiers at verifier.addresses have settings of their own";
}

}  // namespace bicrl
