// Tensors of an optimizer by global names, each whole or in pieces of its elements: what ranks write into
// checkpoints, and what any number of ranks reads again. Holds references, no copies. Not thread-safe while
// something is added.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace bicrl {

class SavedState {
 public:
  using Forget = std::function<void(const at::Tensor& part)>;
  struct Piece {
    at::Tensor values;
    int64_t begin = 0;  // elements of the whole tensor before it
    Forget forget;      // may be null
  };

  // `forget` is called with each part of the values that has been read: for those that lie in a file's pages,
  // which need not stay in memory.
  void add(const std::string& name, at::Tensor values, int64_t begin = 0, Forget forget = nullptr);
  void add_counter(const std::string& name, int64_t value);
  void remove(const std::string& name) { tensors_.erase(name); }

  // By name; what lies in one piece from the begin on is mostly whole.
  const std::map<std::string, std::vector<Piece>>& tensors() const& { return tensors_; }
  const std::map<std::string, std::vector<Piece>>& tensors() const&& = delete;
  size_t size() const { return tensors_.size(); }

  // These throw InputError, naming the tensor.
  // That its pieces are those of a tensor of this shape, without gap or overlap.
  void check(const std::string& name, at::IntArrayRef shape) const;
  // Elements [begin, begin + into.numel()) of a tensor that was checked; `into` is flat.
  void read(const std::string& name, int64_t begin, const at::Tensor& into) const;
  int64_t counter(const std::string& name) const;

 private:
  const std::vector<Piece>& pieces(const std::string& name) const;

  std::map<std::string, std::vector<Piece>> tensors_;
};

}  // namespace bicrl
