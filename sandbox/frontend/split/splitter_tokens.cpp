#include "sandbox/frontend/split/splitter_tokens.h"

namespace bicrl {

int TokenWalk::bracket(size_t i) const {
  if (punctuation(i, '(') || punctuation(i, '[') || punctuation(i, '{') || punctuation(i, '<')) return 1;
  if (punctuation(i, ')') || punctuation(i, ']') || punctuation(i, '}') || punctuation(i, '>')) return -1;
  return 0;
}

size_t TokenWalk::opening_angle(size_t i) const {
  int depth = 0, round = 0;
  for (size_t n = 0; n < kReach; ++n) {
    if (punctuation(i, ')') || punctuation(i, ']')) ++round;
    if ((punctuation(i, '(') || punctuation(i, '[')) && --round < 0) return t_.size();
    if (round == 0 && punctuation(i, '>')) ++depth;
    if (round == 0 && punctuation(i, '<') && --depth == 0) return i;
    if (punctuation(i, ';') || punctuation(i, '{') || punctuation(i, '}') || i == 0) return t_.size();
    --i;
  }
  return t_.size();
}

TokenWalk::Parts TokenWalk::parts(size_t open, size_t close) const {
  Parts list;
  int depth = 0;
  size_t from = open + 1;
  for (size_t i = open + 1; i < close; ++i) {
    depth += bracket(i);
    if (depth == 0 && punctuation(i, ',')) {
      list.emplace_back(from, i);
      from = i + 1;
    }
  }
  if (t_.next(from - 1) < close) list.emplace_back(from, close);
  return list;
}

size_t TokenWalk::default_of(size_t from, size_t to) const {
  int depth = 0;
  for (size_t i = from; i < to; ++i) {
    depth += bracket(i);
    if (depth == 0 && punctuation(i, '=')) return i;
  }
  return to;
}

std::string TokenWalk::parameters_text(size_t open, size_t close) const {
  std::string text;
  for (const auto& [from, to] : parts(open, close))
    text += (text.empty() ? "" : ", ") + t_.flat(from, default_of(from, to));
  return text;
}

size_t TokenWalk::subscripted(size_t i) const {
  int depth = 0;
  for (size_t n = 0; n < kReach && i < t_.size(); ++n, i = t_.previous(i)) {
    if (punctuation(i, ']')) ++depth;
    if (punctuation(i, '[') && --depth == 0) return t_.previous(i);
  }
  return t_.size();
}

size_t TokenWalk::object_before(size_t i) const {
  for (size_t n = 0; n < 16; ++n) {
    size_t dot = t_.previous(i);
    if (punctuation(dot, '>') && punctuation(dot - 1, '-')) --dot;
    if (!punctuation(dot, '.') && !punctuation(dot, '-')) break;
    if (punctuation(dot, '-') && !punctuation(dot + 1, '>')) break;
    size_t object = t_.previous(dot);
    if (punctuation(object, ']')) object = subscripted(object);
    if (!t_.is_identifier(object)) break;
    i = object;
  }
  return i;
}

}  // namespace bicrl
