#include "sandbox/frontend/split/splitter_kernels.h"

namespace bicrl {

void KernelNames::note(const DeviceFunction& f) {
  if (f.is_specialization || is_pasted(f.name)) return;
  Known& known = known_[std::string(t_.at(f.name))];
  known.definitions += f.body != DeviceFunction::npos;
  if (f.template_begin != DeviceFunction::npos) {
    known.is_template = true;
    const std::vector<std::string> parameters = template_parameters(f, known.variadic);
    if (parameters.size() > known.parameters.size()) known.parameters = parameters;
  }
  std::vector<std::string> defaults;
  for (const auto& [from, to] :
       f.open == DeviceFunction::npos ? TokenWalk::Parts() : walk_.parts(f.open, f.close)) {
    const size_t at = walk_.default_of(from, to);
    defaults.push_back(at == to ? "" : t_.flat(at + 1, to));
  }
  if (known.defaults.empty()) known.defaults = defaults;
  for (size_t i = 0; i < defaults.size() && i < known.defaults.size(); ++i)
    if (known.defaults[i].empty()) known.defaults[i] = defaults[i];
}

bool KernelNames::needs_resolver(std::string_view name, size_t template_arguments) const {
  const auto found = known_.find(name);
  if (found == known_.end()) return false;
  const Known& known = found->second;
  return known.definitions > 1 || known.variadic || template_arguments < known.parameters.size();
}

void KernelNames::add_resolver(const DeviceFunction& f, TextEdits& edits) {
  if (f.name == DeviceFunction::npos || f.open == DeviceFunction::npos || f.is_specialization ||
      is_pasted(f.name))
    return;
  const std::string text(t_.at(f.name));
  const Known& known = known_[text];
  if (!known.is_template && known.definitions < 2) return;
  // A definition after its declaration.
  if (known.definitions < 2 ? !resolved_.insert(text).second : f.body == DeviceFunction::npos) return;
  std::string head, arguments;
  if (f.template_begin != DeviceFunction::npos) {
    bool variadic = false;
    for (const std::string& parameter : template_parameters(f, variadic))
      arguments += (arguments.empty() ? "<" : ", ") + parameter;
    if (arguments.empty()) return;
    arguments += ">";
    head = t_.flat(f.template_begin, f.template_end + 1) + " ";
  }
  const std::string parameters = walk_.parameters_text(f.open, f.close);
  const size_t after = f.body != DeviceFunction::npos ? f.body_end : t_.next(f.close);
  if (after >= t_.size() || (f.body == DeviceFunction::npos && !walk_.punctuation(after, ';'))) return;
  edits.insert(walk_.end(after), " " + head + "inline auto bicrl_resolve_" + text + "(" + parameters +
                                     ") { return static_cast<void (*)(" + parameters + ")>(&" + text +
                                     arguments + "); } ");
}

std::string KernelNames::defaults_behind(std::string_view name, size_t given) const {
  const auto known = known_.find(name);
  if (known == known_.end() || known->second.definitions > 1) return "";
  const std::vector<std::string>& defaults = known->second.defaults;
  if (given >= defaults.size() || defaults[given].empty()) return "";
  std::string text;
  for (size_t i = given; i < defaults.size(); ++i) text += ", " + defaults[i];
  return text;
}

// ## makes the name: it is another one in each use of the macro.
bool KernelNames::is_pasted(size_t i) const {
  return walk_.punctuation(t_.previous(i), '#') || walk_.punctuation(t_.next(i), '#');
}

std::vector<std::string> KernelNames::template_parameters(const DeviceFunction& f, bool& variadic) const {
  std::vector<std::string> list;
  for (const auto& [from, to] : walk_.parts(t_.next(f.template_begin), f.template_end)) {
    const std::string parameter = parameter_name(from, to, variadic);
    if (parameter.empty()) return {};
    list.push_back(parameter);
  }
  return list;
}

std::string KernelNames::parameter_name(size_t from, size_t to, bool& variadic) const {
  size_t last = t_.size();
  bool pack = false;
  int depth = 0;
  for (size_t i = from; i < to; ++i) {
    if (walk_.punctuation(i, '<') || walk_.punctuation(i, '(')) ++depth;
    if (walk_.punctuation(i, '>') || walk_.punctuation(i, ')')) --depth;
    if (depth == 0 && walk_.punctuation(i, '=')) break;
    if (walk_.punctuation(i, '.')) pack = true;
    if (t_.is_identifier(i)) last = i;
  }
  if (last == t_.size() || t_.is(last, "typename") || t_.is(last, "class")) return "";
  variadic |= pack;
  return std::string(t_.at(last)) + (pack ? "..." : "");
}

}  // namespace bicrl
