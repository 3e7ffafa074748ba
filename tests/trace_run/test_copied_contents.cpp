// What outputs would hold if kernels only copied: copies are found whatever way they take, and what a kernel
// computes is not taken for one.
#include "sandbox/trace_run/copied_contents.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <optional>

namespace bicrl {
namespace {

constexpr int64_t kRows = 9, kColumns = 14;
constexpr uint32_t kInput = 0, kFirst = 1, kSecond = 2;

TensorLayout layout(std::vector<int64_t> sizes, std::vector<int64_t> strides) {
  return {DType::kFloat32, std::move(sizes), std::move(strides)};
}
const TensorLayout kRowMajor = layout({kRows, kColumns}, {kColumns, 1});
const TensorLayout kTransposed = layout({kColumns, kRows}, {1, kColumns});
const TensorLayout kTransposedRowMajor = layout({kColumns, kRows}, {kRows, 1});

// An input and two buffers of that size, each with so many floats more as `gap`; memory as kernels leave it.
struct Program {
  explicit Program(uint64_t gap = 0) : memory(3) {
    const uint64_t count = kRows * kColumns;
    for (uint64_t i = 0; i < 3; ++i) {
      memory[i].resize(count + (i == 0 ? 0 : gap));
      trace.buffers.push_back({i == 0 ? TraceBuffer::Kind::kInput : TraceBuffer::Kind::kAllocation,
                               memory[i].size() * sizeof(float), 0, 0, ""});
    }
    for (uint64_t i = 0; i < count; ++i) memory[kInput][i] = std::sin(static_cast<float>(i * i));
    input.assign(reinterpret_cast<const char*>(memory[kInput].data()), count * sizeof(float));
    copied.emplace(
        trace, [this](uint32_t buffer) { return reinterpret_cast<const std::byte*>(memory[buffer].data()); });
    copied->set(kInput, DType::kFloat32, input);
  }

  template <class Kernel>
  void launch(const Kernel& kernel) {
    TraceOp op;
    op.kind = TraceOp::Kind::kLaunch;
    copied->execute(op);
    kernel(memory);
  }
  void copy_by_kernel(uint32_t to, uint32_t from, uint64_t at = 0) {
    launch([&](auto& m) {
      std::copy_n(m[from].begin(), kRows * kColumns, m[to].begin() + static_cast<long>(at));
    });
  }
  void copy(const TraceView& target, const TraceView& source) {
    TraceOp op;
    op.kind = TraceOp::Kind::kCopy;
    op.target = target;
    op.source = source;
    copied->execute(op);
    const auto place = [this](const TraceView& view) {
      return ElementPlace{reinterpret_cast<std::byte*>(memory[view.buffer].data()) + view.offset_bytes,
                          nullptr, nullptr};
    };
    copy_elements(target.tensor, place(target), source.tensor, place(source));
  }
  std::optional<std::vector<float>> output(const TraceView& view) {
    OutputLayout::Leaf leaf{DType::kFloat32, view.tensor.sizes, 0,
                            static_cast<uint64_t>(view.tensor.numel()) * sizeof(float)};
    std::vector<float> found(leaf.numel());
    if (!copied->output(view, leaf, reinterpret_cast<std::byte*>(found.data()))) return std::nullopt;
    return found;
  }

