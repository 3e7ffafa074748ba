// Tiles of a pack's attention cover what the mask lets through, once, from the side of queries and from that
// of keys, and are dealt out evenly.
#include "policy/attention/pack_attention_plan.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <map>
#include <set>

#include "common/error.h"
#include "tests/policy/random_pack.h"

using namespace bicrl;
using bicrl::testing::RandomPack;

namespace {

using Counts = std::vector<std::vector<int>>;  // [query row][key row]: how often a tile pairs them

bool same_block(int64_t a, int64_t b, int64_t block_size) { return a / block_size == b / block_size; }

// As kernels read a tile of queries.
void count_query_tile(const PackAttentionPlan& plan, const QueryTile& tile, int64_t block_size,
                      Counts& counts) {
  for (int64_t r = tile.first_run; r < tile.first_run + tile.runs; ++r) {
    const QueryRun& run = plan.runs[static_cast<size_t>(r)];
    for (int64_t row = run.first_row; row < run.first_row + run.rows; ++row) {
      auto& seen = counts[static_cast<size_t>(row)];
      const int64_t limit = plan.row_limits[static_cast<size_t>(row)];
      REQUIRE(limit >= run.least_limit);
      REQUIRE(limit <= run.largest_limit);
      REQUIRE(limit <= tile.context);
      for (int64_t position = 0; position < limit; ++position)
        ++seen[static_cast<size_t>(position < tile.prefix_rows
                                       ? tile.prefix_begin + position
                                       : tile.own_begin + position - tile.prefix_rows)];
      if (row < tile.noisy_begin) continue;
      const int64_t first_row = plan.runs[static_cast<size_t>(tile.first_run)].first_row;
      const int64_t first = first_row / block_size * block_size;
      for (int64_t key = first; key < first + tile.own_chunks * kChunkKeys; ++key)
        if (same_block(key, row, block_size)) ++seen[static_cast<size_t>(key)];
    }
  }
}

void count_key_step(const PackAttentionPlan& plan, const KeyTile& tile, const KeyUse& use,
                    const QueryRun& run, int64_t block_size, Counts& counts) {
  for (int64_t row = run.first_row; row < run.first_row + run.rows; ++row)
    for (int64_t key = tile.first_row; key < tile.first_row + tile.rows; ++key) {
      const bool seen = use.is_own_block ? same_block(row, key, block_size)
                                         : key >= use.begin && key < use.end &&
                                               key - use.base < plan.row_limits[static_cast<size_t>(row)];
      if (seen) ++counts[static_cast<size_t>(row)][static_cast<size_t>(key)];
    }
}

int64_t count_key_task(const PackAttentionPlan& plan, const KeyTask& task, int64_t block_size,
                       Counts& counts) {
  size_t use = static_cast<size_t>(task.first_use);
  int64_t within = task.skipped;
  for (int64_t step = 0; step < task.steps; ++step) {
    const KeyUse& its = plan.key_uses[use];
    count_key_step(plan, plan.key_tiles[static_cast<size_t>(task.tile)], its,
                   plan.runs[static_cast<size_t>(its.first_run + within)], block_size, counts);
    if (++within == its.runs) {
      ++use;
      within = 0;
    }
  }
  return task.steps;
}

void check_counts(const Counts& counts, const at::Tensor& mask) {
  const auto rows = static_cast<int64_t>(counts.size());
  const auto cells = mask.accessor<bool, 2>();
  int64_t differences = 0;
  for (int64_t q = 0; q < rows; ++q)
    for (int64_t k = 0; k < rows; ++k)
      differences += counts[static_cast<size_t>(q)][static_cast<size_t>(k)] != (cells[q][k] ? 1 : 0);
  CHECK(differences == 0);
}

Counts no_counts(int64_t rows) {
  return Counts(static_cast<size_t>(rows), std::vector<int>(static_cast<size_t>(rows)));
}

PackAttentionShape shape_of(int64_t group, int64_t block_size, int64_t processors) {
  return {2 * group, 2, 64, block_size, processors};
}

}  // namespace

TEST_CASE("tiles of queries and of keys pair what the mask pairs, once") {
  const auto block_size = GENERATE(int64_t{4}, int64_t{8}, int64_t{16}, int64_t{32}, int64_t{64});
  const auto group = GENERATE(int64_t{1}, int64_t{2}, int64_t{3}, int64_t{4}, int64_t{7}, int64_t{8});
  const RandomPack pack(mix_key({9, static_cast<uint64_t>(block_size * group)}), block_size,
                        static_cast<uint64_t>(160 / block_size));
  const auto rows = static_cast<int64_t>(pack.rows.size());
  CAPTURE(block_size, group, rows);
  const PackAttentionPlan plan = plan_pack_attention(pack.segments, rows, shape_of(group, block_size, 5));
  CHECK(plan.run_rows * group <= kRunProductRows);
  CHECK(plan.pairs == pack.mask().sum().item<int64_t>());
  CHECK(static_cast<int64_t>(plan.row_limits.size()) == rows);
  Counts by_queries = no_counts(rows), by_keys = no_counts(rows);
  std::set<std::pair<int32_t, int32_t>> done;
  for (const QueryTask& task : plan.query_tasks) {
    CHECK(done.emplace(task.tile, task.kv_head).second);
    if (task.kv_head == 1)
      count_query_tile(plan, plan.query_tiles[static_cast<size_t>(task.tile)], block_size, by_queries);
  }
  CHECK(done.size() == 2 * plan.query_tiles.size());
  check_counts(by_queries, pack.mask());
  for (const KeyTask& task : plan.key_tasks)
    if (task.kv_head == 1) count_key_task(plan, task, block_size, by_keys);
  check_counts(by_keys, pack.mask());
}

