// Splits text into pre-tokens by a tokenizer's regular expressions.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace bicrl {

// Compiled patterns; each isolates its matches inside the pieces that the one before left. Immutable after
// construction, so that several threads may split at once.
class PreSplitter {
 public:
  // Throws InputError naming `source` and the pattern.
  PreSplitter(const std::vector<std::string>& patterns, const std::string& source);
  ~PreSplitter();
  PreSplitter(PreSplitter&&) noexcept;

  // Calls `piece` for every piece of `text` (valid UTF-8), in order; together the pieces are the text. Throws
  // InputError if a pattern matches nothing at all or takes more than a bounded effort at one place.
  void split(std::string_view text, const std::function<void(std::string_view)>& piece) const;

 private:
  struct Pattern;
  [[noreturn]] void refuse(const Pattern& pattern, const std::string& reason) const;
  void split_by(size_t index, std::string_view text,
                const std::function<void(std::string_view)>& piece) const;
  std::vector<Pattern> patterns_;
  std::string source_;
};

}  // namespace bicrl
