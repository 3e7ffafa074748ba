#include "trainer/update/packing/packing.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include "common/error.h"

namespace bicrl {
namespace {

int64_t size_of(const std::vector<int64_t>& tokens) { return static_cast<int64_t>(tokens.size()); }

// Pairs of clean rows at positions [begin, begin + rows): each sees what is before its block, and its block.
int64_t clean_pairs(int64_t begin, int64_t rows, int64_t block_size) {
  int64_t pairs = 0;
  for (int64_t end = begin + block_size; end <= begin + rows; end += block_size) pairs += block_size * end;
  return pairs;
}

// What a sequence adds to a batch, with its shared rows if those are not there yet.
Packs::Extent extent_of(const LiveSequence& s, bool with_shared, int64_t block_size) {
  const int64_t shared = size_of(s.shared), clean = size_of(s.clean);
  Packs::Extent extent{clean + static_cast<int64_t>(s.noisy.size()) * block_size, s.scored_tokens(),
                       clean_pairs(shared, clean, block_size)};
  for (const NoisyBlock& noisy : s.noisy) {
    extent.pairs += block_size * block_size * (noisy.block + 1);
    for (const ScoredToken& token : noisy.scored)
      extent.named_ids += std::max<int64_t>(size_of(token.excluded) - 1, 0) + size_of(token.kept);
  }
  if (!with_shared) return extent;
  extent.rows += shared;
  extent.pairs += clean_pairs(0, shared, block_size);
  return extent;
}

Packs::Extent operator+(const Packs::Extent& a, const Packs::Extent& b) {
  return {a.rows + b.rows, a.scored + b.scored, a.pairs + b.pairs, a.named_ids + b.named_ids};
}

struct Partition {
  std::vector<std::vector<size_t>> members;
  std::vector<Packs::Extent> extents;
};

// Fills one batch after the other up to both limits.
class Filling {
 public:
  Filling(const std::vector<LiveSequence>& sequences, const PackSettings& settings)
      : sequences_(sequences), settings_(settings), order_(grouped_order(sequences)) {}

  double cost(const Packs::Extent& e) const {
    return static_cast<double>(e.rows) + settings_.rows_of_pair * static_cast<double>(e.pairs);
  }

  Partition fill(double most_cost) const {
    Partition partition;
    const std::vector<int64_t>* shared = nullptr;
    for (const size_t i : order_) {
      const LiveSequence& s = sequences_[i];
      if (s.scored_tokens() == 0) continue;
      const auto sum = [&] {
        const bool is_known = shared && *shared == s.shared;
        return (is_known ? partition.extents.back() + extent_of(s, false, settings_.block_size)
                         : (shared ? partition.extents.back() : Packs::Extent()) +
                               extent_of(s, true, settings_.block_size));
      };
      Packs::Extent extent = sum();
      if (!shared || extent.rows > settings_.tokens_per_pack || cost(extent) > most_cost) {
        shared = nullptr;
        extent = sum();
        partition.members.emplace_back();
        partition.extents.emplace_back();
      }
      shared = &s.shared;
      partition.members.back().push_back(i);
      partition.extents.back() = extent;
    }
    return partition;
  }

  // As many batches as when each is filled, or `least`, of which the most expensive one is as cheap as can
  // be.
  Partition balance(Partition filled, size_t least) const {
    const size_t count = std::max(filled.members.size(), least);
    double low = 0, high = 0, total = 0;
    for (const Packs::Extent& extent : filled.extents) {
      high = std::max(high, cost(extent));
      total += cost(extent);
    }
    low = total / static_cast<double>(count) / 2;  // shared rows may be repeated less often
    while (high - low > 1e-3 * high) {
      const double middle = (low + high) / 2;
      Partition tried = fill(middle);
      const bool fits = tried.members.size() <= count;
      (fits ? high : low) = middle;
      if (fits) filled = std::move(tried);
    }
    return filled;
  }

  Partition most_expensive_first(const Partition& partition) const {
    std::vector<size_t> order(partition.members.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, std::greater<>(), [&](size_t i) { return cost(partition.extents[i]); });
    Partition sorted;
    for (const size_t i : order) {
      sorted.members.push_back(partition.members[i]);
      sorted.extents.push_back(partition.extents[i]);
    }
    return sorted;
  }

