// Reduced sizes of tasks: found in a box once, and kept.
#include "common/error.h"
#include "common/hash.h"
#include "common/json.h"
#include "sandbox/oracle/oracle.h"
#include "sandbox/verifier/secret.h"

namespace bicrl {
namespace {

constexpr size_t kMostSizesBytes = 200;  // of sizes by hand, in a message

}  // namespace

FoundSizes Oracle::reduced_sizes(const std::string& pytorch_code, const std::string& by_hand,
                                 std::stop_token stop) {
  const std::string key = hash_hex({pytorch_code, by_hand});
  const auto flight = sizes_flights_.take(key, stop);
  if (!flight) return {nullptr, {false, "cancelled", ""}};
  if (auto known = sizes_.find(key)) return *known;
  FoundSizes found = find_sizes(pytorch_code, by_hand, stop);
  size_t bytes = pytorch_code.size();
  if (found.sizes)
    for (const SizeVariant& variant : found.sizes->variants) bytes += variant.code.size();
  if (found.sizes || found.failure.invalid_task) sizes_.insert(key, found, bytes);
  return found;
}

FoundSizes Oracle::find_sizes(const std::string& pytorch_code, const std::string& by_hand,
                              std::stop_token stop) {
  nlohmann::json given = nlohmann::json::array();
  if (!by_hand.empty()) {
    auto parsed = try_parse_json(by_hand);
    if (!parsed) return {nullptr, {true, concat("reduced_sizes is not JSON: ", parsed.reason()), "raises"}};
    given = std::move(parsed.value());
  }
  auto child = zygote_.fork(limits(), stop);
  if (!child) return {nullptr, {false, child.reason(), ""}};
  const auto init_seed = static_cast<int64_t>(secret_number() >> 33);
  const nlohmann::json request{
      {"kind", "sizes"}, {"task_code", pytorch_code}, {"init_seed", init_seed}, {"by_hand", given}};
  std::optional<Frame> frame;
  try {
    if (child.value()->send(request, {}, stop)) frame = child.value()->receive(stop);
    if (!frame) {
      OracleFailure failure = failure_of(child.value()->finish());
      if (failure.invalid_task && !given.empty())
        failure.reason =
            concat("run at reduced_sizes ", by_hand.substr(0, kMostSizesBytes), ", ", failure.reason);
      return {nullptr, std::move(failure)};
    }
    FoundSizes found;
    if (frame->header.at("kind") == "fault")
      found.failure = {true,
                       frame->header.value("message", "no reason given").substr(0, kMaxReferenceReasonBytes),
                       frame->header.value("fault", "raises")};
    else
      found.sizes = std::make_shared<const ReducedSizes>(read_reduced_sizes(std::move(*frame), init_seed));
    zygote_.dismiss(std::move(child.value()));
    return found;
  } catch (const nlohmann::json::exception&) {
    return {nullptr, {true, "the reference's box sent a malformed answer", "crash"}};
  } catch (const InputError& error) {
    return {nullptr, {true, error.what(), "crash"}};
  }
}

}  // namespace bicrl
