#include "launch/rank_session.h"

#include <iostream>
#include <optional>

#include "common/error.h"
#include "common/log.h"
#include "launch/launcher_check.h"
#include "launch/tensor_plane_choice.h"
#include "trainer/ranks/mpi/mpi_control_plane.h"
#include "trainer/ranks/torch_error.h"

namespace bicrl {
namespace {

constexpr const char* kAlone = "MPI sees one rank";
constexpr double kPatience_s = 3;  // ranks read their files at the same time, but not equally fast

}  // namespace

int with_ranks(const std::function<int(RankPlanes)>& work) {
  if (!MpiSession::launched_by_mpi()) {
    expect_announced_ranks(kAlone, 1);
    SingleProcessControl control;
    SingleProcessTensors alone;
    MeasuredTensors tensors(alone);
    return work({control, [&](at::Device) -> MeasuredTensors& { return tensors; },
                 [&](int, at::Device) -> PartPlanes {
                   return {control, tensors};
                 }});
  }
  MpiSession session;
  MpiControlPlane control(session);
  std::unique_ptr<MpiControlPlane> part_control;  // outlives the plane over it
  std::unique_ptr<TensorPlane> tensors, part_tensors;
  std::optional<MeasuredTensors> measured, measured_part;
  const auto tell = [](const std::string& message) { std::cerr << "bicrl: " << message << std::endl; };
  try {
    init_logging(LogLevel::kInfo, control.size() > 1 ? control.rank() : -1);
    expect_announced_ranks(kAlone, control.size());
    return work({control,
                 [&](at::Device device) -> MeasuredTensors& {
                   tensors = make_tensor_plane(session, control, device);
                   return measured.emplace(*tensors);
                 },
                 [&](int part, at::Device device) -> PartPlanes {
                   part_control = std::make_unique<MpiControlPlane>(session, part);
                   part_tensors = make_tensor_plane(session, *part_control, device);
                   return {*part_control, measured_part.emplace(*part_tensors)};
                 }});
  } catch (const SharedError& error) {
    if (control.rank() == 0) tell(error.what());
    return static_cast<int>(error.code());
  } catch (const InputError& error) {
    // Mostly every rank reads the same files and finds the same fault.
    if (control.all_give_up(kPatience_s)) {
      if (control.rank() == 0) tell(error.what());
      return static_cast<int>(error.code());
    }
    tell(concat("rank ", control.rank(), ": ", error.what()));
    MpiSession::abort(static_cast<int>(error.code()));
  } catch (const std::exception& error) {
    // The other ranks may be waiting in a collective.
    tell(concat("rank ", control.rank(), ": ", words_of(error)));
    const auto* known = dynamic_cast<const Error*>(&error);
    MpiSession::abort(static_cast<int>(known ? known->code() : ExitCode::kFailure));
  } catch (...) {
    tell(concat("rank ", control.rank(), ": an unknown exception"));
    MpiSession::abort(static_cast<int>(ExitCode::kFailure));
  }
}

std::unique_ptr<EmbeddedVerifier> share_embedded_verifier(const std::string& config_path,
                                                          const std::vector<std::string>& overrides,
                                                          const std::string& log_path, ControlPlane& control,
                                                          std::vector<std::string>& addresses) {
  if (!addresses.empty()) return nullptr;
  require_one_host(control);
  std::unique_ptr<EmbeddedVerifier> server;
  on_rank_zero(control,
               [&] { server = std::make_unique<EmbeddedVerifier>(config_path, overrides, log_path); });
  addresses = {control.all_gather(server ? server->address() : "").front()};
  return server;
}

std::string note_on_unused_server(const ConfigSection& verifier, const std::vector<std::string>& addresses) {
  if (addresses.empty() || !verifier.has("server")) return "";
  return "verifier.server has no effect: the verifiers at verifier.addresses have settings of their own, "
         "the device whose times they model (cost_device) among them; "
         "`bicrl verifier --of-run CONFIG` starts one with these";
}

}  // namespace bicrl
