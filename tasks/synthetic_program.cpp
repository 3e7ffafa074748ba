#include "tasks/synthetic_program.h"

#include <algorithm>
#include <span>

#include "common/error.h"

namespace bicrl {
namespace {

constexpr int kCostedRowElements = 32;  // at least

// ---- The module.
constexpr std::string_view kModule =
    "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\nclass Model(nn.Module):\n";
constexpr std::string_view kForward1 = "    def forward(self, x):\n";
constexpr std::string_view kForward2 = "    def forward(self, x, y):\n";
constexpr std::string_view kReturn = "        return x\n\n\ndef get_inputs():\n";
constexpr std::string_view kCostingInputs = "\n\ndef get_costing_inputs():\n";
constexpr std::string_view kInitInputs = "\n\ndef get_init_inputs():\n    return []\n";

// ---- The program around its middle.
constexpr std::string_view kImports =
    "import torch\nimport torch.nn as nn\nfrom torch.utils.cpp_extension import load_inline\n\n";
constexpr std::string_view kSource = "source = \"\"\"\n";
constexpr std::string_view kQuotes = "\"\"\"";
constexpr std::string_view kCppSource = "\n\ncpp_src = \"\"\"\n";
constexpr std::string_view kDeclaration1 = "torch::Tensor forward_cuda(torch::Tensor x);\n";
constexpr std::string_view kDeclaration2 = "torch::Tensor forward_cuda(torch::Tensor x, torch::Tensor y);\n";
constexpr std::string_view kLoad =
    "\"\"\"\n\nmodule = load_inline(\n    name='fused',\n    cpp_sources=cpp_src,\n    cuda_sources=source,\n"
    "    functions=['forward_cuda'],\n)\n\n\nclass ModelNew(nn.Module):\n";
constexpr std::string_view kCall1 = "        return module.forward_cuda(x)\n";
constexpr std::string_view kCall2 = "        return module.forward_cuda(x, y)\n";

// ---- The middle.
constexpr std::string_view kIncludes = "#include <torch/extension.h>\n#include <cuda_runtime.h>\n\n";
constexpr std::string_view kChainKernel1 =
    "__global__ void fused_kernel(const float* x, float* out, int n) {\n";
constexpr std::string_view kChainKernel2 =
    "__global__ void fused_kernel(const float* x, const float* y, float* out, int n, int cols) {\n";
constexpr std::string_view kElementIndex =
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i >= n) return;\n";
constexpr std::string_view kReadElement = "    float v = x[i];\n";
constexpr std::string_view kWriteElement = "    out[i] = v;\n}\n\n";
constexpr std::string_view kBefore = "__device__ float before(float v) {\n";
constexpr std::string_view kAfter = "__device__ float after(float v) {\n";
constexpr std::string_view kReturnValue = "    return v;\n}\n\n";

constexpr std::string_view kRowKernel =
    "__global__ void fused_kernel(const float* x, float* out, int rows, int cols) {\n";
constexpr std::string_view kRowIndex =
    "    int r = blockIdx.x * blockDim.x + threadIdx.x;\n    if (r >= rows) return;\n    x += r * cols;\n";
constexpr std::string_view kSumRow =
    "    float s = 0.0f;\n    for (int j = 0; j < cols; ++j) s += before(x[j]);\n    out[r] = "
    "after(s);\n}\n\n";
constexpr std::string_view kSoftmaxRow =
    "    out += r * cols;\n    float m = -INFINITY;\n"
    "    for (int j = 0; j < cols; ++j) m = fmaxf(m, before(x[j]));\n    float s = 0.0f;\n"
    "    for (int j = 0; j < cols; ++j) s += expf(before(x[j]) - m);\n"
    "    for (int j = 0; j < cols; ++j) out[j] = after(expf(before(x[j]) - m) / s);\n}\n\n";
// One block per row, which works on it together.
constexpr std::string_view kSharedRow =
    "    __shared__ float part[32];\n    int t = threadIdx.x;\n    int r = blockIdx.x;\n    x += r * cols;\n";
constexpr std::string_view kMeanParts =
    "    float s = 0.0f;\n    for (int j = t; j < cols; j += 32) s += before(x[j]);\n    part[t] = s;\n"
    "    __syncthreads();\n    for (int k = 16; k > 0; k /= 2) {\n        if (t < k) part[t] += part[t + "
    "k];\n"
    "        __syncthreads();\n    }\n    if (t == 0) out[r] = after(part[0] / cols);\n}\n\n";
constexpr std::string_view kMaxParts =
    "    float m = -INFINITY;\n    for (int j = t; j < cols; j += 32) m = fmaxf(m, before(x[j]));\n"
    "    part[t] = m;\n    __syncthreads();\n    for (int k = 16; k > 0; k /= 2) {\n"
    "        if (t < k) part[t] = fmaxf(part[t], part[t + k]);\n        __syncthreads();\n    }\n"
    "    if (t == 0) out[r] = after(part[0]);\n}\n\n";

constexpr std::string_view kStencilKernel =
    "__global__ void fused_kernel(const float* x, float* out, int n, int cols) {\n";
constexpr std::string_view kColumn = "    int c = i % cols;\n    float v = before(x[i]);\n";
constexpr std::string_view kAverage =
    "    if (c > 0) v += before(x[i - 1]);\n    if (c + 1 < cols) v += before(x[i + 1]);\n"
    "    out[i] = after(v / 3.0f);\n}\n\n";
constexpr std::string_view kMaximum =
    "    if (c > 0) v = fmaxf(v, before(x[i - 1]));\n    if (c + 1 < cols) v = fmaxf(v, before(x[i + 1]));\n"
    "    out[i] = after(v);\n}\n\n";
constexpr std::string_view kDifference =
    "    if (c > 0) v -= before(x[i - 1]);\n    out[i] = after(v);\n}\n\n";

constexpr std::string_view kLauncher1 = "torch::Tensor forward_cuda(torch::Tensor x) {\n";
constexpr std::string_view kLauncher2 = "torch::Tensor forward_cuda(torch::Tensor x, torch::Tensor y) {\n";
constexpr std::string_view kCount = "    int n = x.numel();\n";
constexpr std::string_view kRows = "    int rows = x.size(0);\n";
constexpr std::string_view kCols = "    int cols = x.size(1);\n";
constexpr std::string_view kSameShape = "    auto out = torch::empty_like(x);\n";
constexpr std::string_view kRowShape = "    auto out = torch::empty({rows}, x.options());\n";
constexpr std::string_view kLaunchChain1 =
    "    fused_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), n);\n";
constexpr std::string_view kLaunchChain2 =
    "    fused_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), "
    "out.data_ptr<float>(), n, "
    "cols);\n";
constexpr std::string_view kLaunchStencil =
    "    fused_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), n, cols);\n";
constexpr std::string_view kLaunchRows =
    "    fused_kernel<<<(rows + 63) / 64, 64>>>(x.data_ptr<float>(), out.data_ptr<float>(), rows, cols);\n";
constexpr std::string_view kLaunchShared =
    "    fused_kernel<<<rows, 32>>>(x.data_ptr<float>(), out.data_ptr<float>(), rows, cols);\n";
constexpr std::string_view kReturnOut = "    return out;\n}\n";

constexpr std::string_view kPieces[] = {
    kModule,       kForward1,     kForward2,      kReturn,       kInitInputs,   kImports,      kSource,
    kQuotes,       kCppSource,    kDeclaration1,  kDeclaration2, kLoad,         kCall1,        kCall2,
    kIncludes,     kChainKernel1, kChainKernel2,  kElementIndex, kReadElement,  kWriteElement, kBefore,
    kAfter,        kReturnValue,  kRowKernel,     kRowIndex,     kSumRow,       kSoftmaxRow,   kSharedRow,
    kMeanParts,    kMaxParts,     kStencilKernel, kColumn,       kAverage,      kMaximum,      kDifference,
    kLauncher1,    kLauncher2,    kCount,         kRows,         kCols,         kSameShape,    kRowShape,
    kLaunchChain1, kLaunchChain2, kLaunchStencil, kLaunchRows,   kLaunchShared, kReturnOut};

using Chain = std::span<const ChainStep>;

std::string operator_lines(Chain chain) {
  std::string text;
  for (const ChainStep& step : chain)
    text += concat("    v = ", with_constants(step.op->cuda, step.constants, "f"), ";\n");
  return text;
}

std::string chain_middle(Chain chain, bool two_inputs) {
  return concat(kIncludes, two_inputs ? kChainKernel2 : kChainKernel1, kElementIndex, kReadElement,
                operator_lines(chain), kWriteElement, two_inputs ? kLauncher2 : kLauncher1, kCount,
                two_inputs ? kCols : "", kSameShape, two_inputs ? kLaunchChain2 : kLaunchChain1, kReturnOut);
}

// What stands around a structural operator goes into before() and after(), which its kernel calls.
std::string around_structure(Chain before, Chain after) {
  return concat(kIncludes, kBefore, operator_lines(before), kReturnValue, kAfter, operator_lines(after),
                kReturnValue);
}

std::string structure_middle(const SyntheticOperator& op) {
  const std::string_view name = op.name;
  if (op.kind == OperatorKind::kStencil) {
    const auto body = name == "avg3" ? kAverage : name == "max3" ? kMaximum : kDifference;
    return concat(kStencilKernel, kElementIndex, kColumn, body, kLauncher1, kCount, kCols, kSameShape,
                  kLaunchStencil, kReturnOut);
  }
  if (name == "softmax") {
    return concat(kRowKernel, kRowIndex, kSoftmaxRow, kLauncher1, kRows, kCols, kSameShape, kLaunchRows,
                  kReturnOut);
  }
  if (name == "sum") {
    return concat(kRowKernel, kRowIndex, kSumRow, kLauncher1, kRows, kCols, kRowShape, kLaunchRows,
                  kReturnOut);
  }
  BICRL_CHECK(name == "mean" || name == "max", name);
  return concat(kRowKernel, kSharedRow, name == "mean" ? kMeanParts : kMaxParts, kLauncher1, kRows, kCols,
                kRowShape, kLaunchShared, kReturnOut);
}

bool is_structural(const ChainStep& step) {
  return step.op->kind != OperatorKind::kPointwise && step.op->kind != OperatorKind::kRowVector;
}

bool takes_row_vector(Chain chain) {
  return std::ranges::any_of(chain,
                             [](const ChainStep& s) { return s.op->kind == OperatorKind::kRowVector; });
}

std::string middle_body(Chain chain) {
  const auto structural = std::ranges::find_if(chain, is_structural);
  if (structural == chain.end()) return chain_middle(chain, takes_row_vector(chain));
  const auto before = static_cast<size_t>(structural - chain.begin());
  return around_structure(chain.first(before), chain.subspan(before + 1)) + structure_middle(*structural->op);
}

std::string inputs_line(Shape shape, bool two_inputs) {
  const std::string row_vector = two_inputs ? concat(", torch.randn(", shape.cols, ")") : "";
  return concat("    return [torch.randn(", shape.rows, ", ", shape.cols, ")", row_vector, "]\n");
}

std::string module_text(Chain chain, Shape shape, std::optional<Shape> costed) {
  const bool two_inputs = takes_row_vector(chain);
  std::string text = concat(kModule, two_inputs ? kForward2 : kForward1);
  for (const ChainStep& step : chain)
    text += concat("        x = ", with_constants(step.op->torch, step.constants, ""), "\n");
  text += concat(kReturn, inputs_line(shape, two_inputs));
  if (costed) text += concat(kCostingInputs, inputs_line(*costed, two_inputs));
  return text + std::string(kInitInputs);
}

}  // namespace

