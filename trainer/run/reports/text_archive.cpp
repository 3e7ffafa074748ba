#include "trainer/run/reports/text_archive.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/files.h"
#include "common/files/gzip.h"
#include "episode/episode_fields.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

std::string file_name(const std::string& phase, int64_t step, int rank) {
  char digits[32];
  snprintf(digits, sizeof digits, "%06lld", static_cast<long long>(step));
  return concat(phase, "-", digits, "-rank-", rank, ".jsonl.gz");
}

}  // namespace

TokenTexts token_texts_of(const Rollout& rollout, const Tokenizer& tokenizer, int64_t block_tokens) {
  const auto response = rollout.tokens.begin() + rollout.prompt_tokens;
  std::vector<std::string> pieces;
  for (auto token = response; token != rollout.tokens.end(); ++token)
    pieces.emplace_back(tokenizer.has(*token) ? tokenizer.bytes(*token) : std::string_view());
  TokenTexts texts{.prompt = tokenizer.decode({rollout.tokens.begin(), response})};
  texts.denoising = denoising_record(rollout, pieces, texts.prompt, block_tokens);
  return texts;
}

void TextArchive::write(const std::string& phase, int64_t step, const std::vector<Episode>& episodes) const {
  std::string lines;
  for (const Episode& episode : episodes) {
    const TokenTexts tokens = token_texts_of(episode.last().rollout, tokenizer_, block_tokens_);
    nlohmann::json line = to_json(episode, EpisodeForm::kSample);
    line["prompt"] = tokens.prompt;
    line["denoising"] = to_json(tokens.denoising);
    lines += line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  std::error_code failure;
  fs::create_directories(folder_, failure);
  if (failure) throw Error(concat("cannot create ", folder_.string(), ": ", failure.message()));
  write_file_atomically(folder_ / file_name(phase, step, rank_), gzip(lines));
}

}  // namespace bicrl
