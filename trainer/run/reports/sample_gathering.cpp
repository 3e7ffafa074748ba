#include "trainer/run/reports/sample_gathering.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "episode/episode_fields.h"
#include "trainer/run/reports/sample_choice.h"

namespace bicrl {
namespace {

using nlohmann::json;

json sample_json(const Episode& episode, const TokenTexts& tokens) {
  return {{"episode", to_json(episode, EpisodeForm::kSample)},
          {"prompt", tokens.prompt},
          {"denoising", to_json(tokens.denoising)}};
}

// CBOR keeps bytes that are no UTF-8, to which the record of the tokens refers.
std::string sample_bytes(const json& samples) {
  const std::vector<uint8_t> bytes = json::to_cbor(samples);
  return {bytes.begin(), bytes.end()};
}

void take_samples(const std::string& part, std::map<std::pair<int64_t, int64_t>, Episode*>& entries,
                  std::map<EpisodeKey, TokenTexts>& tokens) {
  for (const json& sample : json::from_cbor(part)) {
    Episode episode = episode_from_json(sample.at("episode"), EpisodeForm::kSample);
    tokens[episode.key] = {.prompt = sample.at("prompt").get<std::string>(),
                           .denoising = denoising_record_from_json(sample.at("denoising"))};
    // An entry that this rank trains is whole, and says more.
    Episode& entry = *entries.at({episode.key.group, episode.key.sample});
    if (entry.last().rollout.text.empty()) entry = std::move(episode);
  }
}

}  // namespace

std::map<EpisodeKey, TokenTexts> gather_samples(const std::vector<Episode>& generated,
                                                const SampleGathering& settings, ControlPlane& control,
                                                std::vector<Episode>& log) {
  std::map<EpisodeKey, TokenTexts> tokens;
  if (settings.most == 0) return tokens;
  json mine = json::array();
  for (const size_t index : sample_candidates(generated, settings.most)) {
    const Episode& episode = generated[index];
    TokenTexts texts = token_texts_of(episode.last().rollout, settings.tokenizer, settings.block_tokens);
    if (control.rank() == 0)
      tokens[episode.key] = std::move(texts);
    else
      mine.push_back(sample_json(episode, texts));
  }
  std::vector<std::string> parts(static_cast<size_t>(control.size()));
  if (control.rank() != 0) parts[0] = sample_bytes(mine);
  parts = control.all_to_all(parts);
  if (control.rank() != 0) return {};
  std::map<std::pair<int64_t, int64_t>, Episode*> entries;
  for (Episode& entry : log) entries[{entry.key.group, entry.key.sample}] = &entry;
  for (const std::string& part : parts)
    if (!part.empty()) take_samples(part, entries, tokens);
  return tokens;
}

}  // namespace bicrl
