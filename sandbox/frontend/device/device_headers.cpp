#include "sandbox/frontend/device/device_headers.h"

#include <algorithm>

#include "sandbox/frontend/device/vendor_names.h"

namespace bicrl {
namespace {

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}
bool ends_with(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

// Those that take long to read, besides CUB's.
constexpr std::string_view kExpensive[] = {"cooperative_groups.h", "cooperative_groups/reduce.h",
                                           "cooperative_groups/scan.h", "mma.h", "curand_kernel.h"};
constexpr std::string_view kWithIntegers[] = {"cuda_awbarrier.h", "cuda_awbarrier_primitives.h",
                                              "cuda_pipeline.h", "cuda_pipeline_primitives.h",
                                              "cooperative_groups/memcpy_async.h"};

// All of CUB that blocks and warps use. Read together: each alone takes nearly as long as all.
constexpr std::string_view kCub[] = {"block/block_adjacent_difference",
                                     "block/block_discontinuity",
                                     "block/block_exchange",
                                     "block/block_histogram",
                                     "block/block_load",
                                     "block/block_merge_sort",
                                     "block/block_radix_sort",
                                     "block/block_reduce",
                                     "block/block_scan",
                                     "block/block_shuffle",
                                     "block/block_store",
                                     "thread/thread_operators",
                                     "util_type",
                                     "warp/warp_exchange",
                                     "warp/warp_load",
                                     "warp/warp_merge_sort",
                                     "warp/warp_reduce",
                                     "warp/warp_scan",
                                     "warp/warp_store"};

// Parts of the shim that a text gets if it has one of the names.
struct Part {
  std::string_view header;
  std::initializer_list<std::string_view> names;
};
const Part kParts[] = {
    {"traits",
     {"void_t",
      "remove_cvref",
      "remove_cvref_t",
      "remove_pointer",
      "remove_pointer_t",
      "add_pointer",
      "add_pointer_t",
      "remove_extent_t",
      "is_integral",
      "is_integral_v",
      "is_floating_point",
      "is_floating_point_v",
      "is_arithmetic",
      "is_arithmetic_v",
      "is_pointer",
      "is_pointer_v",
      "is_const",
      "is_const_v",
      "is_reference",
      "is_reference_v",
      "is_lvalue_reference",
      "is_lvalue_reference_v",
      "is_void",
      "is_void_v",
      "is_array",
      "is_array_v",
      "is_signed",
      "is_signed_v",
      "is_unsigned",
      "is_unsigned_v",
      "is_class",
      "is_class_v",
      "is_enum",
      "is_enum_v",
      "is_trivially_copyable",
      "is_trivially_copyable_v",
      "is_base_of",
      "is_base_of_v",
      "underlying_type",
      "underlying_type_t",
      "conjunction",
      "conjunction_v",
      "disjunction",
      "disjunction_v",
      "negation",
      "make_unsigned",
      "make_unsigned_t",
      "make_signed",
      "make_signed_t",
      "is_convertible",
      "is_convertible_v",
      "decay",
      "decay_t",
      "common_type",
      "common_type_t",
      "invoke_result",
      "invoke_result_t"}},
    {"concepts",
     {"same_as", "convertible_to", "derived_from", "integral", "signed_integral", "unsigned_integral",
      "floating_point", "invocable"}},
    {"limits", {"numeric_limits"}},
    {"tuples",
     {"pair", "make_pair", "tuple", "make_tuple", "tie", "array", "index_sequence", "make_index_sequence",
      "integer_sequence", "make_integer_sequence", "index_sequence_for", "tuple_size", "tuple_size_v",
      "tuple_element_t"}},
    {"optionals", {"optional", "make_optional"}},
    {"vectors", {"vector", "deque", "list", "vec"}},
    {"strings", {"string", "string_view", "to_string", "stoi", "stof", "str"}},
    {"maps", {"map", "unordered_map", "set", "unordered_set"}},
    {"thrust", {"thrust"}},
    {"functors", {"plus", "multiplies", "less", "greater", "equal_to"}},
    {"pointers", {"unique_ptr", "shared_ptr", "make_unique", "make_shared"}},
    {"functions", {"function"}},
    {"threads",
     {"mutex", "recursive_mutex", "lock_guard", "unique_lock", "scoped_lock", "once_flag", "call_once",
      "atomic"}},
    {"algorithms", {"gcd",         "iterator_traits",
                    "sort",        "stable_sort",
                    "reverse",     "fill",
                    "fill_n",      "copy",
                    "copy_n",      "transform",
                    "for_each",    "find",
                    "find_if",     "any_of",
                    "all_of",      "equal",
                    "max_element", "min_element",
                    "count",       "iota",
                    "accumulate",  "distance",
                    "next",        "prev",
                    "begin",       "end",
                    "size",        "back_inserter"}},
    {"clocks", {"chrono"}},
    {"streams", {"cout",          "cerr",         "clog",          "stringstream", "ostringstream",
                 "istringstream", "exception",    "runtime_error", "logic_error",  "invalid_argument",
                 "domain_error",  "length_error", "out_of_range",  "range_error",  "overflow_error",
                 "bad_alloc",     "fprintf",      "snprintf",      "sprintf",      "fflush",
                 "puts",          "FILE",         "stderr",        "stdout"}},
    {"half_types",
     {"Half", "BFloat16", "kHalf", "kBFloat16", "kFloat16", "Float8_e4m3fn", "Float8_e5m2", "kFloat8_e4m3fn",
      "kFloat8_e5m2", "AT_DISPATCH_FLOATING_TYPES_AND_HALF", "AT_DISPATCH_REDUCED_FLOATING_TYPES",
      "AccumulateType", "acc_type", "opmath_type"}}};

// Torch's own headers do not bring it along.
constexpr const char* kAtomics[] = {"ATen/cuda/Atomic.cuh", "ATen/native/cuda/KernelUtils.cuh"};

std::set<std::string_view> identifiers(const TokenText& source) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < source.size(); ++i)
    if (source.is_identifier(i)) names.insert(source.at(i));
  return names;
}

