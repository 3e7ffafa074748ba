#include "rollout/response_end.h"

#include <algorithm>

#include "common/error.h"

namespace bicrl {

ResponseReader::ResponseReader(const Tokenizer& tokenizer, std::vector<int64_t> end_tokens,
                               std::string delimiter)
    : tokenizer_(tokenizer), end_tokens_(std::move(end_tokens)), delimiter_(std::move(delimiter)) {}

bool ResponseReader::read(int64_t token) {
  BICRL_CHECK(reason_ == FinishReason::kTokenLimit, "the response has ended");
  tokens_.push_back(token);
  if (std::find(end_tokens_.begin(), end_tokens_.end(), token) != end_tokens_.end()) {
    reason_ = FinishReason::kEndToken;
    return true;
  }
  if (delimiter_.empty()) return false;
  const size_t seen = bytes_.size();
  bytes_ += tokenizer_.bytes(token);
  const size_t from = seen < delimiter_.size() ? 0 : seen - delimiter_.size() + 1;
  if (bytes_.find(delimiter_, from) == std::string::npos) return false;
  reason_ = FinishReason::kDelimiter;
  return true;
}

ResponseEnd ResponseReader::end() const {
  ResponseEnd end;
  end.reason = reason_;
  end.scored_tokens = static_cast<int64_t>(tokens_.size());
  std::vector<int64_t> spoken = tokens_;
  if (reason_ == FinishReason::kEndToken) spoken.pop_back();
  end.text = tokenizer_.decode(spoken);
  if (reason_ == FinishReason::kDelimiter)
    end.text.resize(std::min(end.text.size(), end.text.find(delimiter_)));
  return end;
}

}  // namespace bicrl
