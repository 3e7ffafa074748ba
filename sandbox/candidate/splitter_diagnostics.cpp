// What a failed compilation says about a candidate.
#include <cctype>
#include <set>

#include "sandbox/candidate/splitter.h"

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

// The word between quotes after `from`, in either style of quotation mark.
std::string_view quoted_word(std::string_view text, size_t from) {
  size_t open = text.find('\'', from);
  const size_t fancy = text.find("\u2018", from);
  size_t skip = 1;
  if (fancy != std::string_view::npos && (open == std::string_view::npos || fancy < open)) {
    open = fancy;
    skip = 3;
  }
  if (open == std::string_view::npos) return {};
  size_t end = open + skip;
  while (end < text.size() && (isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
  return text.substr(open + skip, end - open - skip);
}

// The framework operator that an error line is about, or empty.
std::string_view missing_operator(std::string_view line) {
  std::string_view word;
  const size_t member = line.find("has no member named ");
  if (member != std::string_view::npos && line.find("Tensor") < member) {
    word = quoted_word(line, member);
  } else if (line.find("is not a member of ") != std::string_view::npos) {
    const size_t scope = line.find("is not a member of ");
    const auto of = quoted_word(line, scope);
    if (of == "torch" || of == "at") word = quoted_word(line, line.find("error:"));
  } else if (line.find("no match for ") != std::string_view::npos &&
             line.find("at::Tensor") != std::string_view::npos &&
             line.find("operator") != std::string_view::npos) {
    return "a tensor operator";
  } else if (line.find("has not been declared") != std::string_view::npos &&
             line.find("torch::") != std::string_view::npos) {
    const size_t at = line.find("torch::") + 7;
    size_t end = at;
    while (end < line.size() && (isalnum(static_cast<unsigned char>(line[end])) || line[end] == '_')) ++end;
    word = line.substr(at, end - at);
  }
  return framework_operators().count(word) ? word : std::string_view();
}

// Paths of the box tell a policy nothing.
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

}  // namespace

CompileFailure classify_compile_failure(std::string_view output) {
  CompileFailure failure{"compile", ""};
  for (size_t at = 0; at < output.size();) {
    const size_t end = std::min(output.find('\n', at), output.size());
    const std::string_view line = output.substr(at, end - at);
    at = end + 1;
    const bool error =
        line.find("error:") != std::string_view::npos || line.find("undefined") != std::string_view::npos;
    if (!error) continue;
    const auto word = missing_operator(line);
    if (!word.empty() && failure.fault_class == "compile") {
      failure.fault_class = "framework_fallback";
      failure.reason = "the C++ part calls the framework: " + std::string(word) + "\n" + failure.reason;
    }
    if (failure.reason.size() < kMaxReasonBytes) failure.reason += without_paths(line.substr(0, 400)) + "\n";
  }
  if (failure.reason.empty()) failure.reason = std::string(output.substr(0, kMaxReasonBytes));
  return failure;
}

}  // namespace bicrl
