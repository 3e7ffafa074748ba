// Tensor operators of the framework. They compile, because programs name them where they never come; one that
// runs is the framework computing the answer, and ends the run.
#pragma once
#include "bicrl/tensor.h"

// The formatter has no stable form for such a list.
// clang-format off
#define BICRL_FRAMEWORK_FUNCTIONS(X) \
  X(abs) X(acos) X(adaptive_avg_pool2d) X(add) X(addbmm) X(addmm) X(all) X(any) X(arange) X(argmax) \
  X(argmin) X(argsort) X(atan2) X(avg_pool1d) X(avg_pool2d) X(avg_pool3d) X(baddbmm) X(batch_norm) \
  X(bmm) X(cat) X(ceil) X(celu) X(clamp) X(clamp_max) X(clamp_min) X(concat) X(conv1d) X(conv2d) \
  X(conv3d) X(conv_transpose1d) X(conv_transpose2d) X(conv_transpose3d) X(convolution) X(cos) \
  X(cosine_similarity) X(cross_entropy_loss) X(cumprod) X(cumsum) X(diag) X(div) X(dot) X(dropout) \
  X(einsum) X(elu) X(embedding) X(eq) X(erf) X(exp) X(eye) X(flip) X(floor) X(gather) X(ge) X(gelu) \
  X(group_norm) X(gt) X(hardshrink) X(hardsigmoid) X(hardswish) X(hardtanh) X(index_select) \
  X(instance_norm) X(kl_div) X(l1_loss) X(layer_norm) X(le) X(leaky_relu) X(linear) X(linspace) X(log) \
  X(log1p) X(log2) X(log_sigmoid) X(log_softmax) X(logical_and) X(logical_not) X(logical_or) \
  X(logsumexp) X(lt) X(masked_select) X(matmul) X(max_pool1d) X(max_pool2d) X(max_pool3d) X(maximum) \
  X(minimum) X(mish) X(mm) X(mse_loss) X(mul) X(multinomial) X(mv) X(ne) X(neg) X(nll_loss) X(nonzero) \
  X(norm) X(normal) X(one_hot) X(outer) X(pow) X(prelu) X(rand) X(rand_like) X(randint) X(randn) \
  X(randn_like) X(randperm) X(range) X(reciprocal) X(relu) X(relu6) X(repeat_interleave) X(rms_norm) \
  X(roll) X(round) X(rsqrt) X(rsub) X(scalar_tensor) X(scaled_dot_product_attention) X(scatter) \
  X(scatter_add) X(searchsorted) X(selu) X(sigmoid) X(sign) X(silu) X(sin) X(sinh) X(slice) \
  X(smooth_l1_loss) X(softmax) X(softplus) X(softshrink) X(sqrt) X(square) X(squeeze) X(stack) X(sub) \
  X(tan) X(tanh) X(tensordot) X(threshold) X(tile) X(trace) X(transpose) X(tril) X(triu) X(unsqueeze) \
  X(upsample_bilinear2d) X(upsample_nearest2d) X(where) X(hinge_embedding_loss) X(triplet_margin_loss) \
  X(binary_cross_entropy) X(bilinear) X(cdist) X(frobenius_norm)
// clang-format on

namespace at {
#define BICRL_FUNCTION(name)                                        \
  template <class... A>                                             \
  inline Tensor name(const A&...) {                                 \
    ::bicrl::framework_call(#name);                                 \
  }                                                                 \
  template <class... A>                                             \
  inline Tensor name(const Tensor&, IntArrayRef, const A&...) {     \
    ::bicrl::framework_call(#name);                                 \
  }                                                                 \
  template <class... A>                                             \
  inline Tensor name(std::initializer_list<Tensor>, const A&...) {  \
    ::bicrl::framework_call(#name);                                 \
  }                                                                 \
  template <class... A>                                             \
  inline Tensor name(std::initializer_list<int64_t>, const A&...) { \
    ::bicrl::framework_call(#name);                                 \
  }
BICRL_FRAMEWORK_FUNCTIONS(BICRL_FUNCTION)
BICRL_FUNCTION(var)
#undef BICRL_FUNCTION
inline Tensor max(const Tensor&) { ::bicrl::framework_call("max"); }
inline Tensor min(const Tensor&) { ::bicrl::framework_call("min"); }
inline Tensor max(const Tensor&, const Tensor&) { ::bicrl::framework_call("max"); }
inline Tensor min(const Tensor&, const Tensor&) { ::bicrl::framework_call("min"); }
#ifdef BICRL_STD
#define BICRL_PAIR_FUNCTION(name)                                                                           \
  inline std::tuple<Tensor, Tensor> name(const Tensor&, int64_t, int64_t = 0, bool = false, bool = false) { \
    ::bicrl::framework_call(#name);                                                                         \
  }
BICRL_PAIR_FUNCTION(max)
BICRL_PAIR_FUNCTION(min)
BICRL_PAIR_FUNCTION(sort)
BICRL_PAIR_FUNCTION(topk)
#undef BICRL_PAIR_FUNCTION
inline std::vector<Tensor> split(const Tensor&, int64_t, int64_t = 0) { ::bicrl::framework_call("split"); }
inline std::vector<Tensor> chunk(const Tensor&, int64_t, int64_t = 0) { ::bicrl::framework_call("chunk"); }
#endif
#define BICRL_OPERATOR(op)                                                                             \
  inline Tensor operator op(const Tensor&, const Tensor&) { ::bicrl::framework_call("operator" #op); } \
  inline Tensor operator op(const Tensor&, const Scalar&) { ::bicrl::framework_call("operator" #op); } \
  inline Tensor operator op(const Scalar&, const Tensor&) { ::bicrl::framework_call("operator" #op); }
BICRL_OPERATOR(+)
BICRL_OPERATOR(-)
BICRL_OPERATOR(*)
BICRL_OPERATOR(/)
BICRL_OPERATOR(>)
BICRL_OPERATOR(<)
BICRL_OPERATOR(>=)
BICRL_OPERATOR(<=)
#undef BICRL_OPERATOR
inline Tensor operator-(const Tensor&) { ::bicrl::framework_call("operator-"); }
inline Tensor& operator+=(Tensor&, const Scalar&) { ::bicrl::framework_call("operator+="); }
inline Tensor& operator-=(Tensor&, const Scalar&) { ::bicrl::framework_call("operator-="); }
inline Tensor& operator*=(Tensor&, const Scalar&) { ::bicrl::framework_call("operator*="); }
inline Tensor& operator/=(Tensor&, const Scalar&) { ::bicrl::framework_call("operator/="); }
inline Tensor& operator+=(Tensor&, const Tensor&) { ::bicrl::framework_call("operator+="); }
inline Tensor& operator-=(Tensor&, const Tensor&) { ::bicrl::framework_call("operator-="); }
inline Tensor& operator*=(Tensor&, const Tensor&) { ::bicrl::framework_call("operator*="); }
inline Tensor& operator/=(Tensor&, const Tensor&) { ::bicrl::framework_call("operator/="); }
}  // namespace at
#undef BICRL_FRAMEWORK_FUNCTIONS
