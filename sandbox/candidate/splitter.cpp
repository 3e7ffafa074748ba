#include "sandbox/candidate/splitter.h"

#include <algorithm>

#include "sandbox/candidate/splitter_features.h"
#include "sandbox/candidate/splitter_rewrite.h"
#include "sandbox/device/token_text.h"

namespace bicrl {
namespace {

std::string join(const std::vector<std::string>& sources) {
  std::string text;
  for (const auto& source : sources) {
    text += source;
    text += '\n';
  }
  // A zero byte would end the text for the compiler but not for us.
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

bool names(const TokenText& t, std::string_view word) {
  for (size_t i = 0; i < t.size(); ++i)
    if (t.is_identifier(i) && t.at(i) == word) return true;
  return false;
}

// A function body in cpp_sources: `) {`. The block of PYBIND11_MODULE is not one.
bool defines_functions(const TokenText& t) {
  for (size_t i = 0; i < t.size(); ++i) {
    if (t.is_identifier(i) && t.at(i) == "PYBIND11_MODULE") {
      const size_t brace = t.next(t.closing(t.next(i)));
      i = t.is(brace, "{") ? t.closing(brace) : i;
      continue;
    }
    if (t.is(i, ")") && t.is(t.next(i), "{")) return true;
  }
  return false;
}

bool is_function_name(const std::string& name) {
  if (name.empty() || name.size() > 200 || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
  });
}

class Assembler {
 public:
  explicit Assembler(const CudaProgram& program)
      : program_(program), cuda_(join(program.cuda_sources)), cpp_(join(program.cpp_sources)) {}

  SplitProgram run() {
    find_issues(cuda_, out_.issues);
    find_issues(cpp_, out_.issues);
    check_functions();
    const char* const order[] = {"library_call", "unsupported", "compile"};
    const auto rank = [&order](const SplitIssue& issue) {
      return std::find(std::begin(order), std::end(order), issue.fault_class) - std::begin(order);
    };
    std::stable_sort(out_.issues.begin(), out_.issues.end(),
                     [&rank](const SplitIssue& a, const SplitIssue& b) { return rank(a) < rank(b); });

    const bool apart = defines_functions(cpp_);
    const std::string device = rewritten(cuda_, "cuda_sources");
    const std::string host = rewritten(cpp_, "cpp_sources");
    if (apart) {
      out_.units.push_back({"candidate.cpp", prelude({&cuda_}) + device});
      out_.units.push_back({"bindings.cpp", prelude({&cpp_}) + host + exports()});
    } else {
      out_.units.push_back({"candidate.cpp", prelude({&cuda_, &cpp_}) + host + device + exports()});
    }
    return std::move(out_);
  }

 private:
  void check_functions() {
    const bool own_module = names(cpp_, "PYBIND11_MODULE") || names(cuda_, "PYBIND11_MODULE");
    if (program_.functions.empty() && !own_module)
      out_.issues.push_back({"compile", "no functions are exported (functions= is empty)", 0});
    for (const auto& f : program_.functions) {
      if (!is_function_name(f)) {
        out_.issues.push_back({"compile", "functions= names something that is no function", 0});
      } else if (!names(cpp_, f)) {
        out_.issues.push_back({"compile", "'" + f + "' was not declared in cpp_sources", 0});
      }
    }
  }

  // Includes that nothing needs are dropped: each standard header costs more than the whole shim.
  std::string rewritten(const TokenText& source, const char* title) {
    RewrittenText r = rewrite_device_text(source);
    out_.launch_sites += r.launch_sites;
    out_.kernels.insert(out_.kernels.end(), r.kernels.begin(), r.kernels.end());
    const TokenText again(std::move(r.text));
    const bool complete = find_standard_use(again).complete;
    TextEdits edits;
    for (const Token& token : again.tokens()) {
      if (token.kind != Token::Kind::kInclude) continue;
      const std::string header =
          included_header(std::string_view(again.text()).substr(token.begin, token.end - token.begin));
      if ((complete && is_standard_header(header)) || is_library_header(header))
        edits.replace(token.begin, token.end, "");
    }
    return std::string("#line 1 \"") + title + "\"\n" + edits.apply(again.text()) + "\n";
  }

  std::string prelude(const std::vector<const TokenText*>& sources) const {
    StandardUse use;
    bool real_math = false;
    for (const TokenText* source : sources) {
      StandardUse one = find_standard_use(*source);
      use.headers.merge(one.headers);
      use.macros.merge(one.macros);
      if (one.complete) continue;
      for (const Token& token : source->tokens())
        if (token.kind == Token::Kind::kInclude)
          real_math |= needs_real_math(
              included_header(std::string_view(source->text()).substr(token.begin, token.end - token.begin)));
    }
    std::string text;
    // With the real <cmath> no precompiled prelude fits.
    if (real_math) text += "#define BICRL_REAL_MATH 1\n";
    text += use.macros.empty() && use.headers.empty() ? "#include \"bicrl/prelude.h\"\n"
                                                      : "#include \"bicrl/prelude_std.h\"\n";
    for (const auto& header : use.headers) text += "#include <" + header + ">\n";
    return text;
  }

  std::string exports() const {
    if (program_.functions.empty()) return "";
    std::string text =
        "#line 1 \"functions\"\n"
        "extern \"C\" __attribute__((visibility(\"default\"))) void bicrl_register(::bicrl::Registry& m) {\n";
    for (const auto& f : program_.functions)
      if (is_function_name(f)) text += "  m.def(\"" + f + "\", &::" + f + ");\n";
    return text + "}\n";
  }

  const CudaProgram& program_;
  TokenText cuda_, cpp_;
  SplitProgram out_;
};

}  // namespace

SplitProgram split_cuda_source(const CudaProgram& program) { return Assembler(program).run(); }

}  // namespace bicrl
