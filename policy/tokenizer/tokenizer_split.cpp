#include "policy/tokenizer/tokenizer_split.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>

#include "common/error.h"

namespace bicrl {
namespace {

// PCRE2's \s also holds U+180E, which is white space to nobody else; so white space is spelled out.
constexpr const char* kSpaces =
    R"(\x09-\x0D\x20\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

// Patterns come with a model from elsewhere. Those of published tokenizers have some hundred characters, take
// a few steps for each character of a match, and stand in lists of at most five.
constexpr size_t kMaxPatterns = 16;
constexpr size_t kMaxPatternBytes = 10'000;
constexpr uint32_t kStepsPerCharacter = 16, kStepsAtLeast = 20'000;
constexpr uint32_t kMaxHeap_kib = 256 << 10;

std::string spell_out_spaces(const std::string& pattern, const std::string& source) {
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '\\' || i + 1 == pattern.size()) {
      if (pattern[i] == '[') in_class = true;
      if (pattern[i] == ']') in_class = false;
      out += pattern[i];
      continue;
    }
    const char escaped = pattern[++i];
    if (escaped == 's')
      out += in_class ? std::string(kSpaces) : concat("[", kSpaces, "]");
    else if (escaped == 'S' && !in_class)
      out += concat("[^", kSpaces, "]");
    else if (escaped == 'S')
      throw InputError(concat(source, ": split pattern: \\S inside a class is not supported: ", pattern));
    else
      out.append({'\\', escaped});
  }
  return out;
}

std::string message_of(int code) {
  PCRE2_UCHAR buffer[256];
  pcre2_get_error_message(code, buffer, sizeof buffer);
  return reinterpret_cast<const char*>(buffer);
}

struct FreeCode {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct FreeMatch {
  void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
};

struct FreeContext {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};
using MatchContext = std::unique_ptr<pcre2_match_context, FreeContext>;

// Limits for matching at one place of the text, so that a pattern that backtracks without end fails instead.
MatchContext limits_for(std::string_view text) {
  MatchContext context(pcre2_match_context_create(nullptr));
  BICRL_CHECK(context != nullptr);
  const uint64_t steps = kStepsAtLeast + uint64_t{kStepsPerCharacter} * text.size();
  pcre2_set_match_limit(context.get(), static_cast<uint32_t>(std::min<uint64_t>(steps, UINT32_MAX)));
  pcre2_set_heap_limit(context.get(), kMaxHeap_kib);
  return context;
}

}  // namespace

struct PreSplitter::Pattern {
  std::string text;
  std::unique_ptr<pcre2_code, FreeCode> code;
};

void PreSplitter::refuse(const Pattern& pattern, const std::string& reason) const {
  throw InputError(concat(source_, ": split pattern: ", reason, ": ", pattern.text));
}

PreSplitter::PreSplitter(const std::vector<std::string>& patterns, const std::string& source)
    : source_(source) {
  if (patterns.size() > kMaxPatterns)
    throw InputError(
        concat(source, ": ", patterns.size(), " split patterns; at most ", kMaxPatterns, " are supported"));
  for (const auto& pattern : patterns) {
    if (pattern.size() > kMaxPatternBytes)
      throw InputError(concat(source, ": split pattern: has ", pattern.size(), " bytes, at most ",
                              kMaxPatternBytes, " are supported"));
    const std::string text = spell_out_spaces(pattern, source);
    int error = 0;
    PCRE2_SIZE at = 0;
    std::unique_ptr<pcre2_code, FreeCode> code(
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                      // \C would split characters.
                      PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &at, nullptr));
    if (!code) throw InputError(concat(source, ": split pattern: ", message_of(error), ": ", pattern));
    uint32_t may_be_empty = 0;
    pcre2_pattern_info(code.get(), PCRE2_INFO_MATCHEMPTY, &may_be_empty);
    if (may_be_empty) throw InputError(concat(source, ": split pattern: matches the empty text: ", pattern));
    // If the machine forbids writable code pages this fails, and matching interprets the pattern.
    pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
    patterns_.push_back({pattern, std::move(code)});
  }
}

PreSplitter::~PreSplitter() = default;
PreSplitter::PreSplitter(PreSplitter&&) noexcept = default;

void PreSplitter::split(std::string_view text, const std::function<void(std::string_view)>& piece) const {
  if (!text.empty()) split_by(0, text, piece);
}

void PreSplitter::split_by(size_t index, std::string_view text,
                           const std::function<void(std::string_view)>& piece) const {
  if (index == patterns_.size()) return piece(text);
  pcre2_code* code = patterns_[index].code.get();
  const std::unique_ptr<pcre2_match_data, FreeMatch> match(
      pcre2_match_data_create_from_pattern(code, nullptr));
  BICRL_CHECK(match != nullptr);
  const MatchContext limits = limits_for(text);
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const auto hand_on = [&](size_t begin, size_t end) {
    if (begin < end) split_by(index + 1, text.substr(begin, end - begin), piece);
  };
  size_t at = 0;
  while (at < text.size()) {
    int found = pcre2_match(code, subject, text.size(), at, PCRE2_NO_UTF_CHECK, match.get(), limits.get());
    if (found == PCRE2_ERROR_JIT_STACKLIMIT)
      found = pcre2_match(code, subject, text.size(), at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, match.get(),
                          limits.get());
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0) refuse(patterns_[index], message_of(found));
    const PCRE2_SIZE* span = pcre2_get_ovector_pointer(match.get());
    // \K can move the beginning of a match behind its end.
    if (span[0] >= span[1] || span[0] < at) refuse(patterns_[index], "an empty or backward match");
    hand_on(at, span[0]);
    hand_on(span[0], span[1]);
    at = span[1];
  }
  hand_on(at, text.size());
}

}  // namespace bicrl
