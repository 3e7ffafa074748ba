#include "episode/denoising_record.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <numeric>

#include "common/error.h"
#include "common/utf8.h"

namespace bicrl {
namespace {

std::string joined(std::vector<std::string>::const_iterator begin,
                   std::vector<std::string>::const_iterator end) {
  return std::accumulate(begin, end, std::string());
}

// Where the generated text begins in that of the response. A clamped response begins with a prefix with which
// its prompt ended, any other with what was generated.
size_t place_in_text(const std::string& text, const std::string& generated, const std::string& prompt,
                     bool clamped) {
  if (!clamped) return text.starts_with(generated) ? 0 : std::string::npos;
  for (size_t at = text.rfind(generated); at != std::string::npos; at = text.rfind(generated, at - 1)) {
    if (prompt.ends_with(std::string_view(text).substr(0, at))) return at;
    if (at == 0) break;
  }
  return std::string::npos;
}

}  // namespace

DenoisingRecord denoising_record(const Rollout& rollout, const std::vector<std::string>& raw_pieces,
                                 const std::string& prompt, int64_t block_tokens) {
  BICRL_CHECK(std::ssize(raw_pieces) == rollout.response_tokens() && block_tokens > 0);
  std::vector<std::string> pieces = raw_pieces;
  const std::string whole = joined(pieces.begin(), pieces.end());
  // A character may straddle tokens; what is no text at all is made text piece by piece, so that lengths
  // count bytes of what is written.
  if (to_utf8(whole) != whole)
    for (std::string& piece : pieces) piece = to_utf8(piece);
  DenoisingRecord record{.block_tokens = block_tokens,
                         .offset_in_block = rollout.prompt_tokens % block_tokens};
  // The last scored token ends the response: the text may hold a part of it, or nothing.
  const auto scored = std::max<int64_t>(rollout.scored_tokens(), 0);
  auto text_end = pieces.begin() + scored;
  size_t place = std::string::npos;
  for (int dropped = 0; dropped < 2 && text_end >= pieces.begin(); ++dropped) {
    place = place_in_text(rollout.text, joined(pieces.begin(), text_end), prompt, rollout.clamped);
    if (place != std::string::npos || text_end == pieces.begin()) break;
    --text_end;
  }
  if (place == std::string::npos) {
    place = 0;
    text_end = pieces.begin();
  }
  record.text_begin = static_cast<int64_t>(place);
  record.text_bytes = static_cast<int64_t>(joined(pieces.begin(), text_end).size());
  record.tail = joined(text_end, pieces.end());
  for (const std::string& piece : pieces) record.bytes.push_back(static_cast<int32_t>(piece.size()));
  record.steps = rollout.step_map;
  for (const float value : rollout.log_probs) record.log_probs.push_back(std::round(value * 100) / 100);
  return record;
}

std::vector<std::string> pieces_of(const DenoisingRecord& record, const std::string& text) {
  const auto size = static_cast<int64_t>(text.size());
  if (record.text_begin < 0 || record.text_bytes < 0 || record.text_begin > size ||
      record.text_bytes > size - record.text_begin)
    return {};
  const std::string whole =
      text.substr(static_cast<size_t>(record.text_begin), static_cast<size_t>(record.text_bytes)) +
      record.tail;
  std::vector<std::string> pieces;
  size_t at = 0;
  for (const int32_t bytes : record.bytes) {
    if (bytes < 0 || static_cast<size_t>(bytes) > whole.size() - at) return {};
    pieces.push_back(whole.substr(at, static_cast<size_t>(bytes)));
    at += static_cast<size_t>(bytes);
  }
  if (at != whole.size()) return {};
  return pieces;
}

nlohmann::json to_json(const DenoisingRecord& record) {
  // Changes of steps and whole hundredths compress to less than two bytes a token.
  std::vector<int64_t> changes, hundredths;
  int64_t before = 0;
  for (const int32_t step : record.steps) {
    changes.push_back(std::abs(step) - before);
    before = std::abs(step);
  }
  for (const float value : record.log_probs) hundredths.push_back(std::llround(100 * double{value}));
  const auto end = std::ranges::find_if(record.steps, [](int32_t step) { return step < 0; });
  return {{"block_tokens", record.block_tokens},
          {"offset_in_block", record.offset_in_block},
          {"text_begin", record.text_begin},
          {"text_bytes", record.text_bytes},
          {"tail", record.tail},
          {"bytes", record.bytes},
          {"scored_tokens", end - record.steps.begin()},
          {"step_changes", changes},
          {"log_prob_hundredths", hundredths}};
}

DenoisingRecord denoising_record_from_json(const nlohmann::json& json) try {
  DenoisingRecord record;
  json.at("block_tokens").get_to(record.block_tokens);
  json.at("offset_in_block").get_to(record.offset_in_block);
  json.at("text_begin").get_to(record.text_begin);
  json.at("text_bytes").get_to(record.text_bytes);
  json.at("tail").get_to(record.tail);
  json.at("bytes").get_to(record.bytes);
  const auto scored = json.at("scored_tokens").get<size_t>();
  int64_t step = 0;
  for (const auto& change : json.at("step_changes")) {
    step = std::clamp<int64_t>(step + change.get<int32_t>(), 0, INT32_MAX);
    record.steps.push_back(static_cast<int32_t>(record.steps.size() < scored ? step : -step));
  }
  for (const auto& value : json.at("log_prob_hundredths"))
    record.log_probs.push_back(static_cast<float>(value.get<double>() / 100));
  if (record.block_tokens <= 0 || record.offset_in_block < 0 || record.steps.size() != record.bytes.size() ||
      record.log_probs.size() != record.bytes.size())
    throw InputError("denoising: its lists have different lengths");
  return record;
} catch (const nlohmann::json::exception& error) {
  throw InputError(concat("denoising: ", error.what()));
}

}  // namespace bicrl
