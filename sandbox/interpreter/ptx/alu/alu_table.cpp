#include "sandbox/interpreter/ptx/alu/alu_table.h"

#include <stdexcept>

namespace bicrl::ptx {

void AluTable::add(std::string_view pattern, const AluEntry& entry) {
  size_t open = pattern.find('{');
  if (open == std::string_view::npos) {
    if (!entries_.emplace(pattern, entry).second)
      throw std::logic_error("the table of arithmetic has " + std::string(pattern) + " twice");
    return;
  }
  size_t close = pattern.find('}', open);
  std::string_view choices = pattern.substr(open + 1, close - open - 1);
  for (bool more = true; more;) {
    size_t bar = choices.find('|');
    more = bar != std::string_view::npos;
    std::string chosen(pattern.substr(0, open));
    chosen += choices.substr(0, bar);
    chosen += pattern.substr(close + 1);
    add(chosen, entry);
    if (more) choices.remove_prefix(bar + 1);
  }
}

void AluTable::add(std::string_view pattern, std::string_view type, const AluEntry& entry) {
  std::string typed;
  for (char c : pattern) {
    if (c == '$')
      typed += type;
    else
      typed += c;
  }
  add(typed, entry);
}

const AluEntry* AluTable::find(const std::string& name) const {
  auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second;
}

}  // namespace bicrl::ptx
