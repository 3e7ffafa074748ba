#include "sandbox/frontend/compile_failure.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "common/config/one_of.h"

namespace bicrl {
namespace {

constexpr size_t kMaxReasonBytes = 1500;

// Tensor operators that real PyTorch offers and the shim does not: using one is a fallback to the framework.
const std::set<std::string_view>& framework_operators() {
  static const std::set<std::string_view> names = {"abs",
                                                   "acos",
                                                   "add",
                                                   "add_",
                                                   "addbmm",
                                                   "addmm",
                                                   "all",
                                                   "amax",
                                                   "amin",
                                                   "any",
                                                   "arange",
                                                   "argmax",
                                                   "argmin",
                                                   "argsort",
                                                   "avg_pool2d",
                                                   "baddbmm",
                                                   "batch_norm",
                                                   "bmm",
                                                   "broadcast_tensors",
                                                   "cat",
                                                   "ceil",
                                                   "chunk",
                                                   "clamp",
                                                   "clamp_",
                                                   "clamp_min",
                                                   "concat",
                                                   "conv1d",
                                                   "conv2d",
                                                   "conv3d",
                                                   "conv_transpose2d",
                                                   "convolution",
                                                   "cos",
                                                   "cross_entropy",
                                                   "cumprod",
                                                   "cumsum",
                                                   "diag",
                                                   "div",
                                                   "div_",
                                                   "dot",
                                                   "dropout",
                                                   "einsum",
                                                   "elu",
                                                   "embedding",
                                                   "eq",
                                                   "erf",
                                                   "exp",
                                                   "exp_",
                                                   "fft",
                                                   "flip",
                                                   "floor",
                                                   "gather",
                                                   "ge",
                                                   "gelu",
                                                   "group_norm",
                                                   "gt",
                                                   "hardtanh",
                                                   "index",
                                                   "index_select",
                                                   "instance_norm",
                                                   "interpolate",
                                                   "layer_norm",
                                                   "le",
                                                   "leaky_relu",
                                                   "linalg",
                                                   "linear",
                                                   "log",
                                                   "log1p",
                                                   "log_softmax",
                                                   "logsumexp",
                                                   "lt",
                                                   "masked_fill",
                                                   "masked_fill_",
                                                   "matmul",
                                                   "max",
                                                   "max_pool1d",
                                                   "max_pool2d",
                                                   "max_pool3d",
                                                   "mean",
                                                   "min",
                                                   "mm",
                                                   "mse_loss",
                                                   "mul",
                                                   "mul_",
                                                   "multinomial",
                                                   "mv",
                                                   "ne",
                                                   "neg",
                                                   "nll_loss",
                                                   "nn",
                                                   "nonzero",
                                                   "norm",
                                                   "normal",
                                                   "one_hot",
                                                   "outer",
                                                   "pad",
                                                   "pow",
                                                   "prod",
                                                   "rand",
                                                   "randn",
                                                   "reciprocal",
                                                   "relu",
                                                   "relu_",
                                                   "repeat",
                                                   "rms_norm",
                                                   "roll",
                                                   "rsqrt",
                                                   "rsub",
                                                   "scaled_dot_product_attention",
                                                   "scatter",
                                                   "scatter_",
                                                   "scatter_add_",
                                                   "sigmoid",
                                                   "sigmoid_",
                                                   "sign",
                                                   "silu",
                                                   "sin",
                                                   "softmax",
                                                   "softplus",
                                                   "sort",
                                                   "split",
                                                   "sqrt",
                                                   "square",
                                                   "stack",
                                                   "std",
                                                   "sub",
                                                   "sub_",
                                                   "sum",
                                                   "tanh",
                                                   "tanh_",
                                                   "tensordot",
                                                   "tile",
                                                   "topk",
                                                   "trace",
                                                   "tril",
                                                   "triu",
                                                   "unfold",
                                                   "upsample_bilinear2d",
                                                   "var",
                                                   "var_mean",
                                                   "where",
                                                   "functional",
                                                   "native",
                                                   "special"};
  return names;
}

// What an error says that the headers do not have.
struct Missing {
  std::string_view name;
  std::string_view scope;   // the namespace that lacks it; empty: none is named
  std::string_view member;  // or the type that lacks it
};

bool is_name_part(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// What stands in the quotation marks, of either style, behind `from`, and where they end.
std::string_view quoted(std::string_view line, size_t from) {
  for (const auto& [open, close] :
       {std::pair<std::string_view, std::string_view>{"'", "'"}, {"\u2018", "\u2019"}}) {
    const size_t begin = line.find(open, from);
    if (begin == std::string_view::npos) continue;
    const size_t end = line.find(close, begin + open.size());
    if (end == std::string_view::npos) continue;
    return line.substr(begin + open.size(), end - begin - open.size());
  }
  return {};
}

std::string_view last_name(std::string_view qualified) {
  const size_t colon = qualified.rfind("::");
  return colon == std::string_view::npos ? qualified : qualified.substr(colon + 2);
}

// "py::tuple" is a name in a namespace.
Missing in_its_scope(std::string_view qualified) {
  const std::string_view name = last_name(qualified);
  const size_t scope = qualified.size() - name.size();
  return {name, scope ? qualified.substr(0, scope - 2) : std::string_view(), {}};
}

// As g++ and the linkers say it. Empty if the line is about something else.
Missing missing_in(std::string_view line) {
  const size_t error = line.find("error:");
  const auto behind = [&](std::string_view words) {
    const size_t at = line.find(words);
    return at == std::string_view::npos ? at : at + words.size();
  };
  for (const std::string_view words : {"undefined symbol: ", "undefined reference to "})
    if (const size_t at = behind(words); at != std::string_view::npos) {
      const size_t begin = line.find_first_not_of("`'\"", at);
      size_t end = std::min(begin, line.size());
      while (end < line.size() && is_name_part(line[end])) ++end;
      return {line.substr(std::min(begin, end), end - std::min(begin, end)), {}, {}};
    }
  if (error == std::string_view::npos) return {};
  const std::string_view first = quoted(line, error);
  if (const size_t at = behind("has no member named "); at != std::string_view::npos)
    return {quoted(line, at), {}, first};
  for (const std::string_view words : {"is not a member of ", "in namespace "})
    if (const size_t at = behind(words); at != std::string_view::npos) return {first, quoted(line, at), {}};
  for (const std::string_view words : {"was not declared in this scope", "has not been declared",
                                       "does not name a type", "does not name a template type"})
    if (line.find(words) != std::string_view::npos) return in_its_scope(first);
  return {};
}

bool begins_with_one_of(std::string_view text, std::initializer_list<std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view one) { return text.starts_with(one); });
}

bool is_torch_scope(std::string_view scope) {
  const std::string_view outer = scope.substr(0, scope.find(':'));
  return is_one_of(outer, {"torch", "at", "c10", "caffe2", "py", "pybind11"});
}

// What of an installed API the line misses, or empty.
std::string_view missing_api(const Missing& missing, const InstalledApi& api) {
  const auto& [name, scope, member] = missing;
  bool has = false;
  if (!member.empty()) {
    if (member.find("at::Tensor") != std::string_view::npos)
      has = api.has_tensor_member(name);
    else if (member.find("cuda") != std::string_view::npos && member.find("::") == std::string_view::npos)
      has = api.has_cuda_field(name);
    else  // pybind11's module is the registry
      has =
          begins_with_one_of(member.substr(member.rfind(' ') + 1), {"bicrl::", "c10::", "at::", "torch::"}) &&
          api.has_torch_name(name);
  } else if (!scope.empty()) {
    // Macros make constants of types: kFloat8_e4m3fnuz.
    has = is_torch_scope(scope) &&
          (api.has_torch_name(name) || (name.starts_with("k") && api.has_torch_name(name.substr(1))));
  } else {
    has = api.has_cuda_name(name) ||
          (begins_with_one_of(name, {"TORCH_", "AT_", "C10_", "PYBIND11_", "Py", "THP"}) &&
           api.has_torch_name(name));
  }
  return has ? name : std::string_view();
}

// The type of a parameter or an answer that a bound function cannot have, or empty.
std::string_view unbound_type(std::string_view line) {
  constexpr std::string_view kConvert = "bicrl::Convert<";
  const size_t at = line.find(kConvert);
  if (line.find("incomplete type") == std::string_view::npos || at == std::string_view::npos) return {};
  const std::string_view rest = line.substr(at + kConvert.size());
  return rest.substr(0, rest.find('>'));
}

std::string_view missing_header(std::string_view line, const InstalledApi& api) {
  constexpr std::string_view kFatal = "fatal error: ";
  const size_t at = line.find(kFatal);
  if (at == std::string_view::npos || line.find(": No such file") == std::string_view::npos) return {};
  const std::string_view rest = line.substr(at + kFatal.size());
  const std::string_view header = rest.substr(0, rest.find(": No such file"));
  return api.has_header(std::string(header)) ? header : std::string_view();
}

// The framework operator that an error line is about, or empty.
std::string_view missing_operator(std::string_view line, const Missing& missing) {
  if (line.find("no match for ") != std::string_view::npos &&
      line.find("at::Tensor") != std::string_view::npos && line.find("operator") != std::string_view::npos)
    return "a tensor operator";
  const bool of_tensor = missing.member.find("Tensor") != std::string_view::npos;
  const bool of_namespace = is_one_of(missing.scope, {"torch", "at"});
  if (!of_tensor && !of_namespace) return {};
  return framework_operators().count(missing.name) ? missing.name : std::string_view();
}

// Paths of the box are of no use to a policy.
std::string without_paths(std::string_view line) {
  std::string out;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '/' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '"')) {
      size_t end = i;
      while (end < line.size() && line[end] != ':' && line[end] != ' ') ++end;
      const size_t slash = line.substr(i, end - i).rfind('/');
      out += line.substr(i + slash + 1, end - i - slash - 1);
      i = end - 1;
    } else {
      out += line[i];
    }
  }
  return out;
}

