#include "policy/attention/pack_attention_plan.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>

#include "common/error.h"

namespace bicrl {
namespace {

// Work of so many bytes is done at a time, the costliest tiles first: it stays in the GPU's second cache.
constexpr int64_t kSectionBytes = int64_t{16} << 20;
// What a tile costs beside its steps, in steps.
constexpr int64_t kQueryTileOverhead = 2, kKeyTileOverhead = 3;
// A tile of keys that more runs see than a third of a processor's work is split, but not into parts of fewer
// steps than this.
constexpr int64_t kPartsOfProcessor = 3, kLeastSteps = 24;

int32_t narrow(int64_t x) { return static_cast<int32_t>(x); }
int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// A segment as its context's positions lie in the pack.
struct Context {
  int64_t prefix_begin, prefix_rows, own_begin;
};
Context context_of(const PackedSegment& s) {
  // What follows its prefix without a gap continues it: chunks then go over the seam.
  if (s.prefix_rows == 0 || s.prefix_begin + s.prefix_rows == s.begin)
    return {s.begin, 0, s.begin - s.prefix_rows};
  return {s.prefix_begin, s.prefix_rows, s.begin};
}

// Runs [first, end) of a segment.
struct SegmentRuns {
  int64_t first = 0, end = 0;
};

// Fills row_limits and runs.
std::vector<SegmentRuns> add_runs(const std::vector<PackedSegment>& segments, int64_t block_size,
                                  PackAttentionPlan& plan) {
  std::vector<SegmentRuns> runs_of;
  plan.row_limits.reserve(static_cast<size_t>(plan.rows));
  for (const PackedSegment& s : segments) {
    for (int64_t limit : context_limits(s, block_size)) {
      // Of a clean row the own block is context as well.
      const bool clean = narrow(plan.row_limits.size()) < s.begin + s.clean_rows;
      plan.row_limits.insert(plan.row_limits.end(), static_cast<size_t>(block_size),
                             narrow(clean ? limit + block_size : limit));
    }
    SegmentRuns its{narrow(plan.runs.size())};
    const int64_t end = s.begin + s.rows(block_size);
    for (int64_t row = s.begin; row < end; row += plan.run_rows) {
      const int64_t rows = std::min(plan.run_rows, end - row);
      const auto first = plan.row_limits.begin() + row;
      const auto [least, largest] = std::minmax_element(first, first + rows);
      plan.runs.push_back({narrow(row), narrow(rows), *least, *largest});
    }
    its.end = narrow(plan.runs.size());
    runs_of.push_back(its);
  }
  return runs_of;
}

void add_query_tiles(const PackedSegment& s, const SegmentRuns& its, PackAttentionPlan& plan) {
  const Context context = context_of(s);
  const int64_t noisy_begin = s.begin + s.clean_rows;
  for (int64_t run = its.first; run < its.end; run += 2) {
    QueryTile tile;
    tile.first_run = narrow(run);
    tile.runs = narrow(std::min<int64_t>(2, its.end - run));
    tile.noisy_begin = narrow(noisy_begin);
    tile.prefix_begin = narrow(context.prefix_begin);
    tile.prefix_rows = narrow(context.prefix_rows);
    tile.own_begin = narrow(context.own_begin);
    int64_t end = 0;
    for (int64_t i = run; i < run + tile.runs; ++i) {
      const QueryRun& each = plan.runs[static_cast<size_t>(i)];
      tile.context = std::max(tile.context, each.largest_limit);
      end = each.first_row + each.rows;
    }
    const int64_t rows = end - plan.runs[static_cast<size_t>(run)].first_row;
    if (end > noisy_begin) tile.own_chunks = narrow(ceil_div(rows, kChunkKeys));
    plan.query_tiles.push_back(tile);
  }
}

int64_t chunks_of(const QueryTile& tile) {
  const int64_t in_prefix = std::min(tile.context, tile.prefix_rows);
  return ceil_div(in_prefix, kChunkKeys) + ceil_div(tile.context - in_prefix, kChunkKeys) + tile.own_chunks;
}

// Keys of a tile at rows [begin, end) of the pack's context `base`: the runs among [first, last) that see one
// of them, as uses of consecutive runs.
void add_context_uses(const KeyTile& tile, const SegmentRuns& runs, int64_t base, int64_t begin, int64_t end,
                      PackAttentionPlan& plan) {
  const int64_t first_key = std::max<int64_t>(begin, tile.first_row);
  if (first_key >= std::min<int64_t>(end, tile.first_row + tile.rows)) return;
  const int64_t least = first_key - base;  // a run with a larger limit sees the first key
  for (int64_t run = runs.first; run < runs.end; ++run) {
    if (plan.runs[static_cast<size_t>(run)].largest_limit <= least) continue;
    const int64_t first = run;
    while (run < runs.end && plan.runs[static_cast<size_t>(run)].largest_limit > least) ++run;
    plan.key_uses.push_back(
        {narrow(first), narrow(run - first), narrow(base), narrow(begin), narrow(end), 0});
  }
}

// Runs of the segment that have rows in a tile of noisy rows.
void add_own_block_uses(const KeyTile& tile, const SegmentRuns& runs, PackAttentionPlan& plan) {
  const auto sees = [&](int64_t run) {
    const QueryRun& its = plan.runs[static_cast<size_t>(run)];
    return its.first_row < tile.first_row + tile.rows && its.first_row + its.rows > tile.first_row;
  };
  int64_t first = runs.first;
  while (first < runs.end && !sees(first)) ++first;
  int64_t last = first;
  while (last < runs.end && sees(last)) ++last;
  if (last > first) plan.key_uses.push_back({narrow(first), narrow(last - first), 0, 0, 0, 1});
}

// Where the uses of a key tile begin.
struct TileUses {
  size_t first = 0, end = 0;
  int64_t steps = 0;
  bool is_noisy = false;  // the tile's rows are seen by their own blocks alone
};

std::vector<TileUses> add_key_tiles(const std::vector<PackedSegment>& segments,
                                    const std::vector<SegmentRuns>& runs_of, int64_t block_size,
                                    PackAttentionPlan& plan) {
  std::vector<TileUses> uses_of;
  const auto add_tile = [&](int64_t row, int64_t rows, const auto& add_uses) {
    const KeyTile tile{narrow(row), narrow(rows)};
    TileUses uses{plan.key_uses.size()};
    add_uses(tile);
    uses.end = plan.key_uses.size();
    for (size_t i = uses.first; i < uses.end; ++i) {
      uses.steps += plan.key_uses[i].runs;
      uses.is_noisy |= plan.key_uses[i].is_own_block != 0;
    }
    plan.key_tiles.push_back(tile);
    uses_of.push_back(uses);
  };
  for (size_t i = 0; i < segments.size(); ++i) {
    const PackedSegment& s = segments[i];
    const int64_t noisy_begin = s.begin + s.clean_rows, end = s.begin + s.rows(block_size);
    for (int64_t row = s.begin; row < noisy_begin; row += kKeyTileRows)
      add_tile(row, std::min<int64_t>(kKeyTileRows, noisy_begin - row), [&](const KeyTile& tile) {
        add_context_uses(tile, runs_of[i], s.begin - s.prefix_rows, s.begin, noisy_begin, plan);
        for (size_t user = i + 1; user < segments.size(); ++user) {
          const PackedSegment& its = segments[user];
          if (its.prefix_rows > 0)
            add_context_uses(tile, runs_of[user], its.prefix_begin, its.prefix_begin,
                             its.prefix_begin + its.prefix_rows, plan);
        }
      });
    for (int64_t row = noisy_begin; row < end; row += kKeyTileRows)
      add_tile(row, std::min<int64_t>(kKeyTileRows, end - row),
               [&](const KeyTile& tile) { add_own_block_uses(tile, runs_of[i], plan); });
  }
  return uses_of;
}

// What a task takes, in steps. Tasks of a section go together; those of none are bound by the memory, and go
// between the others.
constexpr int64_t kNoSection = -1;
struct Cost {
  int64_t section = 0, steps = 0;
};

// Which tasks each processor takes, in order.
struct Dealt {
  std::vector<int32_t> order;  // of the first processor, then of the second...
  std::vector<int32_t> first;  // [processors + 1]
};

// `few` spread evenly among `many`; different processors begin with them at different times.
std::vector<int32_t> mixed(const std::vector<int32_t>& many, const std::vector<int32_t>& few,
                           size_t processor) {
  constexpr size_t kPhases = 8;
  std::vector<int32_t> all;
  all.reserve(many.size() + few.size());
  size_t next = 0;
  for (size_t i = 0; i < few.size(); ++i) {
    const size_t before = (i * kPhases + processor % kPhases) * (many.size() + 1) / (few.size() * kPhases);
    while (next < before) all.push_back(many[next++]);
    all.push_back(few[i]);
  }
  all.insert(all.end(), many.begin() + static_cast<int64_t>(next), many.end());
  return all;
}

// Section by section, the costliest first, each to whoever has least to do.
Dealt deal(const std::vector<Cost>& costs, int64_t processors) {
  std::vector<int32_t> sorted(costs.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  const auto cost_of = [&](int32_t task) -> const Cost& { return costs[static_cast<size_t>(task)]; };
  std::stable_sort(sorted.begin(), sorted.end(), [&](int32_t a, int32_t b) {
    const Cost &x = cost_of(a), &y = cost_of(b);
    return std::tuple(x.section == kNoSection, x.section, -x.steps) <
           std::tuple(y.section == kNoSection, y.section, -y.steps);
  });
  using Load = std::pair<int64_t, size_t>;  // steps, processor
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  const auto count = static_cast<size_t>(processors);
  for (size_t i = 0; i < count; ++i) loads.emplace(0, i);
  std::vector<std::vector<int32_t>> sectioned(count), others(count);
  for (int32_t task : sorted) {
    const auto [steps, processor] = loads.top();
    loads.pop();
    (cost_of(task).section == kNoSection ? others : sectioned)[processor].push_back(task);
    loads.emplace(steps + cost_of(task).steps, processor);
  }
  Dealt dealt;
  dealt.order.reserve(costs.size());
  for (size_t i = 0; i < count; ++i) {
    dealt.first.push_back(narrow(dealt.order.size()));
    const auto its = mixed(sectioned[i], others[i], i);
    dealt.order.insert(dealt.order.end(), its.begin(), its.end());
  }
  dealt.first.push_back(narrow(dealt.order.size()));
  return dealt;
}

template <class Task>
std::vector<Task> in_order(const std::vector<Task>& tasks, const Dealt& dealt) {
  std::vector<Task> ordered;
  ordered.reserve(tasks.size());
  for (int32_t i : dealt.order) ordered.push_back(tasks[static_cast<size_t>(i)]);
  return ordered;
}

// bytes: of what tasks of one key head read.
int64_t heads_of_section(int64_t bytes) {
  return std::max<int64_t>(1, kSectionBytes / std::max<int64_t>(bytes, 1));
}

void deal_queries(const PackAttentionShape& shape, PackAttentionPlan& plan) {
  const int64_t heads = heads_of_section(plan.rows * shape.head_dim * 2 * 2);
  std::vector<QueryTask> tasks;
  std::vector<Cost> costs;
  for (int64_t head = 0; head < shape.kv_heads; ++head)
    for (size_t tile = 0; tile < plan.query_tiles.size(); ++tile) {
      tasks.push_back({narrow(tile), narrow(head)});
      costs.push_back({head / heads, chunks_of(plan.query_tiles[tile]) + kQueryTileOverhead});
    }
  const Dealt dealt = deal(costs, shape.processors);
  plan.query_tasks = in_order(tasks, dealt);
  plan.first_query_task = dealt.first;
}

void deal_keys(const PackAttentionShape& shape, const std::vector<TileUses>& uses_of,
               PackAttentionPlan& plan) {
  int64_t all_steps = 0;
  for (const TileUses& uses : uses_of) all_steps += uses.steps + kKeyTileOverhead;
  const int64_t most =
      std::max(kLeastSteps, ceil_div(all_steps * shape.kv_heads, shape.processors * kPartsOfProcessor));
  const int64_t heads = heads_of_section(plan.rows * shape.group() * shape.head_dim * 2 * 2);
  std::vector<KeyTask> tasks;
  std::vector<Cost> costs;
  for (int64_t head = 0; head < shape.kv_heads; ++head)
    for (size_t tile = 0; tile < uses_of.size(); ++tile) {
      const TileUses& uses = uses_of[tile];
      const int64_t parts = std::max<int64_t>(1, ceil_div(uses.steps, most));
      if (parts > 1) {
        plan.key_sums.push_back({narrow(tile), narrow(head), narrow(plan.key_parts), narrow(parts)});
        plan.key_parts += parts;
      }
      size_t use = uses.first;
      int64_t skipped = 0;
      for (int64_t part = 0; part < parts; ++part) {
        const int64_t steps = uses.steps * (part + 1) / parts - uses.steps * part / parts;
        tasks.push_back({narrow(tile), narrow(head), narrow(use), narrow(skipped), narrow(steps),
                         parts > 1 ? narrow(plan.key_parts - parts + part) : -1});
        costs.push_back({uses.is_noisy ? kNoSection : head / heads, steps + kKeyTileOverhead});
        for (skipped += steps; use < uses.end && skipped >= plan.key_uses[use].runs; ++use)
          skipped -= plan.key_uses[use].runs;
      }
    }
  const Dealt dealt = deal(costs, shape.processors);
  plan.key_tasks = in_order(tasks, dealt);
  plan.first_key_task = dealt.first;
}

}  // namespace

int64_t PackAttentionShape::run_rows() const {
  const int64_t most = kRunProductRows / group();
  if (most >= block_size) return most / block_size * block_size;
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(most)));
}

