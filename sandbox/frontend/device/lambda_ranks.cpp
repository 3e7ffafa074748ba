#include "sandbox/frontend/device/lambda_ranks.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace bicrl {
namespace {

// A name that holds more stays as it is: each costs a look at all names.
constexpr size_t kMaxLambdas = 64;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A mangled name in pieces: text, number, text, number, ..., text.
struct Pieces {
  std::vector<std::string> texts;
  std::vector<long> numbers;  // -1 for the first lambda, whose number is not written
};

class Reader {
 public:
  explicit Reader(std::string_view name) : name_(name) {}

  Pieces run() {
    Pieces pieces;
    size_t begin = 0;
    while (i_ < name_.size()) {
      if (at(i_) != 'U' || at(i_ + 1) != 'l') {
        step();
        continue;
      }
      i_ += 2;
      if (!skip_parameters()) continue;
      const size_t digits = i_;
      long number = -1;
      while (is_digit(at(i_)) && i_ - digits < 9) number = std::max(number, 0L) * 10 + (at(i_++) - '0');
      if (at(i_) != '_') continue;
      pieces.texts.emplace_back(name_.substr(begin, digits - begin));
      pieces.numbers.push_back(number);
      begin = i_;
    }
    pieces.texts.emplace_back(name_.substr(begin));
    if (pieces.numbers.size() > kMaxLambdas) return {{std::string(name_)}, {}};
    return pieces;
  }

 private:
  char at(size_t i) const { return i < name_.size() ? name_[i] : '\0'; }

  // Over one character, or one identifier with its length in front.
  void step() {
    if (!is_digit(at(i_))) {
      ++i_;
      return;
    }
    size_t length = 0, after = i_;
    while (is_digit(at(after)) && length < name_.size())
      length = length * 10 + static_cast<size_t>(at(after++) - '0');
    const bool counted =
        i_ > 0 && (at(i_ - 1) == 'S' || at(i_ - 1) == 'T' || at(i_ - 1) == 'A' || at(i_ - 1) == 'E');
    i_ = counted && at(after) == '_' ? after : std::min(after + length, name_.size());
  }

  // To behind the E that ends the parameters.
  bool skip_parameters() {
    for (int depth = 0; i_ < name_.size();) {
      const char c = at(i_);
      if (c == 'L' && skip_number()) continue;
      if (c == 'E' && depth-- == 0) {
        ++i_;
        return true;
      }
      depth += c == 'N' || c == 'I' || c == 'F' || c == 'J' || c == 'X' || c == 'Z' ||
               (c == 'L' && !is_digit(at(i_ + 1)));
      step();
    }
    return false;
  }

  // A literal of a built-in type, Li3E or Lin3E, whose digits are no length.
  bool skip_number() {
    size_t i = i_ + 1;
    if (at(i) < 'a' || at(i) > 'z') return false;
    i += 1 + (at(i + 1) == 'n');
    if (!is_digit(at(i))) return false;
    while (is_digit(at(i))) ++i;
    if (at(i) != 'E') return false;
    i_ = i + 1;
    return true;
  }

  std::string_view name_;
  size_t i_ = 0;
};

}  // namespace

std::vector<std::string> rank_lambdas(const std::vector<std::string>& names) {
  std::vector<Pieces> all;
  size_t most = 0;
  for (const std::string& name : names) {
    all.push_back(name.find("Ul") == std::string::npos ? Pieces{{name}, {}} : Reader(name).run());
    most = std::max(most, all.back().numbers.size());
  }
  std::vector<std::string> ranked;
  for (const Pieces& pieces : all) ranked.push_back(pieces.texts[0]);
  for (size_t n = 0; n < most; ++n) {
    std::map<std::string, std::set<long>> numbers;
    for (size_t i = 0; i < all.size(); ++i)
      if (n < all[i].numbers.size()) numbers[ranked[i]].insert(all[i].numbers[n]);
    for (size_t i = 0; i < all.size(); ++i) {
      if (n >= all[i].numbers.size()) continue;
      const std::set<long>& known = numbers[ranked[i]];
      const auto rank = std::distance(known.begin(), known.find(all[i].numbers[n]));
      ranked[i] += (rank ? std::to_string(rank - 1) : "") + all[i].texts[n + 1];
    }
  }
  return ranked;
}

}  // namespace bicrl
