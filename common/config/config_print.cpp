// The resolved configuration as YAML.
#include <charconv>
#include <cmath>

#include "common/config/config_node.h"

namespace bicrl {
namespace {

using Pointer = ConfigNode::Pointer;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Words that some YAML reader takes for a boolean or null.
bool is_reserved(const std::string& text) {
  std::string lower;
  for (char c : text) lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  for (const char* word : {"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
    if (lower == word) return true;
  return false;
}

bool is_safe_plain(const std::string& text) {
  if (text.empty() || !(is_letter(text[0]) || text[0] == '/' || text[0] == '_') || is_reserved(text))
    return false;
  for (char c : text)
    if (!is_letter(c) && !(c >= '0' && c <= '9') && c != '_' && c != '-' && c != '.' && c != '/' && c != '+')
      return false;
  return true;
}

void print_section(const ConfigNode& node, const std::string& indent, bool first_inline, std::string& out) {
  for (const auto& [key, read] : node.reads) {
    out += (first_inline ? "" : indent) + yaml_text(key) + ":";
    first_inline = false;
    if (const auto* value = std::get_if<std::string>(&read)) {
      out += " " + *value + "\n";
    } else if (const auto* section = std::get_if<Pointer>(&read)) {
      out += (*section)->reads.empty() ? " {}\n" : "\n";
      print_section(**section, indent + "  ", false, out);
    } else {
      const auto& items = std::get<std::vector<Pointer>>(read);
      out += items.empty() ? " []\n" : "\n";
      for (const Pointer& item : items) {
        out += indent + "  - " + (item->reads.empty() ? "{}\n" : "");
        print_section(*item, indent + "    ", true, out);
      }
    }
  }
}

}  // namespace

std::string yaml_text(const std::string& text) {
  if (is_safe_plain(text)) return text;
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string yaml_real(double value) {
  if (std::isinf(value)) return value > 0 ? ".inf" : "-.inf";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return std::string(buffer, end);
}

std::string print_config_tree(const ConfigNode& root) {
  std::string out;
  print_section(root, "", false, out);
  return out.empty() ? "{}\n" : out;
}

}  // namespace bicrl
