#include "sandbox/frontend/split/splitter.h"

#include <algorithm>

#include "sandbox/frontend/device/code_structure.h"
#include "sandbox/frontend/device/device_flags.h"
#include "sandbox/frontend/device/token_text.h"
#include "sandbox/frontend/device/vendor_names.h"
#include "sandbox/frontend/split/splitter_features.h"
#include "sandbox/frontend/split/splitter_host_use.h"
#include "sandbox/frontend/split/splitter_rewrite.h"

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

// A function with a body, or a type, in cpp_sources: cuda_sources may have one of the same name, because the
// two are compiled apart. The block of PYBIND11_MODULE is none.
bool defines_something(const CodeStructure& structure, const TokenText& t) {
  for (const CodeItem& item : structure.items()) {
    const bool function = item.kind == CodeItem::Kind::kFunction && !t.is(item.begin, "PYBIND11_MODULE");
    if (function || (item.kind == CodeItem::Kind::kType && item.body)) return true;
  }
  return false;
}

// Declarations in cpp_sources without their default arguments: the definition in cuda_sources may have them
// too.
std::string without_defaults(const CodeStructure& structure, const TokenText& t) {
  TextEdits edits;
  for (const CodeItem& item : structure.items()) {
    if (item.kind != CodeItem::Kind::kDeclaration || !item.has_parameters) continue;
    int depth = 0;
    size_t from = t.size();
    for (size_t i = item.begin; i < item.end; i = t.next(i)) {
      if (t.is(i, "=") && depth == 1 && from == t.size()) from = i;
      const bool closes = t.is(i, ")") || t.is(i, "}");
      if (from < t.size() && depth == 1 && (t.is(i, ",") || closes)) {
        edits.replace(t.tokens()[from].begin, t.tokens()[i].begin, "");
        from = t.size();
      }
      depth += (t.is(i, "(") || t.is(i, "{")) - closes;
    }
  }
  return edits.apply(t.text());
}

bool is_function_name(const std::string& name) {
  if (name.empty() || name.size() > 200 || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
  });
}

bool asks_for_standard_20(const std::vector<std::string>& cuda_cflags) {
  const std::vector<std::string> options = read_device_flags(cuda_cflags).options;
  return std::find(options.begin(), options.end(), "-std=c++20") != options.end();
}

class Assembler {
 public:
  explicit Assembler(const CudaProgram& program)
      : program_(program),
        cuda_(join(program.cuda_sources)),
        cpp_(join(program.cpp_sources)),
        standard_20_(asks_for_standard_20(program.cuda_cflags)) {}

  SplitProgram run() {
    find_issues({&cuda_, &cpp_}, out_.issues);
    find_host_uses(cuda_, CodeStructure(cuda_), out_.issues);
    check_functions();
    constexpr FaultClass order[] = {FaultClass::kLibraryCall, FaultClass::kUnsupported, FaultClass::kCompile};
    const auto rank = [&order](const SplitIssue& issue) {
      return std::find(std::begin(order), std::end(order), issue.fault_class) - std::begin(order);
    };
    std::stable_sort(out_.issues.begin(), out_.issues.end(),
                     [&rank](const SplitIssue& a, const SplitIssue& b) { return rank(a) < rank(b); });

    const CodeStructure structure(cpp_);
    const bool apart = defines_something(structure, cpp_);
    const Part device = part_of(cuda_, "cuda_sources");
    const Part host = part_of(apart ? cpp_ : TokenText(without_defaults(structure, cpp_)), "cpp_sources");
    if (apart) {
      out_.units.push_back({"candidate.cpp", prelude({&device}) + device.text});
      out_.units.push_back({"bindings.cpp", prelude({&host}) + host.text + exports()});
    } else {
      out_.units.push_back(
          {"candidate.cpp", prelude({&device, &host}) + host.text + device.text + exports()});
    }
    return std::move(out_);
  }

 private:
  void check_functions() {
    const bool own_module = names(cpp_, "PYBIND11_MODULE") || names(cuda_, "PYBIND11_MODULE");
    if (program_.functions.empty() && !own_module)
      out_.issues.push_back({FaultClass::kCompile, "no functions are exported (functions= is empty)", 0});
    for (const auto& f : program_.functions) {
      if (!is_function_name(f)) {
        out_.issues.push_back({FaultClass::kCompile, "functions= names something that is no function", 0});
      } else if (!names(cpp_, f)) {
        out_.issues.push_back({FaultClass::kCompile, "'" + f + "' was not declared in cpp_sources", 0});
      }
    }
  }

  // The text of one side, and what it needs before it.
  struct Part {
    std::string text;
    StandardUse use;
    bool real_math = false;
  };

  // Includes that nothing needs are dropped: each standard header costs more than the whole shim.
  Part part_of(const TokenText& source, const char* title) {
    const TokenText text(rewrite_host_text(source));
    Part part;
    part.use = find_standard_use(text);
    TextEdits edits;
    for (const Token& token : text.tokens()) {
      if (token.kind != Token::Kind::kInclude) continue;
      const std::string header =
          included_header(std::string_view(text.text()).substr(token.begin, token.end - token.begin));
      if ((part.use.complete && is_standard_header(header)) || is_device_header(header)) {
        edits.replace(token.begin, token.end, "");
      } else {
        part.real_math |= needs_real_math(header);
      }
    }
    part.text = std::string("#line 1 \"") + title + "\"\n" + edits.apply(text.text()) + "\n";
    return part;
  }

  std::string prelude(const std::vector<const Part*>& parts) const {
    StandardUse use;
    bool real_math = false;
    for (const Part* part : parts) {
      use.standard_prelude |= part->use.standard_prelude;
      use.headers.insert(part->use.headers.begin(), part->use.headers.end());
      use.shim_headers.insert(part->use.shim_headers.begin(), part->use.shim_headers.end());
      real_math |= part->real_math;
    }
    std::string text = standard_20_ ? "#include \"bicrl/prelude_20.h\"\n" : "";
    // With the real <cmath> no precompiled prelude fits.
    if (real_math) text += "#define BICRL_REAL_MATH 1\n";
    if (!standard_20_)
      text += use.standard_prelude || !use.headers.empty() ? "#include \"bicrl/prelude_std.h\"\n"
                                                           : "#include \"bicrl/prelude.h\"\n";
    for (const auto& header : use.shim_headers) text += "#include \"bicrl/" + header + "\"\n";
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
  // nvcc hands its standard on to the compiler of the host part.
  const bool standard_20_;
  SplitProgram out_;
};

}  // namespace

SplitProgram split_cuda_source(const CudaProgram& program) { return Assembler(program).run(); }

}  // namespace bicrl
