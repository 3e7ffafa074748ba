// Every response of a run as text, for a person or a data set: RUN/texts/PHASE-STEP-rank-R.jsonl.gz, a line
// for each response that the rank generated, with prompt, text, verdict, reward, its terms and advantage. A
// step that is taken again replaces its file. Each line also has how the response was denoised
// (episode/denoising_record.h). Each rank writes its own; not thread-safe.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "episode/denoising_record.h"
#include "episode/episode.h"
#include "policy/tokenizer/tokenizer.h"

namespace bicrl {

// What a rollout's tokens say beside its text.
struct TokenTexts {
  std::string prompt{};
  DenoisingRecord denoising{};
};
// Of a rollout that has its tokens.
TokenTexts token_texts_of(const Rollout& rollout, const Tokenizer& tokenizer, int64_t block_tokens);

class TextArchive {
 public:
  // Makes the folder when the first file is written.
  TextArchive(std::filesystem::path folder, const Tokenizer& tokenizer, int64_t block_tokens, int rank)
      : folder_(std::move(folder)), tokenizer_(tokenizer), block_tokens_(block_tokens), rank_(rank) {}

  // This rank's episodes of a step. Throws Error with path and reason.
  void write(const std::string& phase, int64_t step, const std::vector<Episode>& episodes) const;

 private:
  std::filesystem::path folder_;
  const Tokenizer& tokenizer_;
  int64_t block_tokens_;
  int rank_;
};

}  // namespace bicrl
