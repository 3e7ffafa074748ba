#include "sandbox/recorder/trace/host_layout.h"

#include <catch2/catch_test_macros.hpp>

using namespace bicrl;

namespace {

constexpr int64_t kRows = 6, kColumns = 10;

TensorLayout layout(std::vector<int64_t> sizes, std::vector<int64_t> strides, DType dtype = DType::kFloat32) {
  return {dtype, std::move(sizes), std::move(strides)};
}
const TensorLayout kWhole = layout({kRows, kColumns}, {kColumns, 1});
const TensorLayout kTransposed = layout({kColumns, kRows}, {1, kColumns});
const TensorLayout kTransposedRowMajor = layout({kColumns, kRows}, {kRows, 1});

// Buffer 0 is an input, the others are allocations of its size, or twice that.
uint64_t moved(const TraceView& target, const TraceView& source, size_t construction_ops = 0) {
  Trace trace;
  trace.inputs.leaves.push_back({kWhole, 0, kRows * kColumns * 4});
  for (const uint64_t buffer : {0, 1, 2, 3})
    trace.buffers.push_back({buffer == 0 ? TraceBuffer::Kind::kInput : TraceBuffer::Kind::kAllocation,
                             uint64_t{kRows * kColumns * 4} * (buffer == 3 ? 2 : 1), 0, 0, ""});
  TraceOp op;
  op.kind = TraceOp::Kind::kCopy;
  op.target = target;
  op.source = source;
  trace.ops = {op};
  trace.construction_ops = construction_ops;
  return elements_moved_by_host(trace);
}

}  // namespace

TEST_CASE("copies that put elements elsewhere") {
  CHECK(moved({2, 0, kTransposedRowMajor}, {1, 0, kTransposed}) == kRows * kColumns);
  CHECK(moved({2, 0, kTransposedRowMajor}, {1, 0, kTransposed}, /*construction_ops=*/1) == 0);
  CHECK(moved({2, 0, kTransposedRowMajor}, {0, 0, kTransposed}) == kRows * kColumns);
  // Each row twice, columns behind each other, a part of each row, reversed by pieces.
  CHECK(moved({3, 0, layout({kRows, 2, kColumns}, {2 * kColumns, kColumns, 1})},
              {1, 0, layout({kRows, 2, kColumns}, {kColumns, 0, 1})}) == 2 * kRows * kColumns);
  CHECK(moved({2, 12, layout({kRows, 7}, {kColumns, 1})}, {1, 0, layout({kRows, 7}, {kColumns, 1})}) ==
        kRows * 7);
}

TEST_CASE("copies that leave elements in their order") {
  CHECK(moved({2, 0, kWhole}, {1, 0, kWhole}) == 0);
  CHECK(moved({2, 0, kWhole}, {0, 0, kWhole}) == 0);
  CHECK(moved({2, 0, layout({kRows, kColumns}, {kColumns, 1}, DType::kInt32)}, {1, 0, kWhole}) == 0);
  CHECK(moved({3, 80, layout({50}, {1})}, {1, 0, layout({50}, {1})}) == 0);  // a run to another place
}