Shape costed_shape(const std::vector<ChainStep>& chain, Shape shape, int64_t bytes) {
  const auto has = [&](OperatorKind kind) {
    return std::ranges::any_of(chain, [kind](const ChainStep& step) { return step.op->kind == kind; });
  };
  const bool reduced = has(OperatorKind::kReduction);
  const auto units = [](int64_t amount, int64_t unit) { return (amount + unit - 1) / unit; };
  if (reduced || has(OperatorKind::kSoftmax))
    shape.cols *= static_cast<int>(units(kCostedRowElements, shape.cols));
  const int64_t row_bytes = 4 * (shape.cols + (reduced ? 1 : shape.cols));
  shape.rows = static_cast<int>(std::max<int64_t>(shape.rows, units(bytes, row_bytes)));
  return shape;
}

Task write_task(const std::vector<ChainStep>& chain, Shape shape, std::optional<Shape> costed) {
  BICRL_CHECK(!chain.empty() && shape.rows > 0 && shape.cols > 0, chain.size(), " ", shape.rows, "x",
              shape.cols);
  const auto special = std::ranges::count_if(
      chain, [](const ChainStep& step) { return step.op->kind != OperatorKind::kPointwise; });
  BICRL_CHECK(special <= 1, "one operator at most may be other than pointwise");
  const bool two_inputs = takes_row_vector(chain);
  Task task;
  for (const ChainStep& step : chain) task.composition.emplace_back(step.op->name);
  task.pytorch_code = module_text(chain, shape, costed);
  task.prefix = kImports;
  task.middle = concat(kSource, middle_body(chain), kQuotes);
  task.suffix = concat(kCppSource, two_inputs ? kDeclaration2 : kDeclaration1, kLoad,
                       two_inputs ? kForward2 : kForward1, two_inputs ? kCall2 : kCall1);
  task.cuda_code = task.prefix + task.middle + task.suffix;
  return task;
}

std::vector<std::string> program_pieces() { return {std::begin(kPieces), std::end(kPieces)}; }

}  // namespace bicrl
