#include "reward/client/verifier_channel.h"

#include <grpcpp/grpcpp.h>

#include "proto/verifier.grpc.pb.h"
#include "reward/client/call_failure.h"
#include "verdict/verifier_wire.h"

namespace bicrl {
namespace {

constexpr int kMaxMessageBytes = 64 << 20;

}  // namespace

std::shared_ptr<grpc::Channel> connect_verifier(const std::string& address, const ClientAccess& access) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  // Retries are ours: they go to another server and are counted.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // A server that comes back is found soon. (The minimum is the time that one connection attempt may take: a
  // busy machine needs seconds for the first handshake.)
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 10000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Verifiers are near; a proxy of the environment is for the world outside.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(address, client_credentials(access), arguments);
}

Result<VerifierDescription> describe_verifier(const std::shared_ptr<grpc::Channel>& channel,
                                              const std::string& address, std::chrono::milliseconds timeout) {
  grpc::ClientContext context;
  context.set_deadline(
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(timeout.count(), GPR_TIMESPAN)));
  context.set_wait_for_ready(true);
  verifier::v1::DescribeReply reply;
  const grpc::Status status = verifier::v1::Verifier::NewStub(channel)->Describe(&context, {}, &reply);
  if (!status.ok())
    return Result<VerifierDescription>::failure(
        concat(address, ": ", explain_status(status.error_code(), status.error_message())));
  auto description = from_wire(reply);
  if (!description) return Result<VerifierDescription>::failure(concat(address, ": ", description.reason()));
  description.value().address = address;
  return description;
}

}  // namespace bicrl
