#include "sandbox/oracle/reduced_sizes.h"

#include "common/error.h"
#include "sandbox/oracle/oracle.h"

namespace bicrl {
namespace {

constexpr size_t kMostVariants = 32;
constexpr size_t kMaxCodeBytes = 1 << 20;

std::string sizes_text(const nlohmann::json& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes.items())
    text += concat(text.empty() ? "" : ", ", name, "=", value.get<int64_t>());
  return text;
}

SizeVariant read_variant(const nlohmann::json& entry) {
  SizeVariant variant{.code = entry.at("code").get<std::string>(),
                      .sizes = sizes_text(entry.at("sizes")),
                      .is_long = entry.at("long").get<bool>(),
                      .input_bytes = entry.at("input_bytes").get<uint64_t>(),
                      .output_bytes = entry.at("output_bytes").get<uint64_t>(),
                      .lane_operations = entry.at("lane_operations").get<double>()};
  if (variant.code.size() > kMaxCodeBytes) throw InputError("a variant of its text is too long");
  return variant;
}

}  // namespace

ReducedSizes read_reduced_sizes(Frame frame, int64_t init_seed) {
  const nlohmann::json& header = frame.header;
  ReducedSizes sizes;
  auto own = std::make_shared<OracleSpec>();
  own->inputs = header.at("inputs");
  own->arguments = header.at("arguments");
  own->argument_bytes = std::move(frame.blobs);
  own->parameters = header.at("parameters");
  own->init_seed = init_seed;
  own->is_recorded_only = true;
  own->has_costing_inputs = header.at("has_costing_inputs").get<bool>();
  own->ignores_mode = header.at("ignores_mode").get<bool>();
  auto layout = input_layout(own->inputs);
  if (!layout) throw InputError(layout.reason());
  own->layout = std::move(layout.value());
  sizes.own = std::move(own);
  sizes.returned = header.at("answer");
  sizes.input_bytes = header.at("input_bytes");
  sizes.output_bytes = header.at("output_bytes");
  sizes.parameter_bytes = header.at("parameter_bytes");
  sizes.lane_operations = header.at("lane_operations");
  sizes.reference = read_reference_launches(header.at("operators"));
  for (const auto& entry : header.at("variants")) sizes.variants.push_back(read_variant(entry));
  if (sizes.variants.empty() || sizes.variants.size() > kMostVariants)
    throw InputError("it has no variants, or too many");
  return sizes;
}

}  // namespace bicrl
