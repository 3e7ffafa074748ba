#include "common/json.h"
#include "common/utf8.h"

namespace bicrl {
namespace {

using nlohmann::json;

constexpr size_t kExcerptBytes = 80;
constexpr size_t kReasonBytes = 300;
constexpr int kExcerptDepth = 8;

std::string shortened(const std::string& text, size_t most_bytes) {
  return text.size() <= most_bytes ? text : concat(utf8_head(text, most_bytes), "...");
}

std::string printed(const json& value) { return value.dump(-1, ' ', true, json::error_handler_t::replace); }

// Stops soon after `out` has grown to the excerpt's length.
void print_beginning(const json& value, int depth, std::string& out) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    out += printed(text.size() > kExcerptBytes ? json(text.substr(0, kExcerptBytes)) : value);
    return;
  }
  if (!value.is_structured()) {
    out += printed(value);
    return;
  }
  const bool is_object = value.is_object();
  out += is_object ? '{' : '[';
  bool first = true;
  for (auto item = value.begin(); item != value.end() && out.size() <= kExcerptBytes; ++item) {
    if (!first) out += ',';
    first = false;
    if (is_object) {
      print_beginning(item.key(), depth, out);
      out += ':';
    }
    if (depth >= kExcerptDepth)
      out += "...";
    else
      print_beginning(*item, depth + 1, out);
  }
  out += is_object ? '}' : ']';
}

// The parser's own words begin with "[json.exception...] " and quote the last token, however long it is.
std::string parse_reason(const json::exception& error) {
  const std::string text = error.what();
  const size_t end = text.find("] ");
  return shortened(end == std::string::npos ? text : text.substr(end + 2), kReasonBytes);
}

}  // namespace

bool is_too_deep_json(std::string_view text) {
  int depth = 0;
  bool in_text = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_text = false;
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxJsonDepth) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

Result<json> try_parse_json(std::string_view text) {
  if (is_too_deep_json(text))
    return Result<json>::failure(concat("nested more than ", kMaxJsonDepth, " levels deep"));
  try {
    return Result<json>(json::parse(text));
  } catch (const json::exception& error) {
    return Result<json>::failure(parse_reason(error));
  }
}

json parse_json(std::string_view text, const std::string& name) {
  auto parsed = try_parse_json(text);
  if (!parsed) throw InputError(concat(name, ": not valid JSON: ", parsed.reason()));
  return std::move(parsed.value());
}

std::string json_excerpt(const json& value) {
  std::string text;
  print_beginning(value, 0, text);
  return shortened(text, kExcerptBytes);
}

}  // namespace bicrl
