#include "sandbox/interpreter/ptx/alu/matrix_formats.h"

#include <algorithm>

namespace bicrl::ptx {
namespace {

// Four neighbouring lanes hold a row of a piece of 8 rows, `neighbours` elements each. Pieces follow each
// other downwards within 16 rows, then to the right, then in the next 16 rows.
FragmentLayout row_pieces(int rows, int columns, int neighbours) {
  FragmentLayout layout{
      .rows = rows, .columns = columns, .elements = 0, .copies = 1, .positions = {}, .turned = {}};
  layout.elements = rows * columns / kWarpLanes;
  const int high = std::min(2, rows / 8), wide = columns / (4 * neighbours);
  for (int element = 0; element < layout.elements; ++element)
    for (int lane = 0; lane < kWarpLanes; ++lane) {
      const int piece = element / neighbours;
      const int row = lane / 4 + 8 * (piece % high) + 16 * (piece / high / wide);
      const int column =
          lane % 4 * neighbours + element % neighbours + 4 * neighbours * (piece / high % wide);
      layout.positions.push_back(static_cast<uint16_t>(row * columns + column));
      layout.turned.push_back(static_cast<uint16_t>(column * rows + row));
    }
  return layout;
}

// The same with columns and rows exchanged; pieces follow each other downwards, then to the right.
FragmentLayout column_pieces(int rows, int columns, int neighbours) {
  FragmentLayout layout{
      .rows = rows, .columns = columns, .elements = 0, .copies = 1, .positions = {}, .turned = {}};
  layout.elements = rows * columns / kWarpLanes;
  const int high = rows / (4 * neighbours);
  for (int element = 0; element < layout.elements; ++element)
    for (int lane = 0; lane < kWarpLanes; ++lane) {
      const int piece = element / neighbours;
      const int row = lane % 4 * neighbours + element % neighbours + 4 * neighbours * (piece % high);
      const int column = lane / 4 + 8 * (piece / high);
      layout.positions.push_back(static_cast<uint16_t>(row * columns + column));
      layout.turned.push_back(static_cast<uint16_t>(column * rows + row));
    }
  return layout;
}

MatrixFormat format(std::string_view shape, bool wmma, Type type, int m, int n, int k) {
  const int neighbours = packed_elements(type);
  MatrixFormat made{shape, wmma, type, m, n, k, {}, {}, {}};
  made.left = row_pieces(m, k, neighbours);
  made.right = column_pieces(k, n, neighbours);
  made.accumulator = row_pieces(m, n, 2);
  // Fragments of wmma with fp16 always have 16 elements.
  if (wmma && type == Type::kF16) {
    made.left.copies = 16 / made.left.elements;
    made.right.copies = 16 / made.right.elements;
  }
  return made;
}

}  // namespace

const std::vector<MatrixFormat>& matrix_formats() {
  static const std::vector<MatrixFormat> formats = [] {
    std::vector<MatrixFormat> all;
    for (const Type type : {Type::kF16, Type::kBF16}) {
      all.push_back(format("m16n16k16", true, type, 16, 16, 16));
      all.push_back(format("m8n32k16", true, type, 8, 32, 16));
      all.push_back(format("m32n8k16", true, type, 32, 8, 16));
      all.push_back(format("m16n8k8", false, type, 16, 8, 8));
      all.push_back(format("m16n8k16", false, type, 16, 8, 16));
    }
    all.push_back(format("m16n16k8", true, Type::kTF32, 16, 16, 8));
    all.push_back(format("m16n8k4", false, Type::kTF32, 16, 8, 4));
    all.push_back(format("m16n8k8", false, Type::kTF32, 16, 8, 8));
    all.push_back(format("m8n8k4", true, Type::kF64, 8, 8, 4));
    all.push_back(format("m8n8k4", false, Type::kF64, 8, 8, 4));
    all.push_back(format("m16n8k4", false, Type::kF64, 16, 8, 4));
    all.push_back(format("m16n8k8", false, Type::kF64, 16, 8, 8));
    all.push_back(format("m16n8k16", false, Type::kF64, 16, 8, 16));
    return all;
  }();
  return formats;
}

}  // namespace bicrl::ptx