// What the line says of the host part's headers: a class that explains the failure, or none.
std::optional<Fault> explained_by(std::string_view line, const InstalledApi& api) {
  const Missing missing = missing_in(line);
  if (const auto word = missing_operator(line, missing); !word.empty())
    return Fault::of_program(FaultClass::kFrameworkFallback,
                             "the C++ part calls the framework: " + std::string(word));
  if (const auto word = missing_api(missing, api); !word.empty())
    return Fault::of_program(FaultClass::kUnsupported,
                             "the host part cannot have '" + std::string(word) + "'");
  if (const auto type = unbound_type(line); !type.empty())
    return Fault::of_program(FaultClass::kUnsupported,
                             "a bound function takes or returns '" + std::string(type) + "'");
  if (const auto header = missing_header(line, api); !header.empty())
    return Fault::of_program(FaultClass::kUnsupported,
                             "the host part cannot have the header '" + std::string(header) + "'");
  return std::nullopt;
}

}  // namespace

Fault classify_compile_failure(std::string_view output, const InstalledApi& api) {
  Fault failure = Fault::of_program(FaultClass::kCompile, "");
  std::string lines;
  for (size_t at = 0; at < output.size();) {
    const size_t end = std::min(output.find('\n', at), output.size());
    const std::string_view line = output.substr(at, end - at);
    at = end + 1;
    const bool error =
        line.find("error:") != std::string_view::npos || line.find("undefined") != std::string_view::npos;
    if (!error) continue;
    if (failure.is(FaultClass::kCompile))
      if (const auto found = explained_by(line, api))
        failure = Fault::of_program(found->fault_class, found->reason + "\n");
    if (lines.size() < kMaxReasonBytes) lines += without_paths(line.substr(0, 400)) + "\n";
  }
  failure.reason += lines;
  if (failure.reason.empty()) failure.reason = std::string(output.substr(0, kMaxReasonBytes));
  return failure;
}

}  // namespace bicrl