  Trace trace;
  std::vector<std::vector<float>> memory;
  std::string input;
  std::optional<CopiedContents> copied;
};

std::vector<float> transposed(const Program& program) {
  std::vector<float> found;
  for (int64_t c = 0; c < kColumns; ++c)
    for (int64_t r = 0; r < kRows; ++r) {
      float value = 0;
      memcpy(&value, program.input.data() + (r * kColumns + c) * 4, 4);
      found.push_back(value);
    }
  return found;
}

}  // namespace

TEST_CASE("a copy by a kernel that is returned as a transposed view") {
  Program program;
  program.copy_by_kernel(kFirst, kInput);
  CHECK(program.output({kFirst, 0, kTransposed}) == transposed(program));
}

TEST_CASE("a copy by a kernel that is returned as it lies is the kernel's") {
  Program program;
  program.copy_by_kernel(kFirst, kInput);
  CHECK_FALSE(program.output({kFirst, 0, kRowMajor}));
}

TEST_CASE("a copy by a kernel that the host part transposes, and one of that") {
  Program program;
  program.copy_by_kernel(kFirst, kInput);
  program.copy({kSecond, 0, kTransposedRowMajor}, {kFirst, 0, kTransposed});
  CHECK(program.output({kSecond, 0, kTransposedRowMajor}) == transposed(program));
  program.copy_by_kernel(kFirst, kSecond);
  CHECK(program.output({kFirst, 0, kTransposedRowMajor}) == transposed(program));
  // What the host part overwrites meanwhile is remembered.
  TraceOp clear;
  clear.kind = TraceOp::Kind::kFill;
  clear.target = {kSecond, 0, kTransposedRowMajor};
  clear.value = std::string(4, '\0');
  program.copied->execute(clear);
  std::fill(program.memory[kSecond].begin(), program.memory[kSecond].end(), 0.f);
  CHECK(program.output({kFirst, 0, kTransposedRowMajor}) == transposed(program));
}

TEST_CASE("some elements may be others, and all a little") {
  Program program;
  program.launch([](auto& m) {
    for (size_t i = 0; i < m[0].size(); ++i) m[kFirst][i] = i % 20 == 7 ? 5.f : m[kInput][i] * 1.0001f;
  });
  CHECK(program.output({kFirst, 0, kTransposed}) == transposed(program));
}

TEST_CASE("a copy by a kernel that converts, before the host part transposes or after it") {
  const auto in = [](DType dtype, const TensorLayout& tensor) {
    return TensorLayout{dtype, tensor.sizes, tensor.strides};
  };
  for (const DType other : {DType::kFloat64, DType::kFloat16, DType::kInt32}) {
    INFO(to_string(other));
    const bool whole = other == DType::kInt32;
    Program program(/*gap=*/kRows * kColumns);  // room for doubles
    const auto convert = [&](const TensorLayout& to, uint32_t target, const TensorLayout& from,
                             uint32_t source) {
      const auto place = [&](uint32_t buffer) {
        return ElementPlace{reinterpret_cast<std::byte*>(program.memory[buffer].data()), nullptr, nullptr};
      };
      copy_elements(to, place(target), from, place(source));
    };
    // By the host part first, into the other type and order; a kernel converts that back.
    program.copy({kFirst, 0, in(other, kTransposedRowMajor)}, {kInput, 0, kTransposed});
    program.launch(
        [&](auto&) { convert(kTransposedRowMajor, kSecond, in(other, kTransposedRowMajor), kFirst); });
    auto found = program.output({kSecond, 0, kTransposedRowMajor});
    REQUIRE(found);
    const std::vector<float> expected = transposed(program);
    for (size_t i = 0; i < expected.size(); ++i)
      CHECK(std::abs((*found)[i] - (whole ? std::trunc(expected[i]) : expected[i])) < 1e-3f);
  }
}

TEST_CASE("what a kernel computes is no copy") {
  Program program;
  program.launch([](auto& m) {
    for (size_t i = 0; i < m[0].size(); ++i) m[kFirst][i] = std::max(m[kInput][i], 0.f);
  });
  CHECK_FALSE(program.output({kFirst, 0, kTransposed}));
  program.copy({kSecond, 0, kTransposedRowMajor}, {kFirst, 0, kTransposed});
  CHECK_FALSE(program.output({kSecond, 0, kTransposedRowMajor}));
  // Nor is what it lays out.
  program.launch([](auto& m) {
    for (int64_t i = 0; i < kRows * kColumns; ++i)
      m[kFirst][i % kColumns * kRows + i / kColumns] = m[kInput][i];
  });
  CHECK_FALSE(program.output({kFirst, 0, kTransposedRowMajor}));
}

TEST_CASE("copies to places further on and into rows with gaps") {
  constexpr uint64_t kGap = kRows;
  Program program(kGap);
  program.copy_by_kernel(kFirst, kInput, 5);
  CHECK(program.output({kFirst, 20, kTransposed}) == transposed(program));
  program.launch([](auto& m) {
    for (int64_t i = 0; i < kRows * kColumns; ++i)
      m[kSecond][i / kColumns * (kColumns + 1) + i % kColumns] = m[kInput][i];
  });
  CHECK(program.output({kSecond, 0, layout({kColumns, kRows}, {1, kColumns + 1})}) == transposed(program));
}

TEST_CASE("parts that the host part puts together") {
  Program program;
  program.copy_by_kernel(kFirst, kInput);
  const TensorLayout half = layout({kRows, kColumns / 2}, {kColumns, 1});
  constexpr uint64_t kHalf = kColumns / 2 * sizeof(float);
  program.copy({kSecond, 0, half}, {kFirst, kHalf, half});
  CHECK_FALSE(program.output({kSecond, 0, kRowMajor}));  // the other half is not known
  program.copy({kSecond, kHalf, half}, {kFirst, 0, half});
  const auto found = program.output({kSecond, 0, kRowMajor});
  REQUIRE(found);
  CHECK(*found == program.memory[kSecond]);
}

TEST_CASE("programs whose host part only passes on are not followed") {
  Program program;
  program.trace.outputs = {{kFirst, 0, kRowMajor}};
  TraceOp op;
  op.kind = TraceOp::Kind::kCopy;
  op.target = {kSecond, 0, kRowMajor};
  op.source = {kFirst, 0, kRowMajor};
  program.trace.ops = {op};
  CHECK_FALSE(CopiedContents::matter(program.trace));
  program.trace.ops[0].source.tensor = layout({kRows, kColumns}, {1, kRows});
  CHECK(CopiedContents::matter(program.trace));
  program.trace.ops.clear();
  program.trace.outputs[0].tensor = kTransposed;
  CHECK(CopiedContents::matter(program.trace));
}

}  // namespace bicrl