 private:
  const std::vector<LiveSequence>& sequences_;
  const PackSettings& settings_;
  std::vector<size_t> order_;
};

class SegmentBuilder {
 public:
  explicit SegmentBuilder(int64_t block_size) : block_size_(block_size) {}

  // Whether its shared rows come before its own.
  bool add(const LiveSequence& s) {
    const bool is_new = !prefix_ || *prefix_ != s.shared;
    if (is_new) {
      prefix_ = &s.shared;
      prefix_begin_ = rows_;
      if (!s.shared.empty()) add(PackedSegment{0, 0, rows_, size_of(s.shared), {}});
    }
    PackedSegment segment{prefix_begin_, size_of(s.shared), rows_, size_of(s.clean), {}};
    for (const NoisyBlock& noisy : s.noisy) segment.noisy_blocks.push_back(noisy.block);
    add(std::move(segment));
    return is_new;
  }
  std::vector<PackedSegment> finish() { return std::move(segments_); }

 private:
  void add(PackedSegment segment) {
    rows_ += segment.rows(block_size_);
    segments_.push_back(std::move(segment));
  }

  int64_t block_size_;
  const std::vector<int64_t>* prefix_ = nullptr;  // shared rows that the next sequence may reuse
  int64_t prefix_begin_ = 0, rows_ = 0;
  std::vector<PackedSegment> segments_;
};

// Columns of a batch, collected on the host and then copied to the device at once.
class BatchBuilder {
 public:
  explicit BatchBuilder(const PackSettings& settings) : settings_(settings), segments_(settings.block_size) {}

  void add(const LiveSequence& s, double scale) {
    if (segments_.add(s)) add_rows(s.shared, 0);
    add_rows(s.clean, size_of(s.shared));
    for (const NoisyBlock& noisy : s.noisy) {
      for (const ScoredToken& token : noisy.scored) {
        selected_.push_back(rows() + token.offset);
        labels_.push_back(token.label);
        old_log_probs_.push_back(token.old_log_prob);
        reference_log_probs_.push_back(token.reference_log_prob);
        advantages_.push_back(s.advantage);
        weights_.push_back(token.weight * scale);
        add_excluded(token);
        for (const int64_t id : token.kept) {
          batch_.host_kept_tokens.push_back(size_of(selected_) - 1);
          kept_ids_.push_back(id);
        }
      }
      add_rows(noisy.inputs, noisy.block * settings_.block_size);
    }
  }

  PackedBatch finish() {
    batch_.segments = segments_.finish();
    // Every column has values of eight bytes.
    const int64_t values =
        2 * rows() + (6 + excludes_) * size_of(selected_) + 2 * (size_of(other_ids_) + size_of(kept_ids_));
    const bool to_gpu = settings_.device.is_cuda();
    host_ = at::empty({values}, at::TensorOptions().dtype(at::kLong).pinned_memory(to_gpu));
    std::vector<std::pair<at::Tensor*, at::ScalarType>> columns;
    std::vector<int64_t> begins{0};
    const auto put = [&](at::Tensor& to, at::ScalarType type, const auto& from) {
      std::memcpy(host_.mutable_data_ptr<int64_t>() + begins.back(), from.data(),
                  from.size() * sizeof(int64_t));
      begins.push_back(begins.back() + static_cast<int64_t>(from.size()));
      columns.emplace_back(&to, type);
    };
    put(batch_.tokens, at::kLong, batch_.host_tokens);
    put(batch_.positions, at::kLong, positions_);
    put(batch_.selected, at::kLong, selected_);
    put(batch_.labels, at::kLong, labels_);
    put(batch_.old_log_probs, at::kDouble, old_log_probs_);
    put(batch_.reference_log_probs, at::kDouble, reference_log_probs_);
    put(batch_.advantages, at::kDouble, advantages_);
    put(batch_.weights, at::kDouble, weights_);
    if (excludes_) put(batch_.excluded, at::kLong, excluded_);
    if (!other_ids_.empty()) {
      put(batch_.other_tokens, at::kLong, batch_.host_other_tokens);
      put(batch_.other_ids, at::kLong, other_ids_);
    }
    if (!kept_ids_.empty()) {
      put(batch_.kept_tokens, at::kLong, batch_.host_kept_tokens);
      put(batch_.kept_ids, at::kLong, kept_ids_);
    }
    const at::Tensor all = to_gpu ? host_.to(settings_.device, /*non_blocking=*/true) : host_;
    for (size_t i = 0; i < columns.size(); ++i)
      *columns[i].first = all.narrow(0, begins[i], begins[i + 1] - begins[i]).view(columns[i].second);
    return std::move(batch_);
  }

