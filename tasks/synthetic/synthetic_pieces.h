// The fixed pieces of CUDA text that programs of synthesised tasks are put together from. A choice of how to
// compute something is one piece or two, and pieces of different choices do not
// depend on each other's text: they meet in names alone. The tokenizer of the quickstart makes one token of
// each. Immutable; safe from any thread.
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace bicrl::pieces {

constexpr size_t kMaxKernels = 5;  // as many as a chain has operators

// ---- Constants of the whole program: threads of a block, lanes that share a row, floats that a thread
// loads and stores at a time.
constexpr std::array<int, 4> kThreadCounts = {32, 64, 128, 256};
constexpr std::array<std::string_view, 4> kThreads = {"constexpr int T = 32;\n", "constexpr int T = 64;\n",
                                                      "constexpr int T = 128;\n", "constexpr int T = 256;\n"};
constexpr std::array<std::string_view, 4> kLanes = {"constexpr int L = 1;\n", "constexpr int L = 8;\n",
                                                    "constexpr int L = 32;\n", "constexpr int L = T;\n"};
constexpr std::array<int, 3> kWidthCounts = {1, 2, 4};
constexpr std::array<std::string_view, 3> kWidths = {
    "constexpr int W = 1;\nstruct alignas(4 * W) Pack { float v[W]; };\n\n",
    "constexpr int W = 2;\nstruct alignas(4 * W) Pack { float v[W]; };\n\n",
    "constexpr int W = 4;\nstruct alignas(4 * W) Pack { float v[W]; };\n\n"};

// ---- Functions that hold the operators' lines: f1 is what kernel k1 does to each element, before() and
// after() are what a kernel of rows or neighbours does to what it reads and writes.
constexpr std::array<std::string_view, kMaxKernels> kFunctions = {
    "__device__ float f1(float v) {\n", "__device__ float f2(float v) {\n",
    "__device__ float f3(float v) {\n", "__device__ float f4(float v) {\n",
    "__device__ float f5(float v) {\n"};
constexpr std::array<std::string_view, kMaxKernels> kFunctionsOfTwo = {
    "__device__ float f1(float v, float y) {\n", "__device__ float f2(float v, float y) {\n",
    "__device__ float f3(float v, float y) {\n", "__device__ float f4(float v, float y) {\n",
    "__device__ float f5(float v, float y) {\n"};
constexpr std::string_view kBefore = "__device__ float before(float v) {\n";
constexpr std::string_view kAfter = "__device__ float after(float v) {\n";
constexpr std::string_view kReturnValue = "    return v;\n}\n\n";

// ---- Kernels.
constexpr std::array<std::string_view, kMaxKernels> kKernels = {
    "__global__ void k1(const float* x, float* out, int rows, int cols) {\n",
    "__global__ void k2(const float* x, float* out, int rows, int cols) {\n",
    "__global__ void k3(const float* x, float* out, int rows, int cols) {\n",
    "__global__ void k4(const float* x, float* out, int rows, int cols) {\n",
    "__global__ void k5(const float* x, float* out, int rows, int cols) {\n"};
constexpr std::array<std::string_view, kMaxKernels> kKernelsOfTwo = {
    "__global__ void k1(const float* x, const float* y, float* out, int rows, int cols) {\n",
    "__global__ void k2(const float* x, const float* y, float* out, int rows, int cols) {\n",
    "__global__ void k3(const float* x, const float* y, float* out, int rows, int cols) {\n",
    "__global__ void k4(const float* x, const float* y, float* out, int rows, int cols) {\n",
    "__global__ void k5(const float* x, const float* y, float* out, int rows, int cols) {\n"};

// Which packs a thread takes: its own, with a check or without one; every so many; those of its block's row.
constexpr std::string_view kIndex = "    int i = blockIdx.x * T + threadIdx.x;\n";
constexpr std::string_view kIf = "    if (i < rows * cols / W) {\n";
constexpr std::string_view kUnchecked = "    {\n";
constexpr std::string_view kStride = "    for (; i < rows * cols / W; i += gridDim.x * T) {\n";
constexpr std::string_view kRowIndex = "    int i = blockIdx.x * (cols / W) + threadIdx.x;\n";
constexpr std::string_view kRowStride = "    for (; i < (blockIdx.x + 1) * (cols / W); i += T) {\n";
// The column of a pack: always right, and without a division where a block has a row.
constexpr std::string_view kColumn = "        int c = i * W % cols;\n";
constexpr std::string_view kColumnOfRow = "        int c = i * W - blockIdx.x * cols;\n";

constexpr std::array<std::string_view, kMaxKernels> kElements = {
    "        Pack p = ((const Pack*)x)[i];\n        for (int k = 0; k < W; ++k) p.v[k] = f1(p.v[k]);\n"
    "        ((Pack*)out)[i] = p;\n    }\n}\n\n",
    "        Pack p = ((const Pack*)x)[i];\n        for (int k = 0; k < W; ++k) p.v[k] = f2(p.v[k]);\n"
    "        ((Pack*)out)[i] = p;\n    }\n}\n\n",
    "        Pack p = ((const Pack*)x)[i];\n        for (int k = 0; k < W; ++k) p.v[k] = f3(p.v[k]);\n"
    "        ((Pack*)out)[i] = p;\n    }\n}\n\n",
    "        Pack p = ((const Pack*)x)[i];\n        for (int k = 0; k < W; ++k) p.v[k] = f4(p.v[k]);\n"
    "        ((Pack*)out)[i] = p;\n    }\n}\n\n",
    "        Pack p = ((const Pack*)x)[i];\n        for (int k = 0; k < W; ++k) p.v[k] = f5(p.v[k]);\n"
    "        ((Pack*)out)[i] = p;\n    }\n}\n\n"};
constexpr std::array<std::string_view, kMaxKernels> kElementsOfTwo = {
    "        Pack p = ((const Pack*)x)[i], q = *(const Pack*)(y + c);\n"
    "        for (int k = 0; k < W; ++k) p.v[k] = f1(p.v[k], q.v[k]);\n"
    "        ((Pack*)out)[i] = p;\n    }\n}\n\n",
    "        Pack p = ((const Pack*)x)[i], q = *(const Pack*)(y + c);\n"
    "        for (int k = 0; k < W; ++k) p.v[k] = f2(p.v[k], q.v[k]);\n"
    "        ((Pack*)out)[i] = p;\n    }\n}\n\n",
    "        Pack p = ((const Pack*)x)[i], q = *(const Pack*)(y + c);\n"
    "        for (int k = 0; k < W; ++k) p.v[k] = f3(p.v[k], q.v[k]);\n"
    "        ((Pack*)out)[i] = p;\n    }\n}\n\n",
    "        Pack p = ((const Pack*)x)[i], q = *(const Pack*)(y + c);\n"
    "        for (int k = 0; k < W; ++k) p.v[k] = f4(p.v[k], q.v[k]);\n"
    "        ((Pack*)out)[i] = p;\n    }\n}\n\n",
    "        Pack p = ((const Pack*)x)[i], q = *(const Pack*)(y + c);\n"
    "        for (int k = 0; k < W; ++k) p.v[k] = f5(p.v[k], q.v[k]);\n"
    "        ((Pack*)out)[i] = p;\n    }\n}\n\n"};

// ---- Neighbours: what becomes of three, and what stands beyond a row's ends. Read one by one, or through a
// tile in shared memory to which before() has been applied once.
constexpr std::string_view kAverage =
    "__device__ float near(float a, float b, float c) {\n    return (a + b + c) / 3.0f;\n}\n"
    "__device__ float edge() {\n    return 0.0f;\n}\n\n";
constexpr std::string_view kMaximum =
    "__device__ float near(float a, float b, float c) {\n    return fmaxf(fmaxf(a, b), c);\n}\n"
    "__device__ float edge() {\n    return -INFINITY;\n}\n\n";
constexpr std::string_view kDifference =
    "__device__ float near(float a, float b, float c) {\n    return b - a;\n}\n"
    "__device__ float edge() {\n    return 0.0f;\n}\n\n";
constexpr std::string_view kNeighbours =
    "        Pack p = ((const Pack*)x)[i];\n        float a = c > 0 ? before(x[i * W - 1]) : edge();\n"
    "        float b = before(p.v[0]);\n        for (int k = 0; k < W; ++k) {\n            float d = "
    "edge();\n"
    "            if (c + k + 1 < cols) d = before(k + 1 < W ? p.v[k + 1] : x[i * W + W]);\n"
    "            p.v[k] = after(near(a, b, d));\n            a = b, b = d;\n        }\n"
    "        ((Pack*)out)[i] = p;\n    }\n}\n\n";
constexpr std::string_view kTile =
    "    __shared__ float tile[T * W + 2];\n    float* h = tile + threadIdx.x * W + 1;\n"
    "    if (i < rows * cols / W) {\n        Pack p = ((const Pack*)x)[i];\n"
    "        for (int k = 0; k < W; ++k) h[k] = before(p.v[k]);\n"
    "        if (threadIdx.x == 0 && i > 0) h[-1] = before(x[i * W - 1]);\n"
    "        if (threadIdx.x == T - 1 && i + 1 < rows * cols / W) h[W] = before(x[i * W + W]);\n    }\n";
constexpr std::string_view kTileNeighbours =
    "        Pack p;\n        for (int k = 0; k < W; ++k)\n"
    "            p.v[k] = after(near(c + k > 0 ? h[k - 1] : edge(), h[k],"
    " c + k + 1 < cols ? h[k + 1] : edge()));\n"
    "        ((Pack*)out)[i] = p;\n    }\n}\n\n";

// ---- Rows. across() joins what the L lanes of a row have: by shuffles, by a tree in shared memory, or by
// shuffles and a step across warps. `top`: the maximum, else the sum.
constexpr std::string_view kAcross =
    "__device__ float join(bool top, float a, float b) {\n    return top ? fmaxf(a, b) : a + b;\n}\n\n"
    "__device__ float across(bool top, float v) {\n";
constexpr std::string_view kShuffle =
    "    for (int k = min(L, 32) / 2; k > 0; k /= 2) v = join(top, v, __shfl_xor_sync(~0u, v, k));\n";
constexpr std::string_view kPart = "    __shared__ float part[T];\n    part[threadIdx.x] = v;\n";
constexpr std::string_view kBarrier = "    __syncthreads();\n";
constexpr std::string_view kTree =
    "    for (int k = L / 2; k > 0; k /= 2) {\n"
    "        if (threadIdx.x % L < k)\n"
    "            part[threadIdx.x] = join(top, part[threadIdx.x], part[threadIdx.x + k]);\n"
    "        __syncthreads();\n    }\n    v = part[threadIdx.x / L * L];\n";
constexpr std::string_view kWarpPart =
    "    __shared__ float part[T / 32];\n    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;\n";
constexpr std::string_view kWarpJoin =
    "    v = part[0];\n    for (int k = 1; k < T / 32; ++k) v = join(top, v, part[k]);\n";

constexpr std::string_view kRow = "    int r = (blockIdx.x * T + threadIdx.x) / L, t = threadIdx.x % L;\n";
constexpr std::string_view kInside = "    bool inside = r < rows;\n";
constexpr std::string_view kAnywhere = "    bool inside = true;\n";
constexpr std::string_view kTop = "    const bool top = true;\n";
constexpr std::string_view kTotal = "    const bool top = false;\n";
constexpr std::string_view kReduceRow =
    "    float s = top ? -INFINITY : 0.0f;\n    for (int j = t; inside && j < cols / W; j += L) {\n"
    "        Pack p = ((const Pack*)(x + r * cols))[j];\n"
    "        for (int k = 0; k < W; ++k) s = join(top, s, before(p.v[k]));\n    }\n    s = across(top, s);\n";
constexpr std::string_view kStore = "    if (inside && t == 0) out[r] = after(s);\n}\n\n";
constexpr std::string_view kStoreMean = "    if (inside && t == 0) out[r] = after(s / cols);\n}\n\n";

// Softmax reads its row three times, or twice with a sum that follows the maximum, or once: then a lane keeps
// up to four packs.
constexpr std::string_view kMaxPass =
    "    float m = -INFINITY, s = 0.0f;\n    for (int j = t; inside && j < cols / W; j += L) {\n"
    "        Pack p = ((const Pack*)(x + r * cols))[j];\n"
    "        for (int k = 0; k < W; ++k) m = fmaxf(m, before(p.v[k]));\n    }\n    m = across(true, m);\n";
constexpr std::string_view kSumPass =
    "    for (int j = t; inside && j < cols / W; j += L) {\n"
    "        Pack p = ((const Pack*)(x + r * cols))[j];\n"
    "        for (int k = 0; k < W; ++k) s += expf(before(p.v[k]) - m);\n    }\n    s = across(false, s);\n";
constexpr std::string_view kOnlinePass =
    "    float m = -INFINITY, s = 0.0f;\n    for (int j = t; inside && j < cols / W; j += L) {\n"
    "        Pack p = ((const Pack*)(x + r * cols))[j];\n        float old = m;\n"
    "        for (int k = 0; k < W; ++k) p.v[k] = before(p.v[k]), m = fmaxf(m, p.v[k]);\n"
    "        s *= expf(old - m);\n        for (int k = 0; k < W; ++k) s += expf(p.v[k] - m);\n    }\n"
    "    float own = m;\n    m = across(true, m);\n    s = across(false, s * expf(own - m));\n";
constexpr std::string_view kWritePass =
    "    for (int j = t; inside && j < cols / W; j += L) {\n"
    "        Pack p = ((const Pack*)(x + r * cols))[j];\n"
    "        for (int k = 0; k < W; ++k) p.v[k] = after(expf(before(p.v[k]) - m) / s);\n"
    "        ((Pack*)(out + r * cols))[j] = p;\n    }\n}\n\n";
constexpr std::string_view kKeepPass =
    "    Pack p[4];\n    float m = -INFINITY, s = 0.0f;\n    for (int q = 0; q < 4; ++q)\n"
    "        if (inside && t + q * L < cols / W) {\n"
    "            p[q] = ((const Pack*)(x + r * cols))[t + q * L];\n"
    "            for (int k = 0; k < W; ++k) p[q].v[k] = before(p[q].v[k]), m = fmaxf(m, p[q].v[k]);\n"
    "        }\n    m = across(true, m);\n    for (int q = 0; q < 4; ++q)\n"
    "        if (inside && t + q * L < cols / W)\n"
    "            for (int k = 0; k < W; ++k) p[q].v[k] = expf(p[q].v[k] - m), s += p[q].v[k];\n"
    "    s = across(false, s);\n    for (int q = 0; q < 4; ++q)\n"
    "        if (inside && t + q * L < cols / W) {\n"
    "            for (int k = 0; k < W; ++k) p[q].v[k] = after(p[q].v[k] / s);\n"
    "            ((Pack*)(out + r * cols))[t + q * L] = p[q];\n        }\n}\n\n";

// ---- The host part: for each kernel its output, its name, and its grid with its arguments.
constexpr std::string_view kLauncher =
    "torch::Tensor forward_cuda(torch::Tensor x) {\n    torch::Tensor out;\n";
constexpr std::string_view kLauncherOfTwo =
    "torch::Tensor forward_cuda(torch::Tensor x, torch::Tensor y) {\n    torch::Tensor out;\n";
constexpr std::string_view kSameShape = "    out = torch::empty_like(x);\n";
constexpr std::string_view kRowShape = "    out = torch::empty({x.size(0)}, x.options());\n";
constexpr std::array<std::string_view, kMaxKernels> kNames = {"    k1", "    k2", "    k3", "    k4",
                                                              "    k5"};
constexpr std::string_view kGridFull =
    "<<<(x.numel() / W + T - 1) / T, T>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(0), "
    "x.numel() / x.size(0));\n    x = out;\n";
constexpr std::string_view kGridFullOfTwo =
    "<<<(x.numel() / W + T - 1) / T, T>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), "
    "x.size(0), x.numel() / x.size(0));\n    x = out;\n";
constexpr std::string_view kGridQuarter =
    "<<<(x.numel() / W + 4 * T - 1) / (4 * T), T>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(0), "
    "x.numel() / x.size(0));\n    x = out;\n";
constexpr std::string_view kGridQuarterOfTwo =
    "<<<(x.numel() / W + 4 * T - 1) / (4 * T), T>>>(x.data_ptr<float>(), y.data_ptr<float>(), "
    "out.data_ptr<float>(), x.size(0), x.numel() / x.size(0));\n    x = out;\n";
constexpr std::string_view kGridRows =
    "<<<x.size(0), T>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(0), "
    "x.numel() / x.size(0));\n    x = out;\n";
constexpr std::string_view kGridRowsOfTwo =
    "<<<x.size(0), T>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), "
    "x.size(0), x.numel() / x.size(0));\n    x = out;\n";
constexpr std::string_view kGridLanes =
    "<<<(x.size(0) * L + T - 1) / T, T>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(0), "
    "x.numel() / x.size(0));\n    x = out;\n";
constexpr std::string_view kReturnResult = "    return x;\n}\n";

// ---- Python around it.
constexpr std::string_view kImports =
    "import torch\nimport torch.nn as nn\nfrom torch.utils.cpp_extension import load_inline\n\n";
constexpr std::string_view kSource = "source = \"\"\"\n";
constexpr std::string_view kIncludes = "#include <torch/extension.h>\n#include <cuda_runtime.h>\n\n";
constexpr std::string_view kQuotes = "\"\"\"";
constexpr std::string_view kCppSource = "\n\ncpp_src = \"\"\"\n";
constexpr std::string_view kDeclaration = "torch::Tensor forward_cuda(torch::Tensor x);\n";
constexpr std::string_view kDeclarationOfTwo =
    "torch::Tensor forward_cuda(torch::Tensor x, torch::Tensor y);\n";
constexpr std::string_view kLoad =
    "\"\"\"\n\nmodule = load_inline(\n    name='fused',\n    cpp_sources=cpp_src,\n    cuda_sources=source,\n"
    "    functions=['forward_cuda'],\n)\n\n\nclass ModelNew(nn.Module):\n";
constexpr std::string_view kForward = "    def forward(self, x):\n";
constexpr std::string_view kForwardOfTwo = "    def forward(self, x, y):\n";
constexpr std::string_view kCall = "        return module.forward_cuda(x)\n";
constexpr std::string_view kCallOfTwo = "        return module.forward_cuda(x, y)\n";

// Those above.
std::vector<std::string_view> of_programs();

}  // namespace bicrl::pieces
