#include "trainer/update/memory/fitted_packs.h"

namespace bicrl {

void FittedPacks::extend(const Packs& packs) {
  for (size_t i = 0; i < packs.count(); ++i)
    // Segments cover their rows, so they come from the pack that the number of rows comes from.
    if (packs.extent(i).rows > most_.rows) {
      most_.rows = packs.extent(i).rows;
      segments_ = packs.segments(i);
    }
  most_.extend(packs.largest());
}

}  // namespace bicrl
