// Messages of the verifier's protocol. The first byte says which: 'q' a VerificationRequest as the server
// takes it, 'v' a Verdict as the client takes it, 'd' a DescribeReply, 'j' a verdict as stored in JSON.
#include <cmath>

#include "common/json.h"
#include "proto/verifier.pb.h"
#include "reward/reward_rule.h"
#include "tests/fuzz/fuzz_target.h"
#include "verdict/verifier_wire.h"

namespace bicrl::fuzz {
namespace {

namespace wire = verifier::v1;

// Stored, read back, rewarded.
void use(const Verdict& verdict) {
  const std::string stored = to_json(verdict).dump();
  const Verdict again = verdict_from_json(parse_json(stored, "stored"));
  BICRL_CHECK(again == verdict, stored);
  static const std::vector<RewardFunction> kRewards = [] {
    std::vector<RewardFunction> rewards;
    for (const std::string& rule : reward_rule_names())
      if (rule != "composite") rewards.push_back(RewardFunction::from_text("rule: " + rule, rule));
    return rewards;
  }();
  for (const RewardFunction& reward : kRewards)
    BICRL_CHECK(std::isfinite(reward.evaluate(verdict, false).value), stored);
  BICRL_CHECK(verdict.pass_rate() >= 0 && verdict.pass_rate() <= 1, stored);
}

void take_request(const std::string& bytes) {
  wire::VerifyRequest message;
  if (!message.ParseFromString(bytes)) return;
  const auto read = from_wire(message);
  if (!read) return;
  const VerificationRequest& request = read.value();
  const VerificationProtocol protocol = request.protocol.or_else(kDefaultProtocol);
  BICRL_CHECK(!request.pytorch_code.empty());
  BICRL_CHECK(protocol.trials >= 1 && protocol.trials <= kMaxTrials, protocol.trials);
  BICRL_CHECK(protocol.tolerance != TolerancePolicy::kOpen);
  // What the server would answer reaches the client, whatever a candidate printed.
  Verdict verdict;
  verdict.request_id = request.request_id;
  verdict.outcome = Outcome::kCandidateFault;
  verdict.diagnostics = bytes;
  wire::Verdict reply, arrived;
  to_wire(verdict, reply);
  BICRL_CHECK(arrived.ParseFromString(reply.SerializeAsString()));
  BICRL_CHECK(from_wire(arrived).ok());
}

void take_verdict(const std::string& bytes) {
  wire::Verdict message;
  if (!message.ParseFromString(bytes)) return;
  const auto verdict = from_wire(message);
  if (!verdict.ok()) return;
  use(verdict.value());
  wire::Verdict sent, arrived;
  to_wire(verdict.value(), sent);
  BICRL_CHECK(arrived.ParseFromString(sent.SerializeAsString()));
  const auto back = from_wire(arrived);
  BICRL_CHECK(back.ok() && back.value() == verdict.value());
}

void take_description(const std::string& bytes) {
  wire::DescribeReply message;
  if (!message.ParseFromString(bytes)) return;
  const auto description = from_wire(message);
  if (!description) return;
  wire::DescribeReply sent;
  to_wire(description.value(), sent);
  const auto back = from_wire(sent);
  BICRL_CHECK(back.ok() && back.value() == description.value());
}

}  // namespace
}  // namespace bicrl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bicrl;
  if (size == 0) return 0;
  const std::string bytes(fuzz::as_text(data + 1, size - 1));
  if (data[0] == 'q') fuzz::take_request(bytes);
  if (data[0] == 'v') fuzz::take_verdict(bytes);
  if (data[0] == 'd') fuzz::take_description(bytes);
  if (data[0] == 'j') fuzz::accepts([&] { fuzz::use(verdict_from_json(parse_json(bytes, "fuzz.json"))); });
  return 0;
}
