// Names of Tensor's operators that the framework computes; see framework.h.
#pragma once

// The formatter has no stable form for such a list.
// clang-format off
#define BICRL_FRAMEWORK_MEMBERS(X) \
  X(abs) X(acos) X(add) X(add_) X(addbmm) X(addmm) X(all) X(any) X(argmax) X(argmin) X(argsort) X(asin) \
  X(atan) X(avg_pool2d) X(baddbmm) X(bmm) X(ceil) X(clamp) X(clamp_) X(clamp_max) X(clamp_min) X(clip) \
  X(conj) X(cos) X(cosh) X(cumprod) X(cumsum) X(diag) X(diagonal) X(digamma) X(div) X(div_) X(dot) \
  X(einsum) X(eq) X(erf) X(erfc) X(exp) X(exp_) X(expm1) X(flip) X(floor) X(floor_divide) X(fmod) \
  X(frac) X(gather) X(ge) X(gt) X(hardtanh) X(index) X(index_add_) X(index_copy_) X(index_fill_) \
  X(index_put_) X(index_select) X(inverse) X(isfinite) X(isinf) X(isnan) X(kthvalue) X(le) X(lerp) \
  X(lgamma) X(log) X(log10) X(log1p) X(log2) X(log_softmax) X(logical_and) X(logical_not) X(logical_or) \
  X(logsumexp) X(lt) X(masked_fill) X(masked_fill_) X(masked_select) X(matmul) X(mm) X(mul) X(mul_) \
  X(mv) X(ne) X(neg) X(neg_) X(nonzero) X(norm) X(outer) X(pow) X(pow_) X(prelu) X(reciprocal) X(relu) \
  X(relu_) X(remainder) X(repeat) X(repeat_interleave) X(roll) X(round) X(rsqrt) X(rsqrt_) X(scatter) \
  X(scatter_) X(scatter_add) X(scatter_add_) X(sigmoid) X(sigmoid_) X(sign) X(sin) X(sinh) X(softmax) \
  X(sqrt) X(sqrt_) X(square) X(sub) X(sub_) X(tan) X(tanh) X(tanh_) X(tile) X(trace) X(tril) X(triu) \
  X(trunc) X(unfold) X(uniform_) X(normal_) X(random_) X(where) X(copysign) X(dist) X(cross) \
  X(count_nonzero) X(nan_to_num) X(histc) X(bincount) X(sum) X(mean) X(prod) X(amax) X(amin) X(var) \
  X(std) X(median)
// clang-format on

#define BICRL_MEMBER(name)                                         \
  template <class... A>                                            \
  Tensor name(const A&...) const {                                 \
    ::bicrl::framework_call(#name);                                \
  }                                                                \
  template <class... A>                                            \
  Tensor name(std::initializer_list<int64_t>, const A&...) const { \
    ::bicrl::framework_call(#name);                                \
  }
