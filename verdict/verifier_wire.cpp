#include "verdict/verifier_wire.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "common/utf8.h"
#include "proto/verifier.pb.h"
#include "verdict/verdict_fields.h"

namespace bicrl {
namespace {

namespace wire = verifier::v1;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr std::string_view kOutcomePrefix = "OUTCOME_";

std::string mapped(std::string_view text, int (*change)(int)) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [&](unsigned char c) { return static_cast<char>(change(c)); });
  return result;
}

// A field of a message, or of a message within it.
template <class MessageType>
struct Place {
  MessageType* part;
  const Reflection* api;
  const FieldDescriptor* field;
};

const FieldDescriptor* field_of(const Message& message, std::string_view name) {
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(std::string(name));
  BICRL_CHECK(field, message.GetTypeName(), " has no field ", name);
  return field;
}

// The field at a path such as "times.eager_ms"; step(part, field) goes from a message into one of its fields.
template <class MessageType, class Step>
Place<MessageType> place_of(MessageType& message, std::string_view path, const Step& step) {
  MessageType* part = &message;
  for (size_t dot; (dot = path.find('.')) != path.npos; path.remove_prefix(dot + 1))
    part = step(*part, field_of(*part, path.substr(0, dot)));
  return {part, part->GetReflection(), field_of(*part, path)};
}

// Sets the field at a path. Protobuf ends the process if the field is of another type.
class MessageWriter {
 public:
  explicit MessageWriter(Message& message) : message_(message) {}
  void operator()(std::string_view path, const std::string& value) const {
    const auto [part, api, field] = place(path);
    api->SetString(part, field, to_utf8(value));
  }
  void operator()(std::string_view path, bool value) const {
    const auto [part, api, field] = place(path);
    api->SetBool(part, field, value);
  }
  void operator()(std::string_view path, int value) const {
    const auto [part, api, field] = place(path);
    api->SetInt32(part, field, value);
  }
  void operator()(std::string_view path, double value) const {
    const auto [part, api, field] = place(path);
    api->SetDouble(part, field, value);
  }
  void operator()(std::string_view path, int64_t value) const {
    const auto [part, api, field] = place(path);
    api->SetInt64(part, field, value);
  }
  void operator()(std::string_view path, const std::vector<std::string>& values) const {
    const auto [part, api, field] = place(path);
    for (const std::string& value : values) api->AddString(part, field, to_utf8(value));
  }
  template <class Policy>
  requires std::is_enum_v<Policy>
  void operator()(std::string_view path, Policy value) const { (*this)(path, std::string(to_string(value))); }
  void operator()(std::string_view path, Outcome value) const {
    const auto [part, api, field] = place(path);
    const std::string name = std::string(kOutcomePrefix) + mapped(to_string(value), &toupper);
    const auto* known = field->enum_type()->FindValueByName(name);
    BICRL_CHECK(known, "the protocol has no ", name);
    api->SetEnum(part, field, known);
  }

 private:
  Place<Message> place(std::string_view path) const {
    return place_of(message_, path, [](Message& part, const FieldDescriptor* field) {
      return part.GetReflection()->MutableMessage(&part, field);
    });
  }
  Message& message_;
};

// Reads the field at a path. Protobuf ends the process if the field is of another type.
class MessageReader {
 public:
  explicit MessageReader(const Message& message) : message_(message) {}
  void operator()(std::string_view path, std::string& value) {
    const auto [part, api, field] = place(path);
    value = api->GetString(*part, field);
  }
  void operator()(std::string_view path, bool& value) {
    const auto [part, api, field] = place(path);
    value = api->GetBool(*part, field);
  }
  void operator()(std::string_view path, int& value) {
    const auto [part, api, field] = place(path);
    value = api->GetInt32(*part, field);
  }
  void operator()(std::string_view path, double& value) {
    const auto [part, api, field] = place(path);
    value = api->GetDouble(*part, field);
  }
  void operator()(std::string_view path, int64_t& value) {
    const auto [part, api, field] = place(path);
    value = api->GetInt64(*part, field);
  }
  void operator()(std::string_view path, std::vector<std::string>& values) {
    const auto [part, api, field] = place(path);
    values.resize(static_cast<size_t>(api->FieldSize(*part, field)));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = api->GetRepeatedString(*part, field, static_cast<int>(i));
  }
  void operator()(std::string_view path, TolerancePolicy& value) {
    read_policy(path, value, parse_tolerance, "open, profile, tf32, published");
  }
  void operator()(std::string_view path, SizePolicy& value) {
    read_policy(path, value, parse_size_policy, "open, fitting, own, reduced");
  }
  void operator()(std::string_view path, SpecialisedPolicy& value) {
    read_policy(path, value, parse_specialised_policy, "open, wrong, mask");
  }
  void operator()(std::string_view path, Outcome& value) {
    const auto [part, api, field] = place(path);
    const int number = api->GetEnumValue(*part, field);
    const auto* known = field->enum_type()->FindValueByNumber(number);
    const auto outcome =
        known ? parse_outcome(mapped(known->name().substr(kOutcomePrefix.size()), &tolower)) : std::nullopt;
    if (outcome)
      value = *outcome;
    else
      problem_ = concat("the reply states no known outcome (", number, ")");
  }
  // Empty, or why what was read is no answer.
  const std::string& problem() const { return problem_; }

