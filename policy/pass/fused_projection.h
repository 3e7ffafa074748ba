// A linear map of a written-out pass: projections of one input whose weights lie side by side, as one
// product, with the low-rank adapters beside them (projection.h). Refers to memory of parameter stores and
// knows where their gradients are summed. Not thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "policy/parameters/parameter_layout.h"
#include "policy/pass/gradient_sink.h"
#include "policy/pass/pass_operations.h"
#include "policy/projection.h"

namespace bicrl {

// The sum of consecutive entries of a layout that continue one another, flat.
at::Tensor gradient_sum(const ParameterLayout& layout, int64_t first_entry, int64_t entries,
                        GradientSink& sink);

class FusedProjection {
 public:
  // weight: [sum of outs, in] of all parts. `trained`: the layout of what is trained; `entry`: of the first
  // part's weight there, or, with adapters, of the first adapter's A, if a part has one.
  FusedProjection(at::Tensor weight, std::vector<const Projection*> parts, const ParameterLayout& trained,
                  int64_t entry, bool is_frozen);

  int64_t adapters() const { return static_cast<int64_t>(adapted_.size()); }
  // Of x A^T of all adapters, side by side.
  int64_t low_rank_columns() const { return factors_.defined() ? factors_.size(0) : 0; }
  // Adapters may have changed since the last pass.
  void refresh();

  // out [rows, outs] = x W^T + adapters (+ addend, if defined). low_rank: [rows, low_rank_columns()].
  void forward(PassOperations& operations, const at::Tensor& x, const at::Tensor& out,
               const at::Tensor& addend, const at::Tensor& low_rank) const;
  // Of what forward() writes low_rank alone.
  void low_rank_forward(PassOperations& operations, const at::Tensor& x, const at::Tensor& low_rank) const;
  // x's gradient [rows, in] (undefined: not wanted), and that of low_rank.
  void input_gradient(PassOperations& operations, const at::Tensor& grad, const at::Tensor& out,
                      const at::Tensor& grad_low_rank) const;
  // Adds the gradients of what is trained, after input_gradient().
  void weight_gradient(PassOperations& operations, const at::Tensor& grad, const at::Tensor& x,
                       const at::Tensor& low_rank, const at::Tensor& grad_low_rank, GradientSink& sink) const;

 private:
  struct Adapted {
    const Projection* projection = nullptr;
    int64_t first_out = 0, outs = 0;   // columns of the product
    int64_t first_rank = 0, rank = 0;  // of low_rank
    int64_t entry = 0;                 // of A; B is the next
    at::Tensor columns(const at::Tensor& x) const { return x.narrow(1, first_out, outs); }
    at::Tensor ranks(const at::Tensor& x) const { return x.narrow(1, first_rank, rank); }
  };

  at::Tensor weight_;
  const ParameterLayout& trained_;
  int64_t entry_, entries_;
  bool is_frozen_;
  std::vector<Adapted> adapted_;
  at::Tensor factors_;  // [sum of ranks, in], the A of all adapters
};

}  // namespace bicrl
