// Finds where a response ends: at an end token, or where the generated text completes a delimiter. The
// delimiter is looked for in text, as it may straddle tokens or share one with what follows it. One reader
// for each sequence; refers to the tokenizer; not thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/tokenizer/tokenizer_stream.h"
#include "rollout/rollout.h"

namespace bicrl {

struct ResponseEnd {
  FinishReason reason = FinishReason::kTokenLimit;
  int64_t scored_tokens = 0;  // up to and including the one that ended the response
  std::string text;           // generated text before that end token or the delimiter
};

class ResponseReader {
 public:
  // Any of the end tokens ends a response, and so does the delimiter; an empty one is none. drawn_tokens: of
  // a bench, the number of the token that ends it, whatever it is, and no other one does; 0: none is drawn.
  ResponseReader(const Tokenizer& tokenizer, std::vector<int64_t> end_tokens, std::string delimiter,
                 int64_t drawn_tokens = 0);

  // Takes the next generated token; returns whether the response ends with it. Not to be called after the
  // end.
  bool read(int64_t token);
  // The end that read() found, or the token limit if it found none; nothing is read after that.
  ResponseEnd end();

 private:
  TextStream stream_;
  std::vector<int64_t> end_tokens_;
  std::string delimiter_;
  int64_t drawn_tokens_;
  std::string text_;
  int64_t tokens_ = 0;
  FinishReason reason_ = FinishReason::kTokenLimit;
};

}  // namespace bicrl
