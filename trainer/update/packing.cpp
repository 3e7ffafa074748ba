#include "trainer/update/packing.h"

#include <ATen/ATen.h>

#include <map>

#include "common/error.h"

namespace bicrl {
namespace {

// Collects rows until a batch is full.
class BatchBuilder {
 public:
  BatchBuilder(int64_t block_size, at::Device device) : block_size_(block_size), device_(device) {}

  bool empty() const { return tokens_.empty(); }
  int64_t rows() const { return static_cast<int64_t>(tokens_.size()); }
  // Rows that adding this sequence would cost.
  int64_t cost(const LiveSequence& s) const {
    const bool known = prefix_ && *prefix_ == s.shared;
    return static_cast<int64_t>((known ? 0 : s.shared.size()) + s.clean.size()) +
           static_cast<int64_t>(s.noisy.size()) * block_size_;
  }

  void add(const LiveSequence& s, double scale) {
    if (!prefix_ || *prefix_ != s.shared) add_prefix(s.shared);
    PackedSegment segment;
    segment.prefix_begin = prefix_begin_;
    segment.prefix_rows = static_cast<int64_t>(s.shared.size());
    segment.begin = rows();
    segment.clean_rows = static_cast<int64_t>(s.clean.size());
    add_rows(s.clean, segment.prefix_rows);
    for (const NoisyBlock& noisy : s.noisy) {
      segment.noisy_blocks.push_back(noisy.block);
      for (const ScoredToken& token : noisy.scored) {
        selected_.push_back(rows() + token.offset);
        labels_.push_back(token.label);
        old_log_probs_.push_back(token.old_log_prob);
        reference_log_probs_.push_back(token.reference_log_prob);
        advantages_.push_back(s.advantage);
        weights_.push_back(token.weight * scale);
      }
      add_rows(noisy.inputs, noisy.block * block_size_);
    }
    segments_.push_back(std::move(segment));
  }

  PackedBatch finish() const {
    const auto integers = [&](const std::vector<int64_t>& values) {
      return at::tensor(values, at::TensorOptions().dtype(at::kLong)).to(device_);
    };
    const auto reals = [&](const std::vector<double>& values) {
      return at::tensor(values, at::TensorOptions().dtype(at::kDouble)).to(device_);
    };
    return {integers(tokens_),           integers(positions_), segments_,
            integers(selected_),         integers(labels_),    reals(old_log_probs_),
            reals(reference_log_probs_), reals(advantages_),   reals(weights_)};
  }

 private:
  void add_prefix(const std::vector<int64_t>& shared) {
    prefix_ = &shared;
    prefix_begin_ = rows();
    if (shared.empty()) return;
    PackedSegment segment;
    segment.begin = prefix_begin_;
    segment.clean_rows = static_cast<int64_t>(shared.size());
    add_rows(shared, 0);
    segments_.push_back(std::move(segment));
  }

  void add_rows(const std::vector<int64_t>& tokens, int64_t first_position) {
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    for (size_t i = 0; i < tokens.size(); ++i) positions_.push_back(first_position + static_cast<int64_t>(i));
  }

  int64_t block_size_;
  at::Device device_;
  const std::vector<int64_t>* prefix_ = nullptr;  // shared rows that the next sequence may reuse
  int64_t prefix_begin_ = 0;
  std::vector<int64_t> tokens_, positions_, selected_, labels_;
  std::vector<double> old_log_probs_, reference_log_probs_, advantages_, weights_;
  std::vector<PackedSegment> segments_;
};

}  // namespace

std::vector<size_t> grouped_order(const std::vector<LiveSequence>& sequences) {
  std::map<std::vector<int64_t>, size_t> group_of;
  std::vector<std::vector<size_t>> groups;
  for (size_t i = 0; i < sequences.size(); ++i) {
    const auto [entry, is_new] = group_of.try_emplace(sequences[i].shared, groups.size());
    if (is_new) groups.emplace_back();
    groups[entry->second].push_back(i);
  }
  std::vector<size_t> order;
  for (const auto& group : groups) order.insert(order.end(), group.begin(), group.end());
  return order;
}

std::vector<PackedBatch> pack(const std::vector<LiveSequence>& sequences,
                              const std::vector<double>& sequence_scale, int64_t block_size,
                              int64_t tokens_per_pack, at::Device device) {
  BICRL_CHECK(sequence_scale.size() == sequences.size(), "one scale per sequence");
  std::vector<PackedBatch> batches;
  BatchBuilder builder(block_size, device);
  for (size_t i : grouped_order(sequences)) {
    if (sequences[i].scored_tokens() == 0) continue;
    if (!builder.empty() && builder.rows() + builder.cost(sequences[i]) > tokens_per_pack) {
      batches.push_back(builder.finish());
      builder = BatchBuilder(block_size, device);
    }
    builder.add(sequences[i], sequence_scale[i]);
  }
  if (!builder.empty()) batches.push_back(builder.finish());
  return batches;
}

}  // namespace bicrl