bool contains(const std::set<std::string_view>& names, std::initializer_list<std::string_view> wanted) {
  return std::any_of(wanted.begin(), wanted.end(),
                     [&](std::string_view name) { return names.count(name) > 0; });
}

// Headers of the toolkit that a text needs.
struct Needs {
  bool half_types = false;
  std::set<std::string> included;
  bool cub = false;
};

// The order is always the same, and what costs little stands before what is expensive whether it is needed or
// not, so that few precompiled beginnings fit many texts.
std::string include_lines(const Needs& needs) {
  const auto includes = [&](std::string_view header) {
    return needs.included.count(std::string(header)) > 0;
  };
  const auto line = [](std::string_view header) { return "#include <" + std::string(header) + ">\n"; };
  const bool expensive = needs.cub || std::any_of(std::begin(kExpensive), std::end(kExpensive), includes);
  const bool groups = includes(kExpensive[0]) || includes(kExpensive[1]);
  std::string text = "#include \"bicrl/device_prelude.h\"\n";
  if (needs.half_types || expensive) text += line("cuda_fp16.h") + line("cuda_bf16.h");
  for (const std::string_view header : kExpensive)
    if (includes(header) || (groups && (header == kExpensive[0] || header == kExpensive[1])))
      text += line(header);
  // These have integer types of their own, which differ from g++'s.
  for (const std::string_view header : kWithIntegers)
    if (includes(header))
      text += "#define uint64_t bicrl_uint64_t\n#define uintptr_t bicrl_uintptr_t\n" + line(header) +
              "#undef uint64_t\n#undef uintptr_t\n";
  if (needs.cub)
    for (const std::string_view header : kCub) text += line("cub/" + std::string(header) + ".cuh");
  return text;
}

}  // namespace

std::string header_path(std::string_view line) {
  const size_t open = line.find_first_of("<\"");
  if (open == std::string_view::npos) return "";
  const size_t close = line.find(line[open] == '<' ? '>' : '"', open + 1);
  return close == std::string_view::npos ? "" : std::string(line.substr(open + 1, close - open - 1));
}

