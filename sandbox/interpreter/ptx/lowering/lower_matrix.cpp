#include <algorithm>
#include <utility>

#include "sandbox/interpreter/ptx/alu/matrix_formats.h"
#include "sandbox/interpreter/ptx/lowering/lowering.h"
#include "sandbox/interpreter/ptx/operations/matrix_moves.h"
#include "sandbox/interpreter/ptx/operations/matrix_operations.h"

namespace bicrl::ptx {
namespace {

using Words = std::vector<std::string>;

// The modifiers of a product without those that every one has: its shape, layouts and types.
Words product_words(const Instruction& instruction) {
  Words words;
  for (const std::string& word : instruction.modifiers)
    if (word != "sync" && word != "aligned" && word != "mma") words.push_back(word);
  if (!words.empty() && words.back() == "rn") words.pop_back();  // fp64, which has no other rounding here
  return words;
}

// Whether these are the words of that format; layouts of wmma's operands do not matter, as fragments hold
// matrices and not memory.
bool names_format(const MatrixFormat& format, const Words& words, Type& result, Type& addend) {
  const auto is_layout = [](const std::string& word) { return word == "row" || word == "col"; };
  const size_t shape = format.wmma ? 2 : 0, layouts = format.wmma ? 0 : 1;
  if (words.size() < 5 || words[shape] != format.shape) return false;
  if (!is_layout(words[layouts]) || !is_layout(words[layouts + 1])) return false;
  if (!format.wmma && (words[1] != "row" || words[2] != "col")) return false;
  result = parse_type(words[3]);
  addend = parse_type(words.back());
  if (words.size() == 7) {
    if (words[4] != to_string(format.type) || words[5] != to_string(format.type)) return false;
  } else if (words.size() != 5 || !format.wmma || format.type != Type::kF16) {
    return false;
  }
  if (format.type == Type::kF64) return result == Type::kF64 && addend == Type::kF64;
  const auto is_sum = [&](Type type) {
    return type == Type::kF32 || (type == Type::kF16 && format.type == Type::kF16);
  };
  return is_sum(result) && is_sum(addend);
}

}  // namespace

// All lanes of a warp.
void Lowering::use_whole_warp(Operation& op) {
  op.flow = Flow::kCollective;
  op.collective = Collective::kWarp;
  op.sources[0] = bits(-1, 4);
}

void Lowering::add_fragment(const Operand& operand, Type type, int registers, bool written,
                            std::vector<Place>& places) {
  const auto elements = flat(operand);
  if (elements.size() != static_cast<size_t>(registers))
    throw Unsupported("a fragment of this many registers");
  const uint32_t bytes = type == Type::kF64 ? 8 : 4;
  for (const Operand* element : elements) {
    const Place place =
        written ? destination(*element) : source(*element, bytes == 8 ? Type::kB64 : Type::kB32);
    if (place && place.bytes != bytes) throw Unsupported("a fragment in registers of this size");
    places.push_back(place);
  }
}

void Lowering::lower_product(const Instruction& instruction, Operation& op) {
  use_whole_warp(op);
  const Words words = product_words(instruction);
  const auto& formats = matrix_formats();
  Type result = Type::kNone, addend = Type::kNone;
  const auto format = std::find_if(formats.begin(), formats.end(), [&](const MatrixFormat& f) {
    return f.wmma == (instruction.opcode == "wmma") && names_format(f, words, result, addend);
  });
  if (format == formats.end()) throw Unsupported("a matrix product that this machine does not have");
  if (instruction.operands.size() != 4) throw Unsupported("this number of operands");
  op.detail = static_cast<uint16_t>(format - formats.begin());
  if (result == Type::kF16) op.detail |= kNarrowResult;
  if (addend == Type::kF16) op.detail |= kNarrowAddend;
  std::vector<Place> places;
  const auto& operands = instruction.operands;
  add_fragment(operands[0], result, register_count(format->accumulator, result), true, places);
  add_fragment(operands[1], format->type, register_count(format->left, format->type), false, places);
  add_fragment(operands[2], format->type, register_count(format->right, format->type), false, places);
  add_fragment(operands[3], addend, register_count(format->accumulator, addend), false, places);
  op.more = static_cast<uint32_t>(kernel_.more.size());
  kernel_.more.push_back(std::move(places));
  op.handler = multiply_matrices;
}

// wmma.load and wmma.store: a, b, c or d, then layout, shape, space and type in the order of the text.
void Lowering::lower_matrix_access(const Instruction& instruction, Operation& op) {
  use_whole_warp(op);
  const bool loads = instruction.has("load");
  const auto& operands = instruction.operands;
  if (operands.size() < 2 || operands.size() > 3) throw Unsupported("this number of operands");
  if (instruction.modifiers.empty()) throw Unsupported("this part of a matrix product");
  op.type = parse_type(instruction.modifiers.back());
  const bool is_a = instruction.has("a"), is_b = instruction.has("b");
  const auto role = is_a ? MatrixRole::kLeft : is_b ? MatrixRole::kRight : MatrixRole::kAccumulator;
  if (role == MatrixRole::kAccumulator ? !instruction.has(loads ? "c" : "d") : !loads)
    throw Unsupported("this part of a matrix product");
  const auto& formats = matrix_formats();
  const auto format = std::find_if(formats.begin(), formats.end(), [&](const MatrixFormat& f) {
    if (!f.wmma || !instruction.has(f.shape)) return false;
    if (role != MatrixRole::kAccumulator) return op.type == f.type;
    return op.type == (f.type == Type::kF64 ? Type::kF64 : Type::kF32) ||
           (op.type == Type::kF16 && f.type == Type::kF16);
  });
  if (format == formats.end()) throw Unsupported("a matrix that this machine does not have");
  op.detail = static_cast<uint16_t>((format - formats.begin()) | static_cast<int>(role) << kRoleShift);
  if (instruction.has("col") == instruction.has("row")) throw Unsupported("a matrix of no layout");
  if (instruction.has("col")) op.detail |= kColumnMajor;
  const FragmentLayout& layout = role == MatrixRole::kLeft    ? format->left
                                 : role == MatrixRole::kRight ? format->right
                                                              : format->accumulator;
  std::vector<Place> places;
  add_fragment(operands[loads ? 0 : 1], op.type, register_count(layout, op.type), loads, places);
  op.more = static_cast<uint32_t>(kernel_.more.size());
  kernel_.more.push_back(std::move(places));
  set_address(op, operands[loads ? 1 : 0], space_of(instruction));
  if (operands.size() == 3) op.sources[1] = source(operands[2], Type::kB32);
  op.handler = loads ? load_matrix : store_matrix;
}

void Lowering::lower_matrix_move(const Instruction& instruction, Operation& op) {
  use_whole_warp(op);
  const auto& operands = instruction.operands;
  if (operands.size() != 2) throw Unsupported("this number of operands");
  if (!instruction.has("m8n8") || !instruction.has("b16"))
    throw Unsupported("matrices of this shape or type");
  if (instruction.has("trans")) op.detail = kTransposed;
  std::vector<Place> places;
  if (instruction.opcode == "movmatrix") {
    if (op.detail != kTransposed) throw Unsupported("without .trans");
    add_fragment(operands[0], Type::kB32, 1, true, places);
    add_fragment(operands[1], Type::kB32, 1, false, places);
    op.destinations[0] = places[0];
    op.sources[1] = places[1];
    op.handler = transpose_small_matrix;
    return;
  }
  const bool loads = instruction.opcode == "ldmatrix";
  op.count = instruction.has("x4") ? 4 : instruction.has("x2") ? 2 : instruction.has("x1") ? 1 : 0;
  if (op.count == 0) throw Unsupported("this number of matrices");
  add_fragment(operands[loads ? 0 : 1], Type::kB32, op.count, loads, places);
  if (loads)
    std::copy(places.begin(), places.end(), op.destinations.begin());
  else {
    op.more = static_cast<uint32_t>(kernel_.more.size());
    kernel_.more.push_back(std::move(places));
  }
  set_address(op, operands[loads ? 1 : 0], space_of(instruction));
  op.handler = loads ? load_small_matrices : store_small_matrices;
}

}  // namespace bicrl::ptx
