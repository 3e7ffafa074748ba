#include "sandbox/frontend/split/splitter_features.h"

#include <algorithm>
#include <map>

#include "common/config/one_of.h"
#include "sandbox/frontend/device/vendor_names.h"

namespace bicrl {
namespace {

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

struct Feature {
  std::string_view name, reason;
};
// What device code can use is for the device's compiler and the PTX interpreter to say.
constexpr Feature kUnsupported[] = {{"cudaTextureObject_t", "textures"},
                                    {"cudaSurfaceObject_t", "surfaces"},
                                    {"cuLaunchKernel", "the driver API"},
                                    {"cuModuleLoad", "the driver API"},
                                    {"cudaMallocManaged", "managed memory"},
                                    {"__managed__", "managed memory"},
                                    {"cudaHostGetDevicePointer", "mapped host memory"},
                                    {"TORCH_LIBRARY", "operator registration (TORCH_LIBRARY)"}};

const std::map<std::string_view, std::string_view>& header_of() {
  static const std::map<std::string_view, std::string_view> table = {
      {"vector", "vector"},
      {"string", "string"},
      {"to_string", "string"},
      {"stoi", "string"},
      {"tuple", "tuple"},
      {"make_tuple", "tuple"},
      {"get", "tuple"},
      {"tie", "tuple"},
      {"ignore", "tuple"},
      {"tuple_size", "tuple"},
      {"tuple_element", "tuple"},
      {"apply", "tuple"},
      {"pair", "tuple"},
      {"make_pair", "tuple"},
      {"optional", "optional"},
      {"nullopt", "optional"},
      {"nullopt_t", "optional"},
      {"make_optional", "optional"},
      {"array", "array"},
      {"unique_ptr", "memory"},
      {"shared_ptr", "memory"},
      {"make_unique", "memory"},
      {"make_shared", "memory"},
      {"move", "utility"},
      {"forward", "utility"},
      {"swap", "utility"},
      {"exchange", "utility"},
      {"declval", "utility"},
      {"index_sequence", "utility"},
      {"make_index_sequence", "utility"},
      {"integer_sequence", "utility"},
      {"min", "algobase"},
      {"max", "algobase"},
      {"fill", "algobase"},
      {"copy", "algobase"},
      {"fill_n", "algobase"},
      {"equal", "algobase"},
      {"copy_n", "algorithm"},
      {"sort", "algorithm"},
      {"reverse", "algorithm"},
      {"find", "algorithm"},
      {"any_of", "algorithm"},
      {"all_of", "algorithm"},
      {"clamp", "algorithm"},
      {"max_element", "algorithm"},
      {"min_element", "algorithm"},
      {"transform", "algorithm"},
      {"accumulate", "numeric"},
      {"iota", "numeric"},
      {"gcd", "numeric"},
      {"multiplies", "functional"},
      {"plus", "functional"},
      {"function", "functional"},
      {"greater", "functional"},
      {"less", "functional"},
      {"numeric_limits", "limits"},
      {"initializer_list", "initializer_list"},
      {"is_same", "type_traits"},
      {"is_same_v", "type_traits"},
      {"enable_if", "type_traits"},
      {"enable_if_t", "type_traits"},
      {"conditional", "type_traits"},
      {"conditional_t", "type_traits"},
      {"is_floating_point", "type_traits"},
      {"is_floating_point_v", "type_traits"},
      {"is_integral", "type_traits"},
      {"is_integral_v", "type_traits"},
      {"remove_reference", "type_traits"},
      {"decay_t", "type_traits"},
      {"true_type", "type_traits"},
      {"false_type", "type_traits"},
      {"integral_constant", "type_traits"},
      {"remove_const_t", "type_traits"},
      {"remove_cv_t", "type_traits"},
      {"remove_reference_t", "type_traits"},
      {"decay", "type_traits"},
      {"is_pointer", "type_traits"},
      {"make_unsigned_t", "type_traits"},
      {"runtime_error", "stdexcept"},
      {"invalid_argument", "stdexcept"},
      {"logic_error", "stdexcept"},
      {"out_of_range", "stdexcept"},
      {"exception", "exception"},
      {"cout", "iostream"},
      {"cerr", "iostream"},
      {"endl", "iostream"},
      {"stringstream", "sstream"},
      {"ostringstream", "sstream"},
      {"map", "map"},
      {"unordered_map", "unordered_map"},
      {"set", "set"},
      {"unordered_set", "unordered_set"},
      {"mutex", "mutex"},
      {"lock_guard", "mutex"},
      {"once_flag", "mutex"},
      {"call_once", "mutex"},
      {"begin", "vector"},
      {"end", "vector"},
      {"size", "vector"},
      {"distance", "vector"},
      // Provided by the shim itself or by the small C headers that it includes.
      {"size_t", ""},
      {"ptrdiff_t", ""},
      {"nullptr_t", ""},
      {"int8_t", "cstdint"},
      {"int16_t", "cstdint"},
      {"int32_t", "cstdint"},
      {"int64_t", "cstdint"},
      {"uint8_t", "cstdint"},
      {"uint16_t", "cstdint"},
      {"uint32_t", "cstdint"},
      {"uint64_t", "cstdint"},
      {"uintptr_t", "cstdint"},
      {"memcpy", "cstring"},
      {"memset", "cstring"},
      {"strcmp", "cstring"},
      {"printf", "cstdio"},
      {"fprintf", "cstdio"},
      {"abs", ""}};
  return table;
}

constexpr std::string_view kShimMath[] = {
    "acos",    "acosh",     "asin",     "asinh",    "atan",    "atanh",     "atan2",     "cbrt",   "ceil",
    "cos",     "cosh",      "erf",      "erfc",     "exp",     "exp2",      "expm1",     "fabs",   "floor",
    "fma",     "fmax",      "fmin",     "fmod",     "frexp",   "hypot",     "ldexp",     "lgamma", "log",
    "log10",   "log1p",     "log2",     "modf",     "pow",     "remainder", "rint",      "round",  "lround",
    "llround", "lrint",     "sin",      "sinh",     "sqrt",    "tan",       "tanh",      "tgamma", "trunc",
    "isnan",   "isinf",     "isfinite", "isnormal", "signbit", "copysign",  "nearbyint", "logb",   "ilogb",
    "fdim",    "nextafter", "expf",     "logf",     "sqrtf",   "powf",      "tanhf",     "fabsf",  "fmaxf",
    "fminf",   "floorf",    "ceilf",    "roundf",   "erff",    "sinf",      "cosf",      "fmaf",   "log2f",
    "log1pf",  "expm1f"};

// Types of device libraries in what is left for the host.
struct NamedHeader {
  std::string_view name, header;
  bool is_prefix = false;
};
constexpr NamedHeader kShimHeaders[] = {{"__nv_fp8", "small_floats.h", true},
                                        {"cooperative_groups", "groups.h"},
                                        {"cub", "cub.h"},
                                        {"thrust", "thrust.h"},
                                        {"nvcuda", "matrices.h"},
                                        {"curand", "random.h", true},
                                        {"cuda", "barriers.h"},
                                        {"cuComplex", "complex.h"},
                                        {"cuFloatComplex", "complex.h"},
                                        {"cuDoubleComplex", "complex.h"}};

// The std:: name at token i (of `std`), or empty.
std::string_view standard_name(const TokenText& t, size_t i) {
  const size_t first = t.next(i);
  const size_t second = first < t.size() ? t.next(first) : t.size();
  const size_t name = second < t.size() ? t.next(second) : t.size();
  return t.is(first, ":") && t.is(second, ":") && t.is_identifier(name) ? t.at(name) : std::string_view();
}

void add_header(StandardUse& use, std::string_view header) {
  for (const std::string_view known : {"vector", "string", "tuple", "optional", "array", "algobase"})
    if (header == known) {
      use.standard_prelude = true;
      return;
    }
  if (!header.empty()) use.headers.insert(std::string(header));
}

void note_standard_name(StandardUse& use, std::string_view name) {
  const auto known = header_of().find(name);
  if (known != header_of().end()) {
    add_header(use, known->second);
  } else if (std::find(std::begin(kShimMath), std::end(kShimMath), name) == std::end(kShimMath)) {
    use.complete = false;
  }
}

constexpr size_t kMostParameterTokens = 2000;

// Whether the word at i is defined there: a function with a body, a type, a variable, a macro.
bool is_defined_at(const TokenText& t, size_t i) {
  const size_t before = t.previous(i), after = t.next(i);
  if (t.is(before, "define")) return true;
  if (t.is(before, "struct") || t.is(before, "class") || t.is(before, "union") || t.is(before, "enum"))
    return t.is(after, "{") || t.is(after, ":");
  if (t.is(after, "(")) {
    const size_t close = t.closing(after, kMostParameterTokens);
    return close < t.size() && t.is(t.next(close), "{");
  }
  const bool behind_type = t.is_identifier(before) && !is_one_of(t.at(before), {"return", "case", "else"});
  if (t.is(after, "=") && !t.is(after + 1, "="))  // no assignment is behind these
    return behind_type || t.is(before, ",") || t.is(before, "*") || t.is(before, "&") || t.is(before, ">");
  return behind_type && (t.is(after, ";") || t.is(after, "[") || t.is(after, ",") || t.is(after, ")"));
}

void note_own_names(const TokenText& t, std::set<std::string_view>& own) {
  for (size_t i = 0; i < t.size(); ++i)
    if (t.is_identifier(i) && !library_of_prefix(t.at(i)).empty() && is_defined_at(t, i)) own.insert(t.at(i));
}

void note_library(const TokenText& t, size_t i, std::vector<SplitIssue>& issues) {
  const auto word = t.at(i);
  const auto report = [&](std::string_view name) {
    issues.push_back({FaultClass::kLibraryCall, "calls " + std::string(name) + " (" + std::string(word) + ")",
                      t.line_of(i)});
  };
  if (const auto library = library_of_prefix(word); !library.empty()) return report(library);
  if (const auto library = library_of_name(word); !library.empty()) return report(library);
  const size_t scope = t.next(i);
  if (!t.is(scope, ":") || !t.is(scope + 1, ":")) return;
  const size_t name = t.next(scope + 1);
  if (word == "thrust" && is_thrust_functor(t.at(name))) return;
  if (const auto library = library_of_scope(word); !library.empty()) return report(library);
  // Its block and warp primitives are device code like any other; the algorithms for whole arrays are not.
  if (word == "cub" && t.is_identifier(name) && starts_with(t.at(name), "Device")) return report("CUB");
}

}  // namespace

void find_issues(const std::vector<const TokenText*>& sources, std::vector<SplitIssue>& issues) {
  std::set<std::string_view> own;
  for (const TokenText* source : sources) note_own_names(*source, own);
  // One finding of each kind is enough, and keeps the list short.
  constexpr size_t kMostIssues = 8;
  for (const TokenText* source : sources)
    for (size_t i = 0; i < source->size() && issues.size() < kMostIssues; ++i) {
      if (!source->is_identifier(i)) continue;
      const auto word = source->at(i);
      if (!own.count(word)) note_library(*source, i, issues);
      for (const auto& f : kUnsupported)
        if (word == f.name)
          issues.push_back({FaultClass::kUnsupported, "uses " + std::string(f.reason), source->line_of(i)});
    }
}

StandardUse find_standard_use(const TokenText& t) {
  StandardUse use;
  bool using_std = false;
  for (size_t i = 0; i < t.size(); ++i) {
    if (!t.is_identifier(i)) continue;
    const auto word = t.at(i);
    if (word == "std") {
      const auto name = standard_name(t, i);
      if (!name.empty()) {
        note_standard_name(use, name);
      } else if (t.is(t.previous(i), "namespace")) {
        using_std = true;
      }
    } else if (word == "optional" || word == "nullopt") {
      add_header(use, "optional");  // c10::optional, torch::nullopt
    } else if (word == "fprintf" || word == "stderr" || word == "snprintf" || word == "sprintf" ||
               word == "FILE") {
      add_header(use, "cstdio");  // comes with torch/extension.h, so programs do not include it
    } else if (word == "vec") {
      add_header(use, "vector");
    } else {
      for (const NamedHeader& one : kShimHeaders)
        if (word == one.name || (one.is_prefix && starts_with(word, one.name)))
          use.shim_headers.insert(std::string(one.header));
    }
  }
  if (using_std) {
    for (const char* header : {"vector", "string", "tuple", "optional", "algobase"}) add_header(use, header);
    use.complete = false;
  }
  return use;
}

std::string included_header(std::string_view line) {
  const size_t open = line.find_first_of("<\"");
  if (open == std::string_view::npos) return "";
  const size_t close = line.find_first_of(">\"", open + 1);
  return close == std::string_view::npos ? "" : std::string(line.substr(open + 1, close - open - 1));
}

}  // namespace bicrl