void answer_include_questions(const TokenText& source, TextEdits& edits) {
  for (size_t i = 0; i < source.size(); ++i) {
    if (!source.is(i, "__has_include")) continue;
    const size_t open = source.next(i),
                 close = source.is(open, "(") ? source.closing(open, 100) : source.size();
    if (close >= source.size()) continue;
    const uint32_t from = source.tokens()[i].begin, to = source.tokens()[close].end;
    const std::string path = header_path(std::string_view(source.text()).substr(from, to - from));
    if (is_covered_header(path) && !is_rarely_installed(path)) edits.replace(from, to, "1");
  }
}

bool is_covered_header(const std::string& path) {
  // needed_includes() brings these, if they are needed.
  if (path == "cub/cub.cuh" || path == "cuda_fp16.h" || path == "cuda_bf16.h") return true;
  if (std::find(std::begin(kExpensive), std::end(kExpensive), path) != std::end(kExpensive)) return true;
  if (std::find(std::begin(kWithIntegers), std::end(kWithIntegers), path) != std::end(kWithIntegers))
    return true;
  return has_covered_name(path);
}

std::string needed_includes(const TokenText& source) {
  const std::set<std::string_view> names = identifiers(source);
  std::set<std::string> included;
  for (size_t i = 0; i < source.size(); ++i)
    if (source.tokens()[i].kind == Token::Kind::kInclude) included.insert(header_path(source.at(i)));
  bool half = false, bfloat16 = false;
  for (const std::string_view name : names) {
    half |= starts_with(name, "__half") || ends_with(name, "2half") || ends_with(name, "2half_rn") ||
            ends_with(name, "2half2_rn");
    bfloat16 |= starts_with(name, "__nv_bfloat16") || starts_with(name, "nv_bfloat16") ||
                name.find("2bfloat16") != std::string_view::npos || starts_with(name, "__bfloat16");
  }
  half |= contains(names, {"half", "half2", "half8", "__float2half"});
  std::string text = include_lines({half || bfloat16, included, names.count("cub") > 0});
  std::set<std::string_view> parts;
  for (const char* header : kAtomics)
    if (included.count(header)) parts.insert("atomics");
  for (const Part& part : kParts)
    if (contains(names, part.names)) parts.insert(part.header);
  if (parts.count("limits") && parts.count("half_types")) parts.insert("half_limits");
  for (const std::string_view part : parts) text += "#include \"bicrl/" + std::string(part) + ".h\"\n";
  return text;
}

std::vector<CommonIncludes> common_includes() {
  return {{"", include_lines({})},
          {"", include_lines({true, {}, false})},
          {"", include_lines({false, {"mma.h"}, false})},
          {"cooperative_groups", include_lines({false, {"cooperative_groups.h"}, false})},
          {"cub", include_lines({false, {}, true})},
          {"curand_kernel.h", include_lines({false, {"curand_kernel.h"}, false})}};
}

std::string library_declarations(const TokenText& source) {
  std::set<std::string_view> names = identifiers(source);
  // What the text defines itself.
  for (size_t i = 0; i < source.size(); ++i) {
    const bool defines = source.is(i, "struct") || source.is(i, "class") || source.is(i, "enum") ||
                         source.is(i, "define") || source.is(i, "namespace");
    const size_t name = source.next(i);
    if (!defines || !source.is_identifier(name)) continue;
    const size_t after = source.next(name);
    if (!source.is(i, "struct") || source.is(after, "{") || source.is(after, ":") || source.is(after, ";"))
      names.erase(source.at(name));
  }
  std::string text;
  for (const std::string_view name : names) {
    if (!is_declared_library_name(name)) continue;
    const std::string word(name);
    if (ends_with(name, "_t") || ends_with(name, "Struct")) {
      text += "using " + word + " = ::bicrl::Opaque; ";
    } else if (name[0] < 'a') {
      text += "constexpr ::bicrl::Opaque " + word + "{}; ";
    } else if (name.size() > 6 &&
               std::any_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; })) {
      text += "template <class... A> ::bicrl::Opaque " + word + "(A&&...); ";
    }
  }
  return text;
}

}  // namespace bicrl