 private:
  int64_t rows() const { return size_of(batch_.host_tokens); }

  // Of the token that was just selected.
  void add_excluded(const ScoredToken& token) {
    excluded_.push_back(size_of(token.excluded));
    excludes_ |= !token.excluded.empty();
    for (size_t i = 1; i < token.excluded.size(); ++i) {
      batch_.host_other_tokens.push_back(size_of(selected_) - 1);
      other_ids_.push_back(token.excluded[i]);
    }
  }

  void add_rows(const std::vector<int64_t>& tokens, int64_t first_position) {
    batch_.host_tokens.insert(batch_.host_tokens.end(), tokens.begin(), tokens.end());
    for (int64_t i = 0; i < size_of(tokens); ++i) positions_.push_back(first_position + i);
  }

  const PackSettings& settings_;
  SegmentBuilder segments_;
  PackedBatch batch_;
  std::vector<int64_t> positions_, selected_, labels_;
  std::vector<double> old_log_probs_, reference_log_probs_, advantages_, weights_;
  std::vector<int64_t> excluded_, other_ids_, kept_ids_;
  bool excludes_ = false;
  at::Tensor host_;
};

}  // namespace

double rows_of_pair(const PolicyConfig& c) {
  const int64_t layer =
      c.hidden_size * ((2 * c.heads + 2 * c.kv_heads) * c.head_dim + 3 * c.intermediate_size);
  // A row is multiplied with each value of a layer once forward and twice backward; a pair of each head twice
  // with head_dim values, and two and a half times as often backward.
  return 2 * 3.5 * static_cast<double>(c.heads * c.head_dim) / (3 * static_cast<double>(layer));
}

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

Packs::Packs(const std::vector<LiveSequence>& sequences, const std::vector<double>& scales,
             PackSettings settings)
    : sequences_(sequences), scales_(scales), settings_(settings) {
  BICRL_CHECK(scales.size() == sequences.size(), "one scale per sequence");
  const Filling filling(sequences_, settings_);
  Partition partition = filling.fill(std::numeric_limits<double>::infinity());
  const bool has_several = std::max(partition.members.size(), settings_.lockstep_count) > 1;
  if (settings_.rows_of_pair > 0 && has_several && !partition.members.empty())
    partition = filling.balance(std::move(partition), settings_.lockstep_count);
  if (settings_.lockstep_count > 0) partition = filling.most_expensive_first(partition);
  members_ = std::move(partition.members);
  extents_ = std::move(partition.extents);
}

bool Packs::Extent::contains(const Extent& other) const {
  return other.rows <= rows && other.scored <= scored && other.pairs <= pairs && other.named_ids <= named_ids;
}

void Packs::Extent::extend(const Extent& other) {
  rows = std::max(rows, other.rows);
  scored = std::max(scored, other.scored);
  pairs = std::max(pairs, other.pairs);
  named_ids = std::max(named_ids, other.named_ids);
}

Packs::Extent Packs::largest() const {
  Extent largest;
  for (const Extent& extent : extents_) largest.extend(extent);
  return largest;
}

std::vector<PackedSegment> Packs::segments(size_t index) const {
  SegmentBuilder builder(settings_.block_size);
  for (const size_t i : members_.at(index)) builder.add(sequences_[i]);
  return builder.finish();
}

PackedBatch Packs::make(size_t index) const {
  BatchBuilder builder(settings_);
  for (const size_t i : members_.at(index)) builder.add(sequences_[i], scales_[i]);
  return builder.finish();
}

std::vector<PackedBatch> pack(const std::vector<LiveSequence>& sequences, const std::vector<double>& scales,
                              const PackSettings& settings) {
  const Packs packs(sequences, scales, settings);
  std::vector<PackedBatch> batches;
  for (size_t i = 0; i < packs.count(); ++i) batches.push_back(packs.make(i));
  return batches;
}

}  // namespace bicrl
