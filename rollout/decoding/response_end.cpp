#include "rollout/decoding/response_end.h"

#include <algorithm>

#include "common/error.h"

namespace bicrl {

ResponseReader::ResponseReader(const Tokenizer& tokenizer, std::vector<int64_t> end_tokens,
                               std::string delimiter, int64_t drawn_tokens)
    : stream_(tokenizer),
      end_tokens_(std::move(end_tokens)),
      delimiter_(std::move(delimiter)),
      drawn_tokens_(drawn_tokens) {}

bool ResponseReader::read(int64_t token) {
  BICRL_CHECK(reason_ == FinishReason::kTokenLimit, "the response has ended");
  ++tokens_;
  if (drawn_tokens_ > 0) {
    text_ += stream_.read(token);
    if (tokens_ < drawn_tokens_) return false;
    reason_ = delimiter_.empty() ? FinishReason::kEndToken : FinishReason::kDelimiter;
    return true;
  }
  if (std::find(end_tokens_.begin(), end_tokens_.end(), token) != end_tokens_.end()) {
    reason_ = FinishReason::kEndToken;
    return true;
  }
  const size_t seen = text_.size();
  text_ += stream_.read(token);
  if (delimiter_.empty()) return false;
  const size_t from = seen < delimiter_.size() ? 0 : seen - delimiter_.size() + 1;
  const size_t found = text_.find(delimiter_, from);
  if (found == std::string::npos) return false;
  text_.resize(found);
  reason_ = FinishReason::kDelimiter;
  return true;
}

ResponseEnd ResponseReader::end() {
  if (reason_ != FinishReason::kDelimiter) text_ += stream_.finish();
  return {.reason = reason_, .scored_tokens = tokens_, .text = text_};
}

}  // namespace bicrl
