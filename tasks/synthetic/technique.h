// The technique of a program of a synthesised task, apart from the function that it computes: a short
// signature such as `kernels=1 map=row:32 width=4 reduce=shuffle passes=1 threads=128`. Programs with one
// signature use the same technique. Pure functions.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bicrl {

struct Technique {
  int kernels = 0;  // launches
  // Which packs or rows the threads of each launch take, in order, with equal neighbours as one. Packs: `if`,
  // `unchecked`, `stride`, `row` (a block has a row's), `tile` before one of the first two where neighbours
  // are read from shared memory ("tile-if"). Rows: `row:` and the lanes that share one (1, 8, 32, T), with
  // "-unchecked" where no lane asks whether its row exists.
  std::vector<std::string> maps;
  int width = 0;  // floats of a load
  // What across() is made of, joined with '+': `shuffle`, `tree`, `warps` (a shuffle and a step across
  // warps), `none`. Empty in a program without across().
  std::string reduction;
  int passes = 0;  // over the rows of softmax; 0 without one
  int threads = 0;

  std::string text() const;
  bool operator==(const Technique&) const = default;
};

// Of a whole program, or of the text between its triple quotes. Nothing for a text that holds anything but
// the pieces of tasks/synthetic/synthetic_pieces.h and operators' lines, or lacks a distinguishing part: such
// a program may be right and fast, but it is not of this grammar. A signature does not say that a program is
// right.
std::optional<Technique> read_technique(std::string_view program);

// The pieces and operators' lines that a text of this grammar consists of; nothing for any other text.
std::optional<std::vector<std::string_view>> split_into_pieces(std::string_view program);

}  // namespace bicrl
