#include "trainer/update/optimizer/saved_state.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "common/error.h"
#include "policy/files/tensor_source.h"

namespace bicrl {

void SavedState::add(const std::string& name, at::Tensor values, int64_t begin, Forget forget) {
  std::vector<Piece>& pieces = tensors_[name];
  pieces.push_back({std::move(values), begin, std::move(forget)});
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
}

void SavedState::add_counter(const std::string& name, int64_t value) {
  add(name, at::full({1}, value, at::TensorOptions().dtype(at::kLong)));
}

const std::vector<SavedState::Piece>& SavedState::pieces(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) throw InputError(concat("optimizer state lacks the tensor ", name));
  return found->second;
}

void SavedState::check(const std::string& name, at::IntArrayRef shape) const {
  const std::vector<Piece>& pieces = this->pieces(name);
  const int64_t size = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  int64_t next = 0;
  for (const Piece& piece : pieces) {
    if (piece.begin != next)
      throw InputError(concat("optimizer state ", name, " has pieces that ",
                              piece.begin < next ? "overlap" : "leave a gap", " at element ",
                              std::min(next, piece.begin)));
    next += piece.values.numel();
  }
  const bool whole = pieces.size() == 1;
  if (next != size || (whole && pieces.front().values.sizes() != shape && pieces.front().values.dim() != 1))
    throw InputError(concat("optimizer state ", name, " has ",
                            whole ? concat("shape ", pieces.front().values.sizes())
                                  : concat(next, " elements in ", pieces.size(), " pieces"),
                            ", the policy ", shape));
}

void SavedState::read(const std::string& name, int64_t begin, const at::Tensor& into) const {
  const int64_t end = begin + into.numel();
  for (const Piece& piece : pieces(name)) {
    const int64_t from = std::max(begin, piece.begin), to = std::min(end, piece.begin + piece.values.numel());
    for (int64_t at = from; at < to; at += kPieceElements) {
      const int64_t count = std::min(kPieceElements, to - at);
      const at::Tensor part = piece.values.reshape({-1}).narrow(0, at - piece.begin, count);
      into.narrow(0, at - begin, count).copy_(part);
      if (piece.forget) piece.forget(part);
    }
  }
}

int64_t SavedState::counter(const std::string& name) const {
  const std::vector<Piece>& pieces = this->pieces(name);
  if (pieces.size() != 1 || pieces.front().values.numel() != 1)
    throw InputError(concat("optimizer state ", name, " is no single number"));
  return pieces.front().values.item<int64_t>();
}

}  // namespace bicrl
