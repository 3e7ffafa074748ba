// mma, register by register as the manual lays it out, with integers that no rounding touches.
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <functional>

#include "common/error.h"
#include "tests/ptx/kernel_runner.h"

namespace bicrl::ptx {
namespace {

using testing::KernelRunner;

// Where element i of a lane lies: row and column of its matrix, by group = lane / 4 and in_group = lane % 4.
struct Cell {
  int row, column;
};
using Layout = std::function<Cell(int i, int group, int in_group)>;

struct Shape {
  std::string name;
  int m, n, k;
  int a_elements, b_elements, c_elements;
  Layout a, b, c;
};

Layout accumulator() {
  return [](int i, int group, int in_group) {
    return Cell{i < 2 ? group : group + 8, in_group * 2 + (i & 1)};
  };
}

// Of 16-bit elements.
Shape shape_k8() {
  return {"m16n8k8",
          16,
          8,
          8,
          4,
          2,
          4,
          [](int i, int group, int in_group) {
            return Cell{i < 2 ? group : group + 8, in_group * 2 + (i & 1)};
          },
          [](int i, int group, int in_group) {
            return Cell{in_group * 2 + i, group};
          },
          accumulator()};
}
Shape shape_k16() {
  return {"m16n8k16",
          16,
          8,
          16,
          8,
          4,
          4,
          [](int i, int group, int in_group) {
            const bool upper = i < 2 || (i >= 4 && i < 6);
            return Cell{upper ? group : group + 8, in_group * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
          },
          [](int i, int group, int in_group) {
            return Cell{in_group * 2 + (i & 1) + (i >= 2 ? 8 : 0), group};
          },
          accumulator()};
}
// Of tf32 and fp64.
Shape wide_shape(const std::string& name, int k) {
  return {name,
          16,
          8,
          k,
          k / 2,
          k / 4,
          4,
          [](int i, int group, int in_group) {
            return Cell{i % 2 == 0 ? group : group + 8, in_group + i / 2 * 4};
          },
          [](int i, int group, int in_group) {
            return Cell{in_group + i * 4, group};
          },
          accumulator()};
}
Shape small_shape() {
  return {"m8n8k4",
          8,
          8,
          4,
          1,
          1,
          2,
          [](int, int group, int in_group) {
            return Cell{group, in_group};
          },
          [](int, int group, int in_group) {
            return Cell{in_group, group};
          },
          [](int i, int group, int in_group) {
            return Cell{group, in_group * 2 + i};
          }};
}

// An operand as registers: [32 lanes, elements] of 2, 4 or 8 bytes.
std::string encode(double value, const std::string& type) {
  const auto bytes = [](auto v) { return std::string(reinterpret_cast<const char*>(&v), sizeof v); };
  if (type == "f16") return bytes(static_cast<_Float16>(value));
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (type == "bf16") return bytes(static_cast<uint16_t>(bits >> 16));
  if (type == "tf32") return bytes(bits | 0x1FFF);  // what tf32 does not look at
  return type == "f64" ? bytes(value) : bytes(bits);
}
double decode(const char* bytes, const std::string& type) {
  const auto as = [bytes](auto v) {
    memcpy(&v, bytes, sizeof v);
    return static_cast<double>(v);
  };
  return type == "f16" ? as(_Float16{}) : type == "f64" ? as(double{}) : as(float{});
}

// A kernel that passes registers from and to memory: {%0, ..}, {..}, {..}, {..}.
std::string layout_kernel(const std::string& instruction, int d, int a, int b, int c, bool wide) {
  const std::string type = wide ? "double" : "unsigned", constraint = wide ? "d" : "r";
  int next = 0;
  const auto list = [&](int count) {
    std::string text = "{";
    for (int i = 0; i < count; ++i) text += concat(i > 0 ? "," : "", "%", next++);
    return text + "}";
  };
  const auto values = [&](const std::string& name, int count, const std::string& mark) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += concat(text.empty() ? "" : ",", "\"", mark, constraint, "\"(", name, "[", i, "])");
    return text;
  };
  std::string operands = list(d);
  for (const int count : {a, b, c}) operands += ", " + list(count);
  const auto declare = [&](const std::string& name, int count, bool load) {
    std::string text = concat(type, " ", name, "[", count, "];\n");
    if (load)
      text += concat("for (int i = 0; i < ", count, "; ++i) ", name, "[i] = p", name, "[threadIdx.x * ",
                     count, " + i];\n");
    return text;
  };
  return concat("extern \"C\" __global__ void go(const ", type, "* pa, const ", type, "* pb, const ", type,
                "* pc, ", type, "* pd) {\n", declare("a", a, true), declare("b", b, true),
                declare("c", c, true), declare("d", d, false), "asm volatile(\"", instruction, " ", operands,
                ";\" : ", values("d", d, "="), " : ", values("a", a, ""), ",", values("b", b, ""), ",",
                values("c", c, ""), ");\nfor (int i = 0; i < ", d, "; ++i) pd[threadIdx.x * ", d,
                " + i] = d[i];\n}");
}

size_t bytes_of_element(const std::string& type) {
  return type == "f64" ? 8 : type == "f16" || type == "bf16" ? 2 : 4;
}

std::string fragment(const std::vector<double>& matrix, int columns, int elements, const Layout& layout,
                     const std::string& type) {
  std::string bytes;
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < elements; ++i) {
      const Cell cell = layout(i, lane / 4, lane % 4);
      bytes += encode(matrix[static_cast<size_t>(cell.row * columns + cell.column)], type);
    }
  return bytes;
}

void check(const Shape& shape, const std::string& d_type, const std::string& type,
           const std::string& c_type) {
  const std::string instruction =
      concat("mma.sync.aligned.", shape.name, ".row.col.", d_type, ".", type, ".", type, ".", c_type);
  INFO(instruction);
  const bool narrow = d_type == "f16" || c_type == "f16";
  const auto registers = [](int elements, const std::string& of) {
    return bytes_of_element(of) == 2 ? elements / 2 : elements;
  };
  KernelRunner runner(layout_kernel(instruction, registers(shape.c_elements, d_type),
                                    registers(shape.a_elements, type), registers(shape.b_elements, type),
                                    registers(shape.c_elements, c_type), type == "f64"));
  const auto at = [](int row, int column, int columns) {
    return static_cast<size_t>(row * columns + column);
  };
  std::vector<double> a, b, c;
  for (int i = 0; i < shape.m * shape.k; ++i) a.push_back(i);
  // Of fp16 sums, what fp16 can tell apart.
  for (int i = 0; i < shape.k * shape.n; ++i) b.push_back(narrow ? i % 9 == 2 : i - 50);
  for (int i = 0; i < shape.m * shape.n; ++i) c.push_back(5 * i + 3);
  const auto upload = [&](const std::string& bytes) {
    return runner.upload(std::vector<char>(bytes.begin(), bytes.end()));
  };
  const uint64_t d = runner.reserve(static_cast<uint64_t>(32 * shape.c_elements) * bytes_of_element(d_type));
  const auto fault = runner.launch("go", {1, 1, 1}, {32, 1, 1}, 0,
                                   upload(fragment(a, shape.k, shape.a_elements, shape.a, type)),
                                   upload(fragment(b, shape.n, shape.b_elements, shape.b, type)),
                                   upload(fragment(c, shape.n, shape.c_elements, shape.c, c_type)), d);
  REQUIRE((fault ? fault->message : "") == "");
  const auto found = runner.download<char>(d);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < shape.c_elements; ++i) {
      const Cell cell = shape.c(i, lane / 4, lane % 4);
      double sum = c[at(cell.row, cell.column, shape.n)];
      for (int k = 0; k < shape.k; ++k) sum += a[at(cell.row, k, shape.k)] * b[at(k, cell.column, shape.n)];
      const size_t place = static_cast<size_t>(lane * shape.c_elements + i) * bytes_of_element(d_type);
      REQUIRE(decode(found.data() + place, d_type) == sum);
    }
}

}  // namespace

