#include "sandbox/candidate/splitter_rewrite.h"

#include <algorithm>
#include <map>

namespace bicrl {
namespace {

// Longest distance, in tokens, that a launch's parts or a kernel's head are followed. Keeps the pass linear.
constexpr size_t kReach = 4000;

struct TemplateKernel {
  std::vector<std::string> parameters;  // "T", "N", "Ts..."
  bool variadic = false;
};

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text.substr(0, 120))
    if (c >= ' ' && c < 127 && c != '"' && c != '\\') out += c;
  return out + "\"";
}

class Rewriter {
 public:
  explicit Rewriter(const TokenText& source) : t_(source) {}

  RewrittenText run() {
    for (size_t i = 0; i < t_.size(); ++i)
      if (t_.is_identifier(i) && t_.at(i) == "__global__") kernel(i);
    for (size_t i = 0; i < t_.size(); ++i) {
      if (t_.is_identifier(i)) {
        if (t_.at(i) == "__shared__") shared(i);
        if (t_.at(i) == "__noinline__") replace(i, i, "__attribute__((noinline))");
      } else if (opens_launch(i)) {
        launch(i);
        i += 2;
      }
    }
    out_.text = edits_.apply(t_.text());
    return std::move(out_);
  }

 private:
  uint32_t begin(size_t i) const { return t_.tokens()[i].begin; }
  uint32_t end(size_t i) const { return t_.tokens()[i].end; }
  void replace(size_t first, size_t last, std::string text) {
    edits_.replace(begin(first), end(last), std::move(text));
  }
  bool punctuation(size_t i, char c) const {
    return i < t_.size() && t_.tokens()[i].kind == Token::Kind::kPunctuation && t_.text()[begin(i)] == c;
  }
  bool three(size_t i, char c) const {
    return punctuation(i, c) && punctuation(i + 1, c) && punctuation(i + 2, c);
  }
  bool opens_launch(size_t i) const { return three(i, '<'); }

