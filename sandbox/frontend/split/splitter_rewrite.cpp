#include "sandbox/frontend/split/splitter_rewrite.h"

#include <algorithm>

#include "sandbox/frontend/device/code_structure.h"
#include "sandbox/frontend/device/device_headers.h"
#include "sandbox/frontend/split/device_functions.h"
#include "sandbox/frontend/split/splitter_bodies.h"
#include "sandbox/frontend/split/splitter_kernels.h"
#include "sandbox/frontend/split/splitter_tokens.h"

namespace bicrl {
namespace {

constexpr size_t kReach = TokenWalk::kReach;

class Rewriter {
 public:
  explicit Rewriter(const TokenText& source)
      : t_(source),
        structure_(source),
        walk_(source),
        kernels_(source),
        bodies_(source, structure_, edits_) {}

  std::string run() {
    const std::vector<DeviceFunction> functions = find_device_functions(t_, structure_);
    for (const DeviceFunction& f : functions)
      if (f.is_kernel && f.name != DeviceFunction::npos) kernels_.note(f);
    for (const DeviceFunction& f : functions) {
      if (f.is_opaque && f.body != DeviceFunction::npos && !bodies_.is_cut(f.body)) bodies_.cut(f);
      if (f.is_kernel) kernels_.add_resolver(f, edits_);
    }
    answer_include_questions(t_, edits_);
    for (size_t i = 0; i < t_.size(); ++i) {
      if (bodies_.is_cut(i)) continue;
      if (t_.is_identifier(i)) {
        const std::string_view word = t_.at(i);
        if (word == "__shared__") shared(i);
        if (word == "__noinline__") replace(i, i, "__attribute__((noinline))");
        if (word == "asm" || word == "__asm__" || word == "__asm") assembly(i);
      } else if (walk_.three(i, '<')) {
        launch(i);
        i += 2;
      }
    }
    return edits_.apply(t_.text());
  }

 private:
  uint32_t begin(size_t i) const { return walk_.begin(i); }
  uint32_t end(size_t i) const { return walk_.end(i); }
  void replace(size_t first, size_t last, std::string text) {
    edits_.replace(begin(first), end(last), std::move(text));
  }
  bool punctuation(size_t i, char c) const { return walk_.punctuation(i, c); }

  // ---- Launches: kernel<<<config>>>(arguments).
  struct Callee {
    size_t first;
    size_t name;       // the kernel's own identifier
    size_t arguments;  // its `<`, or size()
    bool resolved = false;
  };

  void launch(size_t angles) {
    size_t close = t_.size();
    int depth = 0;
    for (size_t i = angles + 3, n = 0; i < t_.size() && n < kReach; ++i, ++n) {
      if (punctuation(i, '(') || punctuation(i, '[') || punctuation(i, '{')) ++depth;
      if (punctuation(i, ')') || punctuation(i, ']') || punctuation(i, '}')) --depth;
      if (depth == 0 && walk_.three(i, '>')) {
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

    const bool empty = t_.next(open) == end_of_call;
    const std::string expression = callee_text(callee, angles);
    edits_.replace(begin(callee.first), begin(angles),
                   std::string("::bicrl::") + (callee.resolved ? "launch_resolved" : "launch") +
                       "(::bicrl::LaunchConfig(");
    edits_.replace(begin(angles), end(angles + 2), "");
    edits_.replace(begin(close), end(open), "), " + expression + (empty ? "" : ", "));
    add_defaults(callee, open, end_of_call);
  }

  // A function pointer knows nothing of default arguments.
  void add_defaults(const Callee& callee, size_t open, size_t close) {
    if (callee.name == t_.size()) return;
    const std::string text = kernels_.defaults_behind(t_.at(callee.name), walk_.parts(open, close).size());
    if (!text.empty()) edits_.insert(begin(close), text);
  }

  Callee find_callee(size_t angles) const {
    Callee c{t_.size(), t_.size(), t_.size()};
    size_t i = t_.previous(angles);
    if (punctuation(i, '>')) {
      c.arguments = walk_.opening_angle(i);
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
    if (punctuation(i, ']')) i = walk_.subscripted(i);
    if (!t_.is_identifier(i)) return c;
    c.name = c.first = i;
    bool pasted = false;
    for (size_t n = 0; n < 8 && punctuation(t_.previous(c.first), '#'); ++n) {
      const size_t before = t_.previous(t_.previous(t_.previous(c.first)));
      if (!t_.is_identifier(before)) break;
      c.first = before;
      pasted = true;
    }
    // Qualifiers: a::b::kernel, ::kernel, Functor<T>::kernel.
    for (size_t n = 0; n < 32; ++n) {
      const size_t second = t_.previous(c.first);
      const size_t first = second < t_.size() ? t_.previous(second) : t_.size();
      if (!punctuation(second, ':') || !punctuation(first, ':')) break;
      c.first = first;
      size_t scope = t_.previous(first);
      if (punctuation(scope, '>')) {
        scope = walk_.opening_angle(scope);
        if (scope < t_.size()) scope = t_.previous(scope);
      }
      if (!t_.is_identifier(scope) || t_.is(scope, "return")) break;
      c.first = scope;
    }
    c.first = walk_.object_before(c.first);
    const size_t given = c.arguments == t_.size() ? 0 : walk_.parts(c.arguments, t_.previous(angles)).size();
    c.resolved = !pasted && kernels_.needs_resolver(t_.at(c.name), given);
    return c;
  }

  std::string callee_text(const Callee& c, size_t angles) const {
    if (!c.resolved) return t_.flat(c.first, t_.previous(angles) + 1);
    const std::string scope = t_.flat(c.first, c.name);
    const std::string arguments = c.arguments == t_.size() ? "" : t_.flat(c.arguments, angles);
    return "[&](auto&&... bicrl_a) { return " + scope + "bicrl_resolve_" + std::string(t_.at(c.name)) +
           arguments + "(bicrl_a...); }";
  }

  // ---- Inline PTX in what is left, as an expression or a declaration.
  void assembly(size_t i) {
    size_t open = t_.next(i);
    while (t_.is(open, "volatile") || t_.is(open, "__volatile__") || t_.is(open, "goto"))
      open = t_.next(open);
    const size_t close = punctuation(open, '(') ? t_.closing(open, kReach) : t_.size();
    if (close >= t_.size()) return;
    const auto& items = structure_.items();
    const bool declaration =
        std::any_of(items.begin(), items.end(), [i](const CodeItem& item) { return item.begin == i; });
    bodies_.blank(i, close + 1, structure_.in_directive(i),
                  declaration ? "static_assert(true)" : "((void)0)");
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
            rest.find('[') == std::string::npos ? type + "* const " + text + " = nullptr;"
                                                : type + "(* const " + text + ")" + rest + " = nullptr;");
  }

  const TokenText& t_;
  const CodeStructure structure_;
  const TokenWalk walk_;
  KernelNames kernels_;
  TextEdits edits_;
  BodyCutter bodies_;
};

}  // namespace

std::string rewrite_host_text(const TokenText& source) { return Rewriter(source).run(); }

}  // namespace bicrl
