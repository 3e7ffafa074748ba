#include "tasks/synthetic/synthetic_pieces.h"

namespace bicrl::pieces {

std::vector<std::string_view> of_programs() {
  std::vector<std::string_view> all = {kImports,
                                       kSource,
                                       kQuotes,
                                       kCppSource,
                                       kDeclaration,
                                       kDeclarationOfTwo,
                                       kLoad,
                                       kForward,
                                       kForwardOfTwo,
                                       kCall,
                                       kCallOfTwo,
                                       kIncludes,
                                       kBefore,
                                       kAfter,
                                       kReturnValue,
                                       kIndex,
                                       kIf,
                                       kUnchecked,
                                       kStride,
                                       kRowIndex,
                                       kRowStride,
                                       kColumn,
                                       kColumnOfRow,
                                       kAverage,
                                       kMaximum,
                                       kDifference,
                                       kNeighbours,
                                       kTile,
                                       kTileNeighbours,
                                       kAcross,
                                       kShuffle,
                                       kPart,
                                       kBarrier,
                                       kTree,
                                       kWarpPart,
                                       kWarpJoin,
                                       kRow,
                                       kInside,
                                       kAnywhere,
                                       kTop,
                                       kTotal,
                                       kReduceRow,
                                       kStore,
                                       kStoreMean,
                                       kMaxPass,
                                       kSumPass,
                                       kOnlinePass,
                                       kWritePass,
                                       kKeepPass,
                                       kLauncher,
                                       kLauncherOfTwo,
                                       kSameShape,
                                       kRowShape,
                                       kGridFull,
                                       kGridFullOfTwo,
                                       kGridQuarter,
                                       kGridQuarterOfTwo,
                                       kGridRows,
                                       kGridRowsOfTwo,
                                       kGridLanes,
                                       kReturnResult};
  const auto add = [&all](const auto& several) { all.insert(all.end(), several.begin(), several.end()); };
  add(kThreads), add(kLanes), add(kWidths);
  add(kFunctions), add(kFunctionsOfTwo), add(kKernels), add(kKernelsOfTwo);
  add(kElements), add(kElementsOfTwo), add(kNames);
  return all;
}

}  // namespace bicrl::pieces