  // The `<` that `>` at i closes, or size().
  size_t opening_angle(size_t i) const {
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
  size_t closing_angle(size_t i) const {
    int depth = 0, round = 0;
    for (size_t n = 0; n < kReach && i < t_.size(); ++n, ++i) {
      if (punctuation(i, '(') || punctuation(i, '[') || punctuation(i, '{')) ++round;
      if ((punctuation(i, ')') || punctuation(i, ']') || punctuation(i, '}')) && --round < 0)
        return t_.size();
      if (round == 0 && punctuation(i, '<')) ++depth;
      if (round == 0 && punctuation(i, '>') && --depth == 0) return i;
      if (punctuation(i, ';')) return t_.size();
    }
    return t_.size();
  }
  // Start of each part of (open, close), split at commas outside brackets.
  std::vector<std::pair<size_t, size_t>> parts(size_t open, size_t close) const {
    std::vector<std::pair<size_t, size_t>> list;
    int depth = 0;
    size_t from = open + 1;
    for (size_t i = open + 1; i < close; ++i) {
      if (punctuation(i, '(') || punctuation(i, '[') || punctuation(i, '{') || punctuation(i, '<')) ++depth;
      if (punctuation(i, ')') || punctuation(i, ']') || punctuation(i, '}') || punctuation(i, '>')) --depth;
      if (depth == 0 && punctuation(i, ',')) {
        list.emplace_back(from, i);
        from = i + 1;
      }
    }
    if (t_.next(from - 1) < close) list.emplace_back(from, close);
    return list;
  }

  // ---- Kernels: names, and for templates a function that resolves a launch to a specialisation.
  void kernel(size_t global) {
    size_t name = t_.next(global);
    for (size_t n = 0; n < 64 && name < t_.size(); ++n) {
      const size_t after = t_.next(name);
      if (t_.is_identifier(name) && punctuation(after, '(')) {
        const auto word = t_.at(name);
        if (word != "__launch_bounds__" && word != "__attribute__" && word != "alignas" &&
            word != "__maxnreg__" && word != "__cluster_dims__" && word != "__align__")
          break;
        name = t_.next(t_.closing(after, kReach));
        continue;
      }
      if (t_.is_identifier(name) && punctuation(after, '<')) break;  // an explicit specialisation
      if (punctuation(name, ';') || punctuation(name, '{') || punctuation(name, '#')) return;
      name = after;
    }
    if (!t_.is_identifier(name)) return;
    const std::string text(t_.at(name));
    if (std::find(out_.kernels.begin(), out_.kernels.end(), text) == out_.kernels.end())
      out_.kernels.push_back(text);
    const size_t open = t_.next(name);
    if (punctuation(open, '(')) template_kernel(global, name, open);
  }

  void template_kernel(size_t global, size_t name, size_t open) {
    size_t head = t_.size();
    size_t back = global;
    for (size_t n = 0; n < kReach; ++n) {
      back = t_.previous(back);
      if (back >= t_.size() || punctuation(back, ';') || punctuation(back, '}') || punctuation(back, '{'))
        break;
      if (t_.tokens()[back].kind == Token::Kind::kInclude) break;
      if (t_.is(back, "template")) head = back;
    }
    const size_t close = t_.closing(open, kReach);
    if (head == t_.size() || close == t_.size()) return;
    const size_t angle = t_.next(head), angle_close = closing_angle(angle);
    if (!punctuation(angle, '<') || angle_close == t_.size()) return;
    TemplateKernel info;
    std::string arguments;
    for (const auto& [from, to] : parts(angle, angle_close)) {
      const std::string parameter = parameter_name(from, to, info.variadic);
      if (parameter.empty()) return;
      arguments += (arguments.empty() ? "" : ", ") + parameter;
      info.parameters.push_back(parameter);
    }
    if (info.parameters.empty()) return;
    const std::string text(t_.at(name));
    const bool first = templates_.emplace(text, info).second;
    size_t after = t_.next(close);
    if (punctuation(after, '{')) after = t_.closing(after);
    if (after >= t_.size()) return;
    if (!first) return;  // a definition after its declaration
    edits_.insert(end(after), " " + t_.flat(head, angle_close + 1) + " inline auto bicrl_resolve_" + text +
                                  "(" + t_.flat(open + 1, close) + ") { return &" + text + "<" + arguments +
                                  ">; } ");
  }

  std::string parameter_name(size_t from, size_t to, bool& variadic) const {
    size_t last = t_.size();
    bool pack = false;
    int depth = 0;
    for (size_t i = from; i < to; ++i) {
      if (punctuation(i, '<') || punctuation(i, '(')) ++depth;
      if (punctuation(i, '>') || punctuation(i, ')')) --depth;
      if (depth == 0 && punctuation(i, '=')) break;
      if (punctuation(i, '.')) pack = true;
      if (t_.is_identifier(i)) last = i;
    }
    if (last == t_.size() || t_.is(last, "typename") || t_.is(last, "class")) return "";
    variadic |= pack;
    return std::string(t_.at(last)) + (pack ? "..." : "");
  }

  // ---- Launches: kernel<<<config>>>(arguments).
  void launch(size_t angles) {
    size_t close = t_.size();
    int depth = 0;
    for (size_t i = angles + 3, n = 0; i < t_.size() && n < kReach; ++i, ++n) {
      if (punctuation(i, '(') || punctuation(i, '[') || punctuation(i, '{')) ++depth;
      if (punctuation(i, ')') || punctuation(i, ']') || punctuation(i, '}')) --depth;
      if (depth == 0 && three(i, '>')) {
        close = i;
        // `f<g<int>>>>(` closes two template lists first.
        while (punctuation(close + 3, '>')) ++close;
        break;
      }
      if (depth < 0) return;
    }
    if (close == t_.size()) return;
    const size_t open = t_.next(close + 2);
    if (!punctuation(open, '(')) return;
    const size_t end_of_call = t_.closing(open, kReach * 4);
    if (end_of_call == t_.size()) return;
    const Callee callee = find_callee(angles);
    if (callee.first == t_.size()) return;

    ++out_.launch_sites;
    const std::string name = t_.flat(callee.first, t_.previous(angles) + 1);
    const bool empty = t_.next(open) == end_of_call;
    const std::string expression = callee_text(callee, angles, name);
    edits_.replace(begin(callee.first), begin(angles),
                   std::string("::bicrl::") + (callee.resolved ? "launch_resolved" : "launch") +
                       "(::bicrl::LaunchConfig(");
    edits_.replace(begin(angles), end(angles + 2), "");
    edits_.replace(begin(close), end(open), "), " + quoted(name) + ", " + expression + (empty ? "" : ", "));
  }

  struct Callee {
    size_t first;
    size_t name;       // the kernel's own identifier
    size_t arguments;  // its `<`, or size()
    bool resolved = false;
  };

  Callee find_callee(size_t angles) const {
    Callee c{t_.size(), t_.size(), t_.size()};
    size_t i = t_.previous(angles);
    if (punctuation(i, '>')) {
      c.arguments = opening_angle(i);
      if (c.arguments == t_.size()) return c;
      i = t_.previous(c.arguments);
    }
    if (punctuation(i, ')') && c.arguments == t_.size()) {
      int depth = 0;
      for (size_t n = 0; n < kReach; ++n, --i) {
        if (punctuation(i, ')')) ++depth;
        if (punctuation(i, '(') && --depth == 0) {
          c.first = i;
          return c;
        }
        if (i == 0) return c;
      }
      return c;
    }
    if (!t_.is_identifier(i)) return c;
    c.name = c.first = i;
    // Qualifiers: a::b::kernel, ::kernel, Functor<T>::kernel.
    for (size_t n = 0; n < 32; ++n) {
      const size_t second = t_.previous(c.first);
      const size_t first = second < t_.size() ? t_.previous(second) : t_.size();
      if (!punctuation(second, ':') || !punctuation(first, ':')) break;
      c.first = first;
      size_t scope = t_.previous(first);
      if (punctuation(scope, '>')) {
        scope = opening_angle(scope);
        if (scope < t_.size()) scope = t_.previous(scope);
      }
      if (!t_.is_identifier(scope) || t_.is(scope, "return")) break;
      c.first = scope;
    }
    const auto found = templates_.find(std::string(t_.at(c.name)));
    if (found != templates_.end()) {
      const size_t given = c.arguments == t_.size() ? 0 : parts(c.arguments, t_.previous(angles)).size();
      c.resolved = found->second.variadic || given < found->second.parameters.size();
    }
    return c;
  }

  std::string callee_text(const Callee& c, size_t angles, const std::string& name) const {
    if (!c.resolved) return name;
    const std::string scope = t_.flat(c.first, c.name);
    const std::string arguments = c.arguments == t_.size() ? "" : t_.flat(c.arguments, angles);
    return "[&](auto&&... bicrl_a) { return " + scope + "bicrl_resolve_" + std::string(t_.at(c.name)) +
           arguments + "(bicrl_a...); }";
  }

  // ---- Shared memory.
  void shared(size_t i) {
    const size_t before = t_.previous(i), after = t_.next(i);
    if (t_.is(before, "extern") || t_.is(after, "extern")) {
      dynamic_shared(t_.is(before, "extern") ? before : i, t_.is(after, "extern") ? after : i);
      return;
    }
    // The macro says `static` itself.
    if (t_.is(before, "static")) replace(before, before, "");
    if (t_.is(after, "static")) replace(after, after, "");
    const size_t align = t_.is(after, "static") ? t_.next(after) : after;
    if (t_.is(align, "alignas") && punctuation(t_.next(align), '(')) {
      const size_t close = t_.closing(t_.next(align), kReach);
      if (close == t_.size()) return;
      replace(align, align, "__attribute__((aligned");
      edits_.insert(end(close), "))");
    }
  }

  void dynamic_shared(size_t first, size_t last) {
    size_t bracket = last;
    for (size_t n = 0; n < kReach && bracket < t_.size() && !punctuation(bracket, '['); ++n) {
      if (punctuation(bracket, ';')) return;
      if (punctuation(bracket, '(')) bracket = t_.closing(bracket, kReach);
      if (bracket < t_.size()) bracket = t_.next(bracket);
    }
    if (bracket >= t_.size()) return;
    const size_t name = t_.previous(bracket);
    size_t semicolon = bracket;
    for (size_t n = 0; n < kReach && semicolon < t_.size() && !punctuation(semicolon, ';'); ++n)
      semicolon = t_.next(semicolon);
    const size_t close = t_.closing(bracket, kReach);
    if (!t_.is_identifier(name) || semicolon >= t_.size() || close >= t_.size()) return;
    std::string type;
    for (size_t i = t_.next(last); i < name; i = t_.next(i)) {
      const auto word = t_.at(i);
      if (word == "__align__" || word == "alignas" || word == "__attribute__") {
        i = t_.closing(t_.next(i), kReach);
        if (i >= t_.size()) return;
        continue;
      }
      if (word == "static" || word == "__shared__") continue;
      type += std::string(word) + " ";
    }
    const std::string rest = t_.flat(close + 1, semicolon);  // further extents
    const std::string text(t_.at(name));
    replace(first, semicolon,
            rest.find('[') == std::string::npos
                ? type + "* const " + text + " = (" + type + "*)bicrl_dynamic_shared();"
                : type + "(* const " + text + ")" + rest + " = (" + type + "(*)" + rest +
                      ")bicrl_dynamic_shared();");
  }

  const TokenText& t_;
  TextEdits edits_;
  RewrittenText out_;
  std::map<std::string, TemplateKernel> templates_;
};

}  // namespace

RewrittenText rewrite_device_text(const TokenText& source) { return Rewriter(source).run(); }

}  // namespace bicrl
