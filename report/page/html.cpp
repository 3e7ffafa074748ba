#include "report/page/html.h"

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "common/utf8.h"

namespace bicrl::report {
namespace {

// Of well-formed UTF-8: the character at `at`, and how many bytes it has.
struct Character {
  uint32_t code = 0;
  size_t bytes = 1;
};

Character character_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[at + i])); };
  const uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xE0) return {(first & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  if (first < 0xF0) return {(first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
  return {(first & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F), 4};
}

bool misleads(uint32_t code) {
  if (code < 0x20) return code != '\n' && code != '\t';
  return (code >= 0x7F && code < 0xA0) || code == 0xAD || code == 0x61C || code == 0x180E ||
         (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF || (code >= 0xFFF0 && code <= 0xFFFB) ||
         (code >= 0xE0000 && code <= 0xE0FFF);
}

bool is_void(const char* name) {
  for (const char* each : {"br", "col", "hr", "img", "input", "link", "meta", "wbr"})
    if (std::strcmp(name, each) == 0) return true;
  return false;
}

}  // namespace

std::string visible_text(std::string_view untrusted) {
  const std::string valid = to_utf8(std::string(untrusted));
  std::string shown;
  shown.reserve(valid.size());
  for (size_t at = 0; at < valid.size();) {
    const auto [code, bytes] = character_at(valid, at);
    if (misleads(code)) {
      char number[16];
      snprintf(number, sizeof number, "[U+%04X]", code);
      shown += number;
    } else {
      shown.append(valid, at, bytes);
    }
    at += bytes;
  }
  return shown;
}

Html text(std::string_view untrusted) {
  std::string escaped;
  for (const char c : visible_text(untrusted)) switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      case '`':
        escaped += "&#96;";
        break;
      default:
        escaped += c;
    }
  return Html(Html::Safe(), std::move(escaped));
}

Html literal(const char* markup) { return Html(Html::Safe(), markup); }

Html element(const char* name, const Attributes& attributes, const Html& content) {
  std::string markup = std::string("<") + name;
  for (const auto& [key, value] : attributes)
    markup += std::string(" ") + key + "=\"" + text(value).markup() + "\"";
  markup += ">";
  if (is_void(name)) return Html(Html::Safe(), std::move(markup));
  return Html(Html::Safe(), markup + content.markup() + "</" + name + ">");
}

Html element(const char* name, const Html& content) { return element(name, Attributes{}, content); }

std::string json_for_script(const std::string& json) {
  std::string safe;
  safe.reserve(json.size());
  for (size_t at = 0; at < json.size(); ++at) {
    const char c = json[at];
    const bool is_separator = c == '\xE2' && at + 2 < json.size() && json[at + 1] == '\x80' &&
                              (json[at + 2] == '\xA8' || json[at + 2] == '\xA9');
    if (is_separator) {
      safe += json[at + 2] == '\xA8' ? "\\u2028" : "\\u2029";
      at += 2;
    } else if (c == '<' || c == '>' || c == '&') {
      safe += c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : "\\u0026";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace bicrl::report