 private:
  template <class Policy, class Parse>
  void read_policy(std::string_view path, Policy& value, const Parse& parse, const char* names) {
    std::string name;
    (*this)(path, name);
    if (name.empty())
      value = Policy::kOpen;
    else if (const auto known = parse(name))
      value = *known;
    else
      problem_ = concat(path, " is '", to_utf8(name).substr(0, 80), "', not one of ", names);
  }
  Place<const Message> place(std::string_view path) const {
    return place_of(message_, path, [](const Message& part, const FieldDescriptor* field) {
      return &part.GetReflection()->GetMessage(part, field);
    });
  }
  const Message& message_;
  std::string problem_;
};

// The fields of the other structs by their paths, one list each for both directions.
template <class ProtocolType, class Visit>
void for_each_protocol_field(ProtocolType& protocol, Visit& visit) {
  visit("protocol.tolerance", protocol.tolerance);
  visit("protocol.trials", protocol.trials);
  visit("protocol.measure_time", protocol.measure_time);
  visit("protocol.size", protocol.size);
  visit("protocol.specialised", protocol.specialised);
}

template <class RequestType, class Visit>
void for_each_request_field(RequestType& request, Visit&& visit) {
  visit("request_id", request.request_id);
  visit("task.id", request.task_id);
  visit("task.pytorch_code", request.pytorch_code);
  visit("task.reduced_sizes", request.reduced_sizes);
  visit("program", request.program);
  for_each_protocol_field(request.protocol, visit);
  visit("bypass_cache", request.fresh);
}

template <class DescriptionType, class Visit>
void for_each_description_field(DescriptionType& description, Visit&& visit) {
  visit("backend", description.backend);
  visit("protocol_version", description.protocol_version);
  visit("workers", description.workers);
  visit("sandbox_features", description.sandbox_features);
  visit("missing_features", description.missing_features);
  visit("verified", description.verified);
  visit("cache_hits", description.cache_hits);
  for_each_protocol_field(description.protocol, visit);
  visit("clock", description.clock);
  visit("device", description.device);
}

}  // namespace

void to_wire(const Verdict& verdict, wire::Verdict& message) {
  message.Clear();
  const MessageWriter write(message);
  for_each_field(verdict, [&](const auto& field, const auto& value) { write(field.path, value); });
}

Result<Verdict> from_wire(const wire::Verdict& message) {
  Verdict verdict;
  MessageReader read(message);
  for_each_field(verdict, [&](const auto& field, auto& value) { read(field.path, value); });
  if (!read.problem().empty()) return Result<Verdict>::failure(read.problem());
  if (const std::string problem = verdict_problem(verdict); !problem.empty())
    return Result<Verdict>::failure("the reply contradicts itself: " + problem);
  return verdict;
}

void to_wire(const VerificationRequest& request, wire::VerifyRequest& message) {
  message.Clear();
  for_each_request_field(request, MessageWriter(message));
}

Result<VerificationRequest> from_wire(const wire::VerifyRequest& message) {
  VerificationRequest request;
  MessageReader read(message);
  for_each_request_field(request, read);
  if (!read.problem().empty()) return Result<VerificationRequest>::failure(read.problem());
  // Wishes of another version, which would not be granted.
  const auto& protocol = message.protocol();
  if (protocol.GetReflection()->GetUnknownFields(protocol).field_count() > 0)
    return Result<VerificationRequest>::failure(
        concat("protocol has a field that protocol ", kProtocolVersion,
               " does not know (an earlier one had "
               "atol and rtol in place of tolerance): use the same version of client and verifier"));
  if (const std::string problem = request_problem(request); !problem.empty())
    return Result<VerificationRequest>::failure(problem);
  return request;
}

void to_wire(const VerifierDescription& description, wire::DescribeReply& message) {
  message.Clear();
  for_each_description_field(description, MessageWriter(message));
}

Result<VerifierDescription> from_wire(const wire::DescribeReply& message) {
  VerifierDescription description;
  MessageReader read(message);
  for_each_description_field(description, read);
  if (!read.problem().empty()) return Result<VerifierDescription>::failure(read.problem());
  return description;
}

}  // namespace bicrl
