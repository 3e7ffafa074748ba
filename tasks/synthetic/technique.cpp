#include "tasks/synthetic/technique.h"

#include <algorithm>
#include <array>

#include "common/error.h"
#include "tasks/synthetic/synthetic_pieces.h"

namespace bicrl {
namespace {

constexpr std::array<std::string_view, 4> kLaneNames = {"1", "8", "32", "T"};
constexpr std::string_view kOperatorLine = "    v = ";

// Longest first: some pieces begin like others.
const std::vector<std::string_view>& pieces_by_length() {
  static const std::vector<std::string_view> sorted = [] {
    auto all = pieces::of_programs();
    std::ranges::stable_sort(all, std::greater(), [](std::string_view piece) { return piece.size(); });
    return all;
  }();
  return sorted;
}

// Length of what the text begins with; 0 if it is not of the grammar.
size_t next_length(std::string_view text) {
  for (const std::string_view piece : pieces_by_length())
    if (text.starts_with(piece)) return piece.size();
  if (!text.starts_with(kOperatorLine)) return 0;
  const size_t end = text.find('\n');
  return end != text.npos && text[end - 1] == ';' ? end + 1 : 0;
}

template <class Pieces>
std::optional<size_t> place_in(const Pieces& several, std::string_view piece) {
  const auto found = std::ranges::find(several, piece);
  if (found == std::end(several)) return std::nullopt;
  return static_cast<size_t>(found - std::begin(several));
}

// Collects what a program's pieces say, in one walk over them.
class TechniqueReader {
 public:
  std::optional<Technique> read(const std::vector<std::string_view>& program) {
    for (const std::string_view piece : program) take(piece);
    if (bad_ || threads_ != 1 || widths_ != 1 || lanes_ > 1 || technique_.kernels == 0) return std::nullopt;
    // A kernel of rows needs lanes, and only there do they mean anything.
    if ((lanes_ == 1) != uses_rows_ || uses_rows_ != has_across_) return std::nullopt;
    technique_.reduction = reduction();
    return technique_;
  }

 private:
  void take(std::string_view piece) {
    using namespace pieces;
    if (const auto t = place_in(kThreads, piece)) technique_.threads = kThreadCounts[*t], ++threads_;
    if (const auto w = place_in(kWidths, piece)) technique_.width = kWidthCounts[*w], ++widths_;
    if (const auto l = place_in(kLanes, piece)) lane_name_ = kLaneNames[*l], ++lanes_;
    if (const auto k = place_in(kKernels, piece)) begin_kernel(*k);
    if (const auto k = place_in(kKernelsOfTwo, piece)) begin_kernel(*k);
    if (const auto k = place_in(kNames, piece)) launch(*k);
    if (piece == kAcross) has_across_ = true;
    if (piece == kShuffle) shuffle_ = true;
    if (piece == kTree) tree_ = true;
    if (piece == kWarpJoin) warp_join_ = true;
    if (piece == kIf) map("if");
    if (piece == kUnchecked) map("unchecked");
    if (piece == kStride) map("stride");
    if (piece == kRowStride) map("row");
    if (piece == kTile) tile_ = true;
    if (piece == kRow) rows_ = true;
    if (rows_ && piece == kInside) map(concat("row:", lane_name_));
    if (rows_ && piece == kAnywhere) map(concat("row:", lane_name_, "-unchecked"));
    for (const std::string_view pass : {kMaxPass, kSumPass, kOnlinePass, kWritePass, kKeepPass})
      technique_.passes += piece == pass;
  }

  void begin_kernel(size_t number) {
    kernel_ = number;
    tile_ = rows_ = false;
    bad_ = bad_ || !maps_[number].empty();
  }

  void map(const std::string& name) {
    if (!kernel_ || !maps_[*kernel_].empty()) {
      bad_ = true;
      return;
    }
    maps_[*kernel_] = (tile_ ? "tile-" : "") + name;
  }

  void launch(size_t number) {
    if (maps_[number].empty()) {
      bad_ = true;
      return;
    }
    ++technique_.kernels;
    uses_rows_ = uses_rows_ || maps_[number].starts_with("row:");
    if (technique_.maps.empty() || technique_.maps.back() != maps_[number])
      technique_.maps.push_back(maps_[number]);
  }

  std::string reduction() const {
    if (!has_across_) return "";
    std::string text;
    const auto add = [&](bool used, std::string_view name) {
      if (used) text += concat(text.empty() ? "" : "+", name);
    };
    add(tree_, "tree");
    add(shuffle_ && !warp_join_, "shuffle");
    add(warp_join_, "warps");
    return text.empty() ? "none" : text;
  }

  Technique technique_;
  int threads_ = 0, widths_ = 0, lanes_ = 0;
  std::string_view lane_name_;
  bool has_across_ = false, shuffle_ = false, tree_ = false, warp_join_ = false;
  std::array<std::string, pieces::kMaxKernels> maps_;
  std::optional<size_t> kernel_;      // whose body is read
  bool tile_ = false, rows_ = false;  // of that kernel
  bool uses_rows_ = false;            // a launched one does
  bool bad_ = false;
};

}  // namespace

std::string Technique::text() const {
  std::string all_maps;
  for (const std::string& map : maps) all_maps += concat(all_maps.empty() ? "" : "+", map);
  std::string text = concat("kernels=", kernels, " map=", all_maps, " width=", width);
  if (!reduction.empty()) text += concat(" reduce=", reduction);
  if (passes > 0) text += concat(" passes=", passes);
  return text + concat(" threads=", threads);
}

std::optional<std::vector<std::string_view>> split_into_pieces(std::string_view program) {
  // A response may end in more newlines than the program that it was asked for.
  while (program.ends_with("\n\n")) program.remove_suffix(1);
  std::vector<std::string_view> found;
  while (!program.empty()) {
    const size_t length = next_length(program);
    if (length == 0) return std::nullopt;
    found.push_back(program.substr(0, length));
    program.remove_prefix(length);
  }
  return found;
}

std::optional<Technique> read_technique(std::string_view program) {
  const auto found = split_into_pieces(program);
  if (!found) return std::nullopt;
  return TechniqueReader().read(*found);
}

}  // namespace bicrl