std::string pack_attention_refusal(const PackAttentionShape& shape) {
  const int64_t b = shape.block_size;
  if (shape.head_dim != 64 && shape.head_dim != 128) return concat("head_dim ", shape.head_dim);
  if (b < 4 || b > 64 || !std::has_single_bit(static_cast<uint64_t>(b))) return concat("blocks of ", b);
  if (shape.heads % shape.kv_heads != 0 || shape.group() > 8)
    return concat(shape.heads, " heads for ", shape.kv_heads, " of keys");
  return "";
}

PackAttentionPlan plan_pack_attention(const std::vector<PackedSegment>& segments, int64_t rows,
                                      const PackAttentionShape& shape) {
  const std::string refusal = pack_attention_refusal(shape);
  BICRL_CHECK(refusal.empty(), "there are no kernels for ", refusal);
  check_segments(segments, rows, shape.block_size);
  PackAttentionPlan plan;
  plan.rows = rows;
  plan.run_rows = shape.run_rows();
  plan.pairs = attention_pairs(segments, shape.block_size);
  const auto runs_of = add_runs(segments, shape.block_size, plan);
  for (size_t i = 0; i < segments.size(); ++i) add_query_tiles(segments[i], runs_of[i], plan);
  const auto uses_of = add_key_tiles(segments, runs_of, shape.block_size, plan);
  deal_queries(shape, plan);
  deal_keys(shape, uses_of, plan);
  return plan;
}

}  // namespace bicrl