TEST_CASE("a prompt that many responses see is split into parts that cover it once") {
  // 16 responses in two rounds, as a group has them.
  std::vector<PackedSegment> segments{{0, 0, 0, 128, {}}};
  int64_t rows = 128;
  for (int64_t i = 0; i < 16; ++i) {
    PackedSegment s{0, 128, rows, 64, {}};
    for (int64_t block = 0; block < 16; ++block) s.noisy_blocks.insert(s.noisy_blocks.end(), 2, 32 + block);
    rows += s.rows(4);
    segments.push_back(s);
  }
  const PackAttentionShape shape = shape_of(2, 4, 8);
  const PackAttentionPlan plan = plan_pack_attention(segments, rows, shape);
  REQUIRE(plan.key_sums.size() == 2);  // one tile, two heads
  std::map<int32_t, int64_t> steps_of_part;
  int64_t all = 0, most = 0;
  std::vector<int64_t> loads;
  for (size_t p = 0; p + 1 < plan.first_key_task.size(); ++p) {
    loads.push_back(0);
    for (int32_t i = plan.first_key_task[p]; i < plan.first_key_task[p + 1]; ++i) {
      const KeyTask& task = plan.key_tasks[static_cast<size_t>(i)];
      if (task.part >= 0) CHECK(steps_of_part.emplace(task.part, task.steps).second);
      loads.back() += task.steps;
      all += task.steps;
      most = std::max<int64_t>(most, task.steps);
    }
  }
  CHECK(static_cast<int64_t>(steps_of_part.size()) == plan.key_parts);
  for (const KeySum& sum : plan.key_sums) {
    CHECK(sum.parts > 1);
    // 4 runs of the prompt itself and 6 of each response.
    int64_t steps = 0;
    for (int32_t part = sum.first_part; part < sum.first_part + sum.parts; ++part)
      steps += steps_of_part.at(part);
    CHECK(steps == 4 + 16 * 6);
  }
  CHECK(*std::max_element(loads.begin(), loads.end()) <= all / 8 + most);
}

TEST_CASE("tiles of noisy keys are spread between those of clean keys") {
  std::vector<PackedSegment> segments;
  int64_t rows = 0;
  for (int64_t i = 0; i < 12; ++i) {
    PackedSegment s{0, 0, rows, 512, {}};
    for (int64_t block = 0; block < 128; ++block) s.noisy_blocks.push_back(block);
    rows += s.rows(4);
    segments.push_back(s);
  }
  const PackAttentionPlan plan = plan_pack_attention(segments, rows, shape_of(2, 4, 8));
  const auto is_noisy = [&](int32_t task) {
    const int32_t use = plan.key_tasks[static_cast<size_t>(task)].first_use;
    return plan.key_uses[static_cast<size_t>(use)].is_own_block != 0;
  };
  for (size_t p = 0; p + 1 < plan.first_key_task.size(); ++p) {
    const int32_t first = plan.first_key_task[p], end = plan.first_key_task[p + 1];
    int64_t early = 0, late = 0;
    for (int32_t i = first; i < end; ++i) (i < (first + end) / 2 ? early : late) += is_noisy(i);
    REQUIRE(early + late >= 4);
    CHECK(std::abs(early - late) <= 2);
  }
}

TEST_CASE("a response behind its only prompt has one context without a seam") {
  const std::vector<PackedSegment> segments{{0, 0, 0, 20, {}}, {0, 20, 20, 40, {15}}};
  const PackAttentionPlan plan = plan_pack_attention(segments, 64, shape_of(2, 4, 2));
  const QueryTile& last = plan.query_tiles.back();
  CHECK(last.prefix_rows == 0);
  CHECK(last.own_begin == 0);
  CHECK(last.context == 60);
}

TEST_CASE("shapes without kernels are named") {
  CHECK(pack_attention_refusal({16, 8, 128, 4}).empty());
  CHECK(pack_attention_refusal({16, 8, 96, 4}) == "head_dim 96");
  CHECK(pack_attention_refusal({16, 8, 64, 12}) == "blocks of 12");
  CHECK(pack_attention_refusal({16, 8, 64, 128}) == "blocks of 128");
  CHECK(pack_attention_refusal({16, 1, 64, 4}) == "16 heads for 1 of keys");
  CHECK_THROWS_AS(plan_pack_attention({{0, 0, 0, 8, {}}}, 12, shape_of(2, 4, 1)), Error);
}