TEST_CASE("mma of fp16 and bf16 has the manual's layouts") {
  for (const Shape& shape : {shape_k8(), shape_k16()}) {
    check(shape, "f32", "f16", "f32");
    check(shape, "f16", "f16", "f16");
    check(shape, "f32", "f16", "f16");
    check(shape, "f16", "f16", "f32");
    check(shape, "f32", "bf16", "f32");
  }
}

TEST_CASE("mma of tf32 and fp64 has the manual's layouts") {
  check(wide_shape("m16n8k4", 4), "f32", "tf32", "f32");
  check(wide_shape("m16n8k8", 8), "f32", "tf32", "f32");
  check(small_shape(), "f64", "f64", "f64");
  check(wide_shape("m16n8k4", 4), "f64", "f64", "f64");
  check(wide_shape("m16n8k8", 8), "f64", "f64", "f64");
  check(wide_shape("m16n8k16", 16), "f64", "f64", "f64");
}

TEST_CASE("ldmatrix, stmatrix and movmatrix move rows of eight") {
  KernelRunner runner(R"(
    extern "C" __global__ void go(const unsigned short* in, unsigned* straight, unsigned* turned,
                                  unsigned* moved, unsigned short* back) {
      __shared__ __align__(16) unsigned short tile[32][8], out[32][8];
      for (int i = threadIdx.x; i < 256; i += 32) tile[i / 8][i % 8] = in[i];
      __syncwarp();
      unsigned row = (unsigned)__cvta_generic_to_shared(tile[threadIdx.x]), r[4], t[2], m;
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                   : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row));
      // Lanes from 16 on have addresses that nobody may look at.
      unsigned some = threadIdx.x < 16 ? row : 3;
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                   : "=r"(t[0]), "=r"(t[1]) : "r"(some));
      asm volatile("ldmatrix.sync.aligned.m8n8.x1.b16 {%0}, [%1];" : "=r"(m) : "l"(&tile[threadIdx.x]));
      asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(m) : "r"(m));
      for (int i = 0; i < 4; ++i) straight[i * 32 + threadIdx.x] = r[i];
      for (int i = 0; i < 2; ++i) turned[i * 32 + threadIdx.x] = t[i];
      moved[threadIdx.x] = m;
      unsigned to = (unsigned)__cvta_generic_to_shared(out[threadIdx.x]);
      asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};"
                   :: "r"(to), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
      __syncwarp();
      for (int i = threadIdx.x; i < 256; i += 32) back[i] = out[i / 8][i % 8];
    })");
  std::vector<uint16_t> in(256);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint16_t>(1000 + i);
  const uint64_t straight = runner.reserve(4 * 128), turned = runner.reserve(4 * 64);
  const uint64_t moved = runner.reserve(4 * 32), back = runner.reserve(512);
  const auto fault =
      runner.launch("go", {1, 1, 1}, {32, 1, 1}, 0, runner.upload(in), straight, turned, moved, back);
  REQUIRE((fault ? fault->message : "") == "");
  const auto element = [&](size_t matrix, size_t row, size_t column) {
    return uint32_t{in[matrix * 64 + row * 8 + column]};
  };
  for (size_t lane = 0; lane < 32; ++lane) {
    const size_t major = lane / 4, minor = lane % 4 * 2;
    for (size_t i = 0; i < 4; ++i)
      CHECK(runner.download<uint32_t>(straight)[i * 32 + lane] ==
            (element(i, major, minor) | element(i, major, minor + 1) << 16));
    for (size_t i = 0; i < 2; ++i)
      CHECK(runner.download<uint32_t>(turned)[i * 32 + lane] ==
            (element(i, minor, major) | element(i, minor + 1, major) << 16));
    CHECK(runner.download<uint32_t>(moved)[lane] ==
          (element(0, minor, major) | element(0, minor + 1, major) << 16));
  }
  for (size_t i = 0; i < 256; ++i)
    CHECK(runner.download<uint16_t>(back)[i] == element(i / 64, i % 8, i % 64 / 8));
}

}  // namespace bicrl::ptx
